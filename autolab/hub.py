"""Download weights (`torch.hub`) into PyTorch's own folder, so that each file is downloaded only
once for both.

Loading models with their code from repositories (`torch.hub.load`) is not supported. Source:
https://docs.pytorch.org/docs/2.13/hub.html
"""

from __future__ import annotations

import os
import re
import sys
from urllib.parse import urlparse
from typing import Any

from autolab import serialization
from autolab.engine.core.errors import fail
from autolab.utils.download import FAILURES, download
from autolab.serialization.settings import MapLocation

__all__ = [
    "download_url_to_file",
    "fetch_weights",
    "get_dir",
    "load_state_dict_from_url",
    "set_dir",
]

_HASH_IN_NAME = re.compile(r"-([a-f0-9]*)\.")
_chosen_dir: str | None = None


def __getattr__(name):
    if name in ("help", "list", "load"):
        note = "It would run code from a repository. Use a network from autolab.vision.models, or load_state_dict_from_url for weights."
        raise fail(AttributeError, f"module 'torch.hub' has no attribute '{name}'", note)
    raise AttributeError(f"module 'torch.hub' has no attribute '{name}'")


def get_dir() -> str:
    """Return the download folder: the one that `set_dir` chose, else $TORCH_HOME/hub, else
    $XDG_CACHE_HOME/torch/hub, else ~/.cache/torch/hub."""
    if _chosen_dir is not None:
        return _chosen_dir
    cache = os.path.join(os.getenv("XDG_CACHE_HOME", os.path.join("~", ".cache")), "torch")
    return os.path.join(os.path.expanduser(os.getenv("TORCH_HOME", cache)), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Choose the folder of downloads for this process."""
    global _chosen_dir
    _chosen_dir = os.path.expanduser(os.fspath(d))


def download_url_to_file(
    url: str,
    dst: str | os.PathLike[str],
    hash_prefix: str | None = None,
    progress: bool = True,
) -> None:
    """Download `url` into the file `dst`, and replace an older file only when the download is
    complete. An interrupted download is continued.

    hash_prefix: the first digits of the file's SHA-256. Raises RuntimeError for a wrong checksum or
    if a web page came instead of the file, and OSError without a connection.
    """
    dst = os.path.expanduser(os.fspath(dst))
    download(url, dst, sha256_prefix=hash_prefix, progress=progress, again=True)


def fetch_weights(
    url: str,
    model_dir: str | os.PathLike[str] | None = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
) -> str:
    """Return the path of the file at `url` in the download folder; download it if it is missing.

    check_hash: the file name ends in "-<first digits of the SHA-256>.<ending>", which the content
    must match; an existing file is checked, too. Raises RuntimeError that says what went wrong and
    where to put the file by hand.
    """
    model_dir = (
        os.path.join(get_dir(), "checkpoints") if model_dir is None else os.fspath(model_dir)
    )
    name = os.path.basename(urlparse(url).path) if file_name is None else file_name
    path = os.path.join(model_dir, name)
    match = _HASH_IN_NAME.search(name) if check_hash else None
    prefix = match.group(1) if match and match.group(1) else None
    if os.path.exists(path) and prefix is None:
        return path
    try:
        if not os.path.exists(path):
            os.makedirs(model_dir, exist_ok=True)
            if progress:
                sys.stdout.write(f'Downloading: "{url}" to {path}\n')
        download(url, path, sha256_prefix=prefix, progress=progress)
    except FAILURES as error:
        offline = fail(
            RuntimeError,
            f"Error downloading {url}: {error}",
            f"Is this computer online? Run it again to continue where it stopped, or download {url} elsewhere and put it at "
            f"{path} yourself.",
        )
        for note in getattr(error, "__notes__", ()):
            offline.add_note(note)
        raise offline from error
    return path


def load_state_dict_from_url(
    url: str,
    model_dir: str | os.PathLike[str] | None = None,
    map_location: MapLocation = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = True,
) -> dict[str, Any]:
    """The state dict in the file at `url`, which is downloaded once into `model_dir` (default:
    `get_dir()`/checkpoints).

    See `fetch_weights` and `torch.load` for the arguments and errors. weights_only is True, where PyTorch's default is
    False.
    """
    path = fetch_weights(url, model_dir, progress, check_hash, file_name)
    return serialization.load(path, map_location=map_location, weights_only=weights_only)
