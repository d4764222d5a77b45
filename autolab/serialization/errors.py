"""Errors for files that cannot be loaded: PyTorch's messages, plus a note about what the file seems to be."""

import pickle
import re

from autolab.engine.core.errors import fail

UNSAFE = (
    "In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from `False` to `True`. "
    "Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but it can result in arbitrary code "
    "execution. Do it only if you got the file from a trusted source."
)
_DOCS = (
    "\n\nCheck the documentation of torch.load to learn more about types accepted by default with weights_only "
    "https://pytorch.org/docs/stable/generated/torch.load.html."
)
AGAIN = (
    "Copy or download the file again; if that does not help, save it again where it was written."
)


class Refused(pickle.UnpicklingError):
    """Raised for something in the pickle that is not allowed, in the words of PyTorch's own unpickler."""


def refuse(message, note=AGAIN):
    """Return the error for a pickle that refers to something that is not allowed."""
    return fail(Refused, message, note)


def weights_only_failed(error):
    """Return the error that `torch.load(weights_only=True)` raises, made from the unpickler's own error."""
    message = str(error)
    if "was not an allowed global by default." in message:
        text = (
            "Weights only load failed. This file can still be loaded, to do so you have two options, "
            f"\033[1mdo those steps only if you trust the source of the checkpoint\033[0m. \n\t(1) {UNSAFE}\n\t(2) "
            "Alternatively, to load with `weights_only=True` please check the recommended steps in the following error "
            f"message.\n\tWeightsUnpickler error: {message}"
        )
    else:
        text = f"Weights only load failed. {UNSAFE}\n"
        if not re.search(r"whose module (\S+) is blocked", message):
            text += (
                "Please file an issue with the following so that we can make `weights_only=True` compatible with your use "
                "case: WeightsUnpickler error: "
            )
        text += f"\n\n{message}"
    failure = pickle.UnpicklingError(text + _DOCS)
    for note in getattr(error, "__notes__", ()):
        failure.add_note(note)
    return failure


def corrupted(why, note=AGAIN):
    """Return the RuntimeError for a damaged zip archive, in PyTorch's words."""
    return fail(
        RuntimeError,
        f"PytorchStreamReader failed {why}. This is an internal miniz error. If you are seeing this error, there is a high "
        "likelihood that your checkpoint file is corrupted. This can happen if the checkpoint was not saved properly, was "
        "transferred incorrectly, or the file was modified after saving.",
        note,
    )


_KINDS = (
    (
        rb"(?is)\s*(<!doctype html|<html|<\?xml|<head)",
        "a web page: the download got an error page or a login page",
    ),
    (
        rb"version https://git-lfs",
        "a Git LFS pointer of three lines: the file itself is fetched by `git lfs pull`",
    ),
    (rb"\x1f\x8b", "a gzip archive: unpack it first"),
    (rb"BZh|\xfd7zXZ|7z\xbc\xaf", "a compressed archive: unpack it first"),
    (rb"\x89HDF", "an HDF5 file, as Keras writes them"),
    (rb"\x93NUMPY", "a NumPy array: read it with numpy.load"),
    (rb"\x89PNG|\xff\xd8\xff|GIF8", "a picture"),
    (
        rb"(?s).{6}\x00\x00\{\"",
        "a safetensors file: safetensors.numpy.load_file reads it, torch.from_numpy makes tensors",
    ),
    (rb"(?s)\s*[\[{]", "a text in JSON: the weights are in other files"),
    (rb"GGUF", "a GGUF file of quantised weights"),
)


def kind_note(head):
    """Return a sentence about the type of a file that begins with the bytes `head`, if it is well known."""
    for pattern, kind in _KINDS:
        if re.match(pattern, head):
            return f"This file is not a checkpoint but {kind}."
    return "This file is damaged, or no checkpoint of PyTorch's usual kind. " + AGAIN
