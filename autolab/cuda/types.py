"""`torch.cuda.FloatTensor` and similar classes: the old names for "a tensor of this dtype on a GPU"."""

from ..engine.core.dtype import ALL as _ALL
from ..engine.core.errors import fail as _fail
from ..engine.ops.creation import tensortype as _tensortype
from .properties import is_available as _is_available


class _cudatensortype(_tensortype):
    device_type = "cuda"

    def __call__(cls, *args, **kwargs):
        if not _is_available():
            raise _fail(
                TypeError,
                f"type torch.cuda.{cls.__name__} not available. Torch not compiled with CUDA enabled.",
                "There is no GPU here; autolab.cuda.simulate() gives a simulated one.",
            )
        return super().__call__(*args, **{"device": "cuda"} | kwargs)


for _d in _ALL:
    if _d.name not in ("uint16", "uint32", "uint64"):
        _body = {
            "dtype": _d,
            "__module__": "torch.cuda",
            "__doc__": f"The old constructor of {_d}.",
        }
        globals()[f"{_d.short}Tensor"] = _cudatensortype(f"{_d.short}Tensor", (), _body)

__all__ = [_name for _name in globals() if _name.endswith("Tensor")]
