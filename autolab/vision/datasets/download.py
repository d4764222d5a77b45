"""Files from the internet: with a progress bar, continued after an interruption, checked by their MD5."""

import contextlib
import hashlib
import http.client
import os
import urllib.error
import urllib.request

from autolab.engine.errors import fail

_CHUNK = 1 << 16  # bytes
_TIMEOUT = 30  # seconds without a byte
_ATTEMPTS = 4

FAILURES = (OSError, RuntimeError, http.client.HTTPException)  # urllib's errors are OSErrors
"""What `download` raises when one source does not work and another may."""


def is_whole(path, md5=None):
    """Whether the file exists and, if `md5` is given, has that checksum."""
    if not os.path.isfile(path):
        return False
    if md5 is None:
        return True
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest() == md5


def download(url, path, md5=None):
    """Put what is at `url` into the file `path`, unless it is there with the checksum `md5` already.

    What has arrived is kept in `path`.part, and the next call asks for the rest. Raises OSError (urllib.error.URLError) when
    the server cannot be reached or breaks off, RuntimeError for a wrong checksum.
    """
    if is_whole(path, md5):
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    part = f"{path}.part"
    for fresh in (False, True):
        if fresh and os.path.exists(part):
            os.remove(part)
        continued = _size(part) > 0
        _fetch(url, part)
        if is_whole(part, md5):
            os.replace(part, path)
            return
        if not continued:  # what a continued file began with may have been another version: that deserves a second try
            break
    os.remove(part)
    raise fail(
        RuntimeError,
        "File not found or corrupted.",
        f"{url} does not have the checksum {md5}: the file has changed there, or a proxy answered in its place.",
    )


def _size(path):
    return os.path.getsize(path) if os.path.exists(path) else 0


def _fetch(url, part):
    """Fetch, and go on after a broken connection as long as every attempt brings something."""
    for attempt in range(_ATTEMPTS):
        before = _size(part)
        try:
            return _append(url, part)
        except (OSError, http.client.HTTPException) as error:
            if isinstance(error, urllib.error.HTTPError) or attempt == _ATTEMPTS - 1 or _size(part) == before:
                raise


def _append(url, part):
    from tqdm.auto import tqdm

    start = _size(part)
    headers = {"User-Agent": "autolab", **({"Range": f"bytes={start}-"} if start else {})}
    try:
        answer = urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        error.close()
        if start and error.code == 416:  # nothing beyond what we have
            return
        raise
    with contextlib.closing(answer):
        if answer.status != 206:
            start = 0  # the server sends everything from the beginning
        length = answer.headers.get("Content-Length")
        total = None if length is None else start + int(length)
        bar = tqdm(total=total, initial=start, unit="B", unit_scale=True, desc=os.path.basename(part)[: -len(".part")])
        with bar, open(part, "ab" if start else "wb") as file:
            while chunk := answer.read(_CHUNK):
                file.write(chunk)
                bar.update(len(chunk))
    if total is not None and _size(part) < total:
        raise urllib.error.URLError(f"connection closed after {_size(part):,} of {total:,} bytes")


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
