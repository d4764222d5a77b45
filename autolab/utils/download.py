"""Files from the internet: with a progress bar, continued after an interruption, checked by their checksum.

Data sets (`autolab.vision.datasets`) and weights (`autolab.hub`) both come through here.
"""

import contextlib
import hashlib
import http.client
import os
import re
import urllib.error
import urllib.request

from autolab.engine.core.errors import fail

_CHUNK = 1 << 16  # bytes
_TIMEOUT = 30  # seconds without a byte
_ATTEMPTS = 4
_WEB_PAGE = re.compile(rb"\s*(<!doctype html|<html|<head)", re.IGNORECASE)

FAILURES = (OSError, RuntimeError, http.client.HTTPException)  # urllib's errors are OSErrors
"""What `download` raises when one source does not work and another may."""


class Checksum:
    """What a file must hash to: an MD5, or the beginning of a SHA-256 (PyTorch's file names carry eight digits of
    it)."""

    def __init__(self, md5=None, sha256_prefix=None):
        self.algorithm, self.wanted = ("md5", md5) if md5 is not None else ("sha256", sha256_prefix)

    def of(self, path):
        """The file's digest in hexadecimal."""
        with open(path, "rb") as file:
            return hashlib.file_digest(
                file, lambda: hashlib.new(self.algorithm, usedforsecurity=False)
            ).hexdigest()

    def fits(self, path):
        """Whether the file exists and has the checksum, if one is wanted."""
        if not os.path.isfile(path):
            return False
        return self.wanted is None or self.of(path).startswith(self.wanted)


def is_whole(path, md5=None):
    """Whether the file exists and, if `md5` is given, has that checksum."""
    return Checksum(md5).fits(path)


def download(url, path, md5=None, sha256_prefix=None, progress=True, again=False):
    """Put what is at `url` into the file `path`, unless it is there with the checksum already (again=True: also then).

    What has arrived is kept in `path`.part, and the next call asks for the rest. Raises OSError
    (urllib.error.URLError) when the server cannot be reached or breaks off, RuntimeError for a wrong checksum or a web
    page in the file's place.
    """
    checksum = Checksum(md5, sha256_prefix)
    if not again and checksum.fits(path):
        return
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    part = f"{path}.part"
    continued = _size(part) > 0
    _fetch(url, part, progress)
    if checksum.fits(part) and not _is_web_page(part, path):
        os.replace(part, path)
        return
    error = _wrong(url, part, path, checksum)
    os.remove(part)
    if not continued:
        raise error
    # The first part of the file may come from another version, so download it once more from the start.
    download(url, path, md5, sha256_prefix, progress, again)


def _is_web_page(part, path):
    if path.lower().endswith((".html", ".htm")):
        return False
    with open(part, "rb") as file:
        return _WEB_PAGE.match(file.read(64)) is not None


def _wrong(url, part, path, checksum):
    if _is_web_page(part, path):
        message = f"{url} answered with a web page instead of a file"
        note = f"A login page, an error page or a proxy's. Open it in a browser, and put the file at {path} yourself."
    elif checksum.algorithm == "sha256":
        message = f'invalid hash value (expected "{checksum.wanted}", got "{checksum.of(part)}")'
        note = f"What {url} sent is not the file that its name promises: it has changed there, or a proxy answered in its place."
    else:
        message = "File not found or corrupted."
        note = f"{url} does not have the checksum {checksum.wanted}: the file has changed there, or a proxy answered in its place."
    return fail(RuntimeError, message, note)


def _size(path):
    return os.path.getsize(path) if os.path.exists(path) else 0


def _fetch(url, part, progress):
    """Fetch, and go on after a broken connection as long as every attempt brings something."""
    for attempt in range(_ATTEMPTS):
        before = _size(part)
        try:
            return _append(url, part, progress)
        except (OSError, http.client.HTTPException) as error:
            if (
                isinstance(error, urllib.error.HTTPError)
                or attempt == _ATTEMPTS - 1
                or _size(part) == before
            ):
                raise


def _append(url, part, progress):
    from tqdm.auto import tqdm

    start = _size(part)
    headers = {"User-Agent": "autolab", **({"Range": f"bytes={start}-"} if start else {})}
    try:
        answer = urllib.request.urlopen(
            urllib.request.Request(url, headers=headers), timeout=_TIMEOUT
        )
    except urllib.error.HTTPError as error:
        error.close()
        if start and error.code == 416:  # nothing beyond what we have
            if error.headers.get("Content-Range", f"bytes */{start}") == f"bytes */{start}":
                return
            os.remove(part)  # and not what we have: begin again
            return _append(url, part, progress)
        raise
    with contextlib.closing(answer):
        if getattr(answer, "status", None) != 206:
            start = 0  # the server sends everything from the beginning
        length = answer.headers.get("Content-Length")
        total = None if length is None else start + int(length)
        name = os.path.basename(part)[: -len(".part")]
        bar = tqdm(
            total=total, initial=start, unit="B", unit_scale=True, desc=name, disable=not progress
        )
        with bar, open(part, "ab" if start else "wb") as file:
            while chunk := answer.read(_CHUNK):
                file.write(chunk)
                bar.update(len(chunk))
    there = _size(part)
    if total is not None and there < total:
        raise urllib.error.URLError(f"connection closed after {there:,} of {total:,} bytes")


def from_mirrors(name, urls, path, md5=None):
    """`download` from the first of `urls` that works. Raises RuntimeError that says what went wrong with each."""
    tried = ""
    for url in urls:
        try:
            return download(url, path, md5)
        except FAILURES as error:
            tried += f"Tried {url[: -len(name)] if url.endswith(name) else url}, got:\n{error}\n"
    raise fail(
        RuntimeError,
        f"Error downloading {name}:\n{tried}",
        f"Is this computer online? Run it again to continue, or put {name} into {os.path.dirname(path)} yourself. "
        "autolab.vision.datasets.Digits needs no download.",
    )
