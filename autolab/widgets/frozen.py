"""Find what is frozen in a network, what freezing saves, and common mistakes, for modules of autolab or of PyTorch.

Nothing here changes a module, a parameter or an optimizer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .svg import size_words

MIXED = "mixed"
STEP_BYTES = 4  # the step count that Adam and its kin keep for each parameter is one float32


@dataclass(frozen=True)
class Layer:
    """One module of a network; `own` are its own parameters by their full names, not those of modules inside it.

    kind: "norm" (keeps running statistics), "dropout", or "" for one that does the same in train and eval mode.
    """

    path: str
    type: str
    level: int
    module: Any
    own: tuple[tuple[str, Any], ...]
    kind: str

    @property
    def trainable(self) -> bool | str | None:
        """Return True, False or "mixed"; None without parameters of its own."""
        flags = {bool(p.requires_grad) for _, p in self.own}
        return None if not flags else MIXED if len(flags) > 1 else flags.pop()

    @property
    def mode(self) -> str:
        """Return "train" or "eval"."""
        return "train" if self.module.training else "eval"


def layers(model: Any) -> list[Layer]:
    """Return every module of `model` in the order of registration, the network itself (path "", level 1) first.

    Parameters that are not floating point cannot be trained and are left out; one shared by several modules
    belongs to the first. Raises TypeError when `model` is not a module.
    """
    if not all(hasattr(model, name) for name in ("named_modules", "named_parameters", "training")):
        raise TypeError(
            f"model must be an nn.Module of autolab or PyTorch, got {type(model).__name__}"
        )
    seen: set[int] = set()
    tree = []
    for path, module in model.named_modules():
        own = []
        for name, parameter in module.named_parameters(recurse=False):
            if id(parameter) not in seen and (
                parameter.is_floating_point() or parameter.is_complex()
            ):
                own.append((f"{path}.{name}" if path else name, parameter))
                seen.add(id(parameter))
        level = 1 if not path else path.count(".") + 2
        tree.append(Layer(path, type(module).__name__, level, module, tuple(own), _kind(module)))
    return tree


def _kind(module: Any) -> str:
    if getattr(module, "running_mean", None) is not None:
        return "norm"
    return "dropout" if "Dropout" in type(module).__name__ and hasattr(module, "p") else ""


def below(path: str, other: str) -> bool:
    """Return whether `other` is the module `path` or lies in it."""
    return path in ("", other) or other.startswith(f"{path}.")


def parameters(layers: list[Layer]) -> Iterator[tuple[str, Any]]:
    """Return (full name, parameter) of all layers."""
    return (pair for layer in layers for pair in layer.own)


def head(layers: list[Layer]) -> str:
    """Return the path of the last registered module with parameters of its own; "" if there is none."""
    return next((layer.path for layer in reversed(layers) if layer.own), "")


def nbytes(tensor: Any) -> int:
    return int(tensor.numel()) * int(tensor.element_size())


# -- what it costs -----------------------------------------------------------------------------------------------------
def state_bytes(optimizer: Any, group: dict[str, Any], parameter: Any) -> int | None:
    """Return the bytes that the optimizer keeps for a parameter once it has been trained; None for an unknown
    optimizer.

    SGD keeps nothing, with momentum one number per weight; Adam, AdamW, NAdam and RAdam two (AMSGrad three); RMSprop
    one, and one more each for momentum and `centered`; Adagrad one; Adadelta, Adamax and Rprop two; ASGD one. Source:
    https://docs.pytorch.org/docs/2.13/optim.html
    """
    size = nbytes(parameter)
    for kind in (base.__name__ for base in type(optimizer).__mro__):
        if kind == "SGD":
            return size if group.get("momentum") else 0
        if kind in ("Adam", "AdamW", "NAdam", "RAdam"):
            counts = STEP_BYTES * (2 if kind == "NAdam" else 1)
            return size * (3 if group.get("amsgrad") else 2) + counts
        if kind == "RMSprop":
            return (
                size * (1 + bool(group.get("momentum")) + bool(group.get("centered"))) + STEP_BYTES
            )
        if kind == "Adagrad":
            return size + STEP_BYTES
        if kind in ("Adadelta", "Adamax", "Rprop"):
            return 2 * size + STEP_BYTES
        if kind == "ASGD":
            return size + 3 * STEP_BYTES
    return None


def held_bytes(optimizer: Any, parameter: Any) -> int:
    """Return the bytes that the optimizer holds for a parameter now."""
    state = optimizer.state.get(parameter, {})  # `.get`, because [] would create an entry
    return sum(nbytes(value) for value in state.values() if hasattr(value, "element_size"))


def groups_of(optimizer: Any) -> dict[int, dict[str, Any]]:
    """Return the parameter group by parameter id."""
    return {id(p): group for group in optimizer.param_groups for p in group["params"]}


def costs(layers: list[Layer], optimizer: Any = None) -> dict[str, Any]:
    """Return counts and bytes: `trainable`, `frozen` (numbers), `gradients`, `gradients_saved` (bytes), and with an
    optimizer `state` (bytes it holds or will hold for trained parameters), `state_saved` (bytes that freezing saves)
    and `state_left` (bytes it still holds for frozen parameters). The last three are None if unknown.
    """
    counts = {"trainable": 0, "frozen": 0, "gradients": 0, "gradients_saved": 0}
    state: dict[str, int] | None = (
        None if optimizer is None else {"state": 0, "state_saved": 0, "state_left": 0}
    )
    groups = {} if optimizer is None else groups_of(optimizer)
    for _, parameter in parameters(layers):
        trained = bool(parameter.requires_grad)
        counts["trainable" if trained else "frozen"] += int(parameter.numel())
        counts["gradients" if trained else "gradients_saved"] += nbytes(parameter)
        if state is None:
            continue
        held = held_bytes(optimizer, parameter)
        # A parameter that is not in the optimizer would be added with the same settings.
        future = state_bytes(
            optimizer, groups.get(id(parameter), optimizer.param_groups[0]), parameter
        )
        if future is None and not held:
            state = None
        elif trained and id(parameter) in groups:
            state["state"] += held or future or 0
        elif not trained:
            state["state_saved"] += max(0, (future or 0) - held)
            state["state_left"] += held
    return {**counts, **(state or dict.fromkeys(("state", "state_saved", "state_left")))}


def _percent(share: float) -> str:
    """Return a percentage such as "2.4%"; small shares get more digits ("0.02%"), so the head of a large network is not
    0.0%."""
    return f"{share:.1%}" if share == 0 or share >= 0.001 else f"{100 * share:.1g}%"


def cost_words(cost: dict[str, Any], optimizer: Any = None) -> list[list[str]]:
    """Return the costs as (term, sentence)."""
    total = cost["trainable"] + cost["frozen"]
    share = f" ({_percent(cost['trainable'] / total)} of {total:,})" if total else ""
    rows = [
        ["Trainable", f"{cost['trainable']:,} parameters{share}"],
        ["Frozen", f"{cost['frozen']:,} parameters"],
        [
            "Gradients",
            f"{size_words(cost['gradients'])}; freezing saves {size_words(cost['gradients_saved'])}",
        ],
    ]
    if optimizer is None:
        return rows
    name = type(optimizer).__name__
    if cost["state"] is None:
        rows.append([f"{name} state", "not known before its first step"])
    else:
        text = f"{size_words(cost['state'])}; freezing saves {size_words(cost['state_saved'])}"
        if cost["state_left"]:
            text += f"; {size_words(cost['state_left'])} are still held for frozen parameters"
        rows.append([f"{name} state", text])
    return rows


def facts(layers: list[Layer], optimizer: Any = None) -> dict[str, Any]:
    """Return the data from which costs and warnings follow, so that `static/frozen.js` can compute them for other
    switches."""
    groups = {} if optimizer is None else groups_of(optimizer)

    def parameter(name: str, p: Any) -> dict[str, Any]:
        known = {
            "name": name,
            "trained": bool(p.requires_grad),
            "count": int(p.numel()),
            "bytes": nbytes(p),
        }
        if optimizer is None:
            return known
        group = groups.get(id(p))
        wanted = state_bytes(optimizer, group or optimizer.param_groups[0], p)
        moves = "" if group is None else _moves(optimizer, group, p)
        return known | {
            "group": group is not None,
            "wanted": wanted,
            "held": held_bytes(optimizer, p),
            "moves": moves,
        }

    rows = [
        {"path": layer.path, "own": [parameter(*pair) for pair in layer.own], "kind": layer.kind, "mode": layer.mode,
         "drops": layer.kind == "dropout" and bool(layer.module.p)}
        for layer in layers
    ]  # fmt: skip
    known = (
        {"name": type(optimizer).__name__, "strangers": _strangers(layers, optimizer)}
        if optimizer is not None
        else None
    )
    return {"layers": rows, "optimizer": known}


# -- the traps ---------------------------------------------------------------------------------------------------------
def warnings(
    layers: list[Layer], optimizer: Any = None, head_path: str | None = None
) -> list[dict[str, str]]:
    """Return the mistakes that were found, each {kind, path, text, tone}; one entry names all its layers, `path` is the
    first. tone: "warning", or "note" for something that is often intended."""
    flags = [p.requires_grad for _, p in parameters(layers)]
    out: list[dict[str, str]] = []
    if flags and not any(flags):
        out.append(
            _warning(
                "all_frozen",
                [""],
                "Everything is frozen: backward() would raise “element 0 of tensors does "
                "not require grad and does not have a grad_fn”.",
            )
        )
    elif flags:
        out += _frozen_head(layers, head(layers) if head_path is None else head_path)
    if optimizer is not None:
        out += _about_optimizer(layers, optimizer)
    return out + _about_modes(layers)


def _warning(kind: str, paths: list[str], text: str) -> dict[str, str]:
    return {
        "kind": kind,
        "path": paths[0],
        "text": text,
        "tone": "note" if kind == "statistics_fixed" else "warning",
    }


def names(paths: list[str], most: int = 4) -> str:
    """Return the names of layers in words: "layer fc1", "layers fc1, fc2, fc3, fc4 and 3 more", "the network
    itself"."""
    if paths == [""]:
        return "the network itself"
    if len(paths) == 1 and paths[0].startswith("layer"):  # "layer layer4" would repeat the word
        return paths[0]
    shown = ", ".join(path or "the network itself" for path in paths[:most])
    more = f" and {len(paths) - most} more" if len(paths) > most else ""
    return f"{'layer' if len(paths) == 1 else 'layers'} {shown}{more}"


def _about(paths: list[str]) -> str:
    said = names(paths)
    return said if said in paths else said[0].upper() + said[1:]


def _frozen_head(layers: list[Layer], path: str) -> list[dict[str, str]]:
    inside = [layer for layer in layers if below(path, layer.path) and layer.own]
    if not inside or any(layer.trainable for layer in inside):
        return []
    return [
        _warning(
            "frozen_head",
            [path],
            f"The head ({names([path])}) is frozen: a new head stays as it was "
            "drawn at random, and only the layers before it learn to live with it.",
        )
    ]


def _about_optimizer(layers: list[Layer], optimizer: Any) -> list[dict[str, str]]:
    groups, out = groups_of(optimizer), []
    moved: dict[str, list[str]] = {}
    left_out: list[str] = []
    for layer in layers:
        for _, parameter in layer.own:
            group = groups.get(id(parameter))
            why = (
                ""
                if parameter.requires_grad or group is None
                else _moves(optimizer, group, parameter)
            )
            if why:
                moved.setdefault(why, []).append(layer.path)
            elif parameter.requires_grad and group is None:
                left_out.append(layer.path)
    for why, paths in moved.items():
        paths = list(dict.fromkeys(paths))
        out.append(
            _warning(
                "stale_gradient",
                paths,
                f"{_about(paths)}: frozen, but the next optimizer.step() moves the "
                f"weights all the same: {why}. zero_grad(), which sets .grad to None, ends this.",
            )
        )
    if left_out:
        paths = list(dict.fromkeys(left_out))
        out.append(
            _warning(
                "not_in_optimizer",
                paths,
                f"{_about(paths)}: trainable, but not in the optimizer: gradients are "
                'computed and never used. optimizer.add_param_group({"params": ...}) adds them.',
            )
        )
    if strangers := _strangers(layers, optimizer):
        is_are = "parameter that is" if strangers == 1 else "parameters that are"
        out.append(
            _warning(
                "foreign_parameters",
                [""],
                f"The optimizer holds {strangers} {is_are} not in this network: it was "
                "built before layers were replaced. Build it anew.",
            )
        )
    return out


def _strangers(layers: list[Layer], optimizer: Any) -> int:
    """Return how many parameters of the optimizer do not belong to the network."""
    known = {id(p) for _, p in parameters(layers)}
    return sum(1 for group in optimizer.param_groups for p in group["params"] if id(p) not in known)


def _moves(optimizer: Any, group: dict[str, Any], parameter: Any) -> str:
    """Return why a step would change this parameter although it is frozen; "" if it would not."""
    if parameter.grad is None:
        return ""
    if bool((parameter.grad != 0).any()):
        return "a gradient from before is left in .grad"
    state = optimizer.state.get(parameter, {})
    if any(
        hasattr(v, "element_size") and v.numel() and n != "step" and bool((v != 0).any())
        for n, v in state.items()
    ):
        return ".grad is 0 and not None, and the momentum of earlier steps goes on"
    return ".grad is 0 and not None, and weight decay goes on" if group.get("weight_decay") else ""


def _about_modes(layers: list[Layer]) -> list[dict[str, str]]:
    moving, fixed, noisy = [], [], []
    owners = [i for i, layer in enumerate(layers) if layer.own]
    for i, layer in enumerate(layers):
        if (
            layer.kind == "norm"
            and layer.mode == "train"
            and layer.trainable in (False, None)
            and _frozen_here(layers, i)
        ):
            moving.append(layer.path)
        elif layer.kind == "norm" and layer.mode == "eval" and layer.trainable:
            fixed.append(layer.path)
        elif layer.kind == "dropout" and layer.mode == "train" and layer.module.p:
            # Frozen layers before it, and frozen layers after it.
            before = [layers[j] for j in owners if j < i][-1:]
            after = [layers[j] for j in owners if j > i][:1]
            if after and not any(other.trainable for other in before + after):
                noisy.append(layer.path)
    out = []
    if moving:
        out.append(
            _warning(
                "statistics_move",
                moving,
                f"{_about(moving)}: frozen, but in train mode: the weights stay, the "
                "running mean and variance still move with every batch. Frozen weights are not frozen statistics; "
                "eval mode freezes those.",
            )
        )
    if fixed:
        out.append(
            _warning(
                "statistics_fixed",
                fixed,
                f"{_about(fixed)}: weights and bias are trained, the statistics are those "
                "of before (eval mode). That is often wanted with few examples; it is no error.",
            )
        )
    if noisy:
        out.append(
            _warning(
                "dropout_active",
                noisy,
                f"{_about(noisy)}: drops numbers at random within the frozen part (train "
                "mode): the same image gives other features each time. eval mode ends this.",
            )
        )
    return out


def _frozen_here(layers: list[Layer], i: int) -> bool:
    """Return whether layer i is frozen; a layer without parameters (affine=False) is frozen if no layer before it is
    trained."""
    if layers[i].own:
        return layers[i].trainable is False
    return not any(layer.trainable for layer in layers[:i])
