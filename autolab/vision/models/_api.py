"""Pretrained weights by name, and the builders that load them into networks.

Source: https://docs.pytorch.org/vision/0.28/models.html#general-information-on-pre-trained-weights
"""

from __future__ import annotations

import functools
import hashlib
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

from autolab.engine.core.errors import fail

SHIPPED = Path(__file__).parent / "data"
_Builder = TypeVar("_Builder", bound=Callable[..., Any])


@dataclass(frozen=True, eq=False)
class Weights:
    """Where weights are (`url`), the preprocessing they expect (`transforms()`), and facts about them (`meta`).

    url: of a file to download, or the name of a file that is shipped with autolab.
    """

    url: str
    transforms: Callable
    meta: dict[str, Any]


class WeightsEnum(Enum):
    """The weights there are for one network; `DEFAULT` is the best of them."""

    @classmethod
    def verify(cls, obj: Any) -> Any:
        """The member that `obj` is or names; None stays None. Raises TypeError, KeyError when there is none."""
        if obj is None:
            return None
        if isinstance(obj, str):
            name = obj.removeprefix(f"{cls.__name__}.")
            if name not in cls.__members__:
                known = ", ".join(cls.__members__)
                raise fail(
                    KeyError,
                    name,
                    f"Neither a file nor the name of weights; {cls.__name__} has {known}.",
                )
            return cls[name]
        if not isinstance(obj, cls):
            raise fail(
                TypeError,
                f"Invalid Weight class provided; expected {cls.__name__} but received {type(obj).__name__}.",
                "Weights belong to one network.",
            )
        return obj

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    @property
    def url(self) -> str:
        """Where PyTorch downloads them from, or the name of the shipped file."""
        return self.value.url

    @property
    def transforms(self) -> Callable[..., Any]:
        """What makes their preprocessing: call it without arguments."""
        return self.value.transforms

    @property
    def meta(self) -> dict[str, Any]:
        """A dict: `num_params`, `categories` (names of the classes), `license`, `source`, `sha256`, accuracies."""
        return self.value.meta

    def get_state_dict(self, *, progress: bool = True, check_hash: bool = False) -> dict[str, Any]:
        """Return the tensors by name, from the shipped file, or downloaded once.

        check_hash: compare the file's SHA-256 with the one in `meta` (of a download: with the one in the file's name).
        Raises RuntimeError when the checksum differs, or that says where to put the file when there is no connection.
        """
        from autolab import hub
        from autolab.vision.models import weights

        if "://" in self.url:
            return hub.load_state_dict_from_url(self.url, progress=progress, check_hash=check_hash)
        path = SHIPPED / self.url
        if check_hash:
            _check_hash(path, self.meta["sha256"])
        return weights.read_shipped(path)


def _check_hash(path: Path, expected: str) -> None:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != expected:
        message = f'invalid hash value (expected "{expected}", got "{digest}")'
        raise fail(
            RuntimeError,
            message,
            f"'{path}' is not the file that autolab came with: install autolab again.",
        )


def model_builder(known: type[WeightsEnum] | None = None) -> Callable[[_Builder], _Builder]:
    """Makes a builder with torchvision's arguments of a function that builds a network without weights.

    known: the weights enum of the network, or None for one that has no pretrained weights. The builder takes `weights`
    (None, a member of the enum or its name, or the path of a file) and loads them.
    """

    def decorate(build: Any) -> Any:
        @functools.wraps(build, assigned=("__module__", "__name__", "__qualname__", "__doc__"))
        def builder(
            *,
            weights: WeightsEnum | str | os.PathLike[str] | None = None,
            progress: bool = True,
            **kwargs: Any,
        ) -> Any:
            if "pretrained" in kwargs and known is not None:
                weights = known["DEFAULT"] if kwargs.pop("pretrained") else None
                _warn_of_pretrained(weights)
            if weights is None:
                return build(**kwargs)
            state = _state_of(weights, known, progress, kwargs)
            model = build(**kwargs)
            model.load_state_dict(state)
            return model

        del builder.__wrapped__  # its signature is not the one that help() shows
        builder.__annotations__["return"] = build.__annotations__["return"]
        builder.__doc__ = f"{build.__doc__}{_WEIGHTS}"
        builder.weights_enum = known  # type: ignore[attr-defined]
        return builder

    return decorate


_WEIGHTS = """

    weights: None (random values), a member of the weights enum or its name, or the path of a file with torchvision's
    names (see `torch.load`). progress: show the progress of a download. Other arguments go to the
    network. Raises RuntimeError for weights that do not fit or cannot be downloaded.
    """


def _state_of(weights, known, progress, kwargs):
    """The state dict that `weights` means; sets the number of classes in `kwargs`."""
    from autolab.serialization import load

    if isinstance(weights, (str, os.PathLike)) and not _names_member(weights, known):
        state = load(weights)
        if "fc.weight" in state:
            kwargs.setdefault("num_classes", state["fc.weight"].shape[0])
        return state
    if known is None:
        raise fail(
            ValueError,
            f"there are no pretrained weights {weights!r}",
            "Pass the path of a file, or None.",
        )
    weights = known.verify(weights)
    classes = len(weights.meta["categories"])
    if kwargs.setdefault("num_classes", classes) != classes:
        message = f"The parameter 'num_classes' expected value {classes} but got {kwargs['num_classes']} instead."
        raise fail(
            ValueError,
            message,
            "Load the weights first, then put a new layer in the place of model.fc.",
        )
    return weights.get_state_dict(progress=progress, check_hash=True)


def _names_member(weights, known):
    return (
        known is not None
        and isinstance(weights, str)
        and not os.path.exists(weights)
        and weights.removeprefix(f"{known.__name__}.").isidentifier()
    )


def _warn_of_pretrained(weights):
    warnings.warn(
        "The parameter 'pretrained' is deprecated since 0.13 and may be removed in the future, please use 'weights' "
        "instead.",
        stacklevel=3,
    )
    message = (
        "Arguments other than a weight enum or `None` for 'weights' are deprecated since 0.13 and may be removed in the "
        f"future. The current behavior is equivalent to passing `weights={weights}`."
    )
    if weights is not None:
        message += f" You can also use `weights={type(weights).__name__}.DEFAULT` to get the most up-to-date weights."
    warnings.warn(message, stacklevel=3)
