"""How files without a byte order of their own are read. Source: torch.serialization."""

from enum import Enum

from autolab.engine.core.errors import fail


class LoadEndianness(Enum):
    """The byte order of files that do not say theirs (written before PyTorch 2.1)."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


_default: LoadEndianness | None = None


def get_default_load_endianness():
    """The byte order assumed for files that do not say theirs; None means little-endian."""
    return _default


def set_default_load_endianness(endianness):
    """Sets that byte order: a `LoadEndianness` or None. Raises TypeError for anything else."""
    global _default
    if not isinstance(endianness, LoadEndianness) and endianness is not None:
        raise fail(
            TypeError,
            "Invalid argument type in function set_default_load_endianness",
            "Pass torch.serialization.LoadEndianness.LITTLE, .BIG, .NATIVE or None.",
        )
    _default = endianness
