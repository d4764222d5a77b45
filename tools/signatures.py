"""Write `autolab/engine/exact/signatures.txt`: PyTorch's signatures of autolab's functions and methods with arguments
other than tensors.

    python tools/signatures.py          needs PyTorch 2.13: its type stubs, for torch.linalg its schemas

PyTorch's functions written in Python are left out, because Python binds their arguments in the usual way.

Each line has a place (`f` torch, `m` Tensor, `linalg`, `special`, `nn.functional`), a name, and the signatures in
PyTorch's order. `Number?` may be None; `int[1]` is a list, or one int; a `size` may be a tensor of one integer, also
with one dimension; an `operand` is a tensor or a number; `~` marks signatures that PyTorch accepts but does not list;
OPTIONS are the keywords of functions that create tensors. A method without signatures has the signatures of the
function, without `input` and `out`.
"""

import ast
import re
import types
from pathlib import Path

import torch

import autolab

HOME = Path(torch.__file__).parent
TABLE = Path(autolab.__file__).parent / "engine" / "exact" / "signatures.txt"
KINDS = {
    "_int": "int", "_float": "float", "_bool": "bool", "Number": "Number", "_dtype": "dtype", "str": "str", "_size": "int[]",
    "Sequence[_int]": "int[]",
    "_int | _size": "int[1]", "_int | Sequence[_int]": "int[1]", "DeviceLikeType": "device", "_layout": "layout", "memory_format": "format",
    "Generator": "Generator", "Sequence[_float]": "float[]", "Sequence[Number]": "Number[]", "Tensor": "Tensor", "Tensor | Number": "Tensor",
    "tuple[Tensor, ...] | list[Tensor]": "Tensor[]", "Tensor | tuple[Tensor, ...] | list[Tensor]": "Tensor[]", "number": "Number", "int": "int",
    "float": "float", "bool": "bool", "List[int]": "int[]", "List[Tensor]": "Tensor[]",
}  # fmt: skip
OPTIONS = "dtype? dtype=None, layout? layout=None, device? device=None, bool? pin_memory=False, bool? requires_grad=False"
LEFT_OUT = (" | torch.SymInt | torch.SymFloat", " | SymInt", " | _complex", "torch.")
CASTS = "float double half int long short char byte bool cfloat cdouble cpu"
DIVIDED = [
    "operand other",
    "operand other, *, str? rounding_mode",
    "Number other, *, str? rounding_mode",
]
# Functions whose stub does not match what the parser accepts, or has parts that autolab does not support.
TYPED_BY_HAND = {
    ("f", "nonzero"): ["Tensor input, *, bool as_tuple=False, Tensor? out=None"],
    ("m", "nonzero"): ["", "*, bool as_tuple"],
    ("f", "div"): [
        "Tensor input, operand other, *, Tensor? out=None",
        *[f"Tensor input, {form}" for form in (f"{DIVIDED[1]}, Tensor? out=None", DIVIDED[2])],
    ],
    **{("m", name): DIVIDED for name in ("div", "div_")},
    **{("m", name): ["operand other, *, Number? alpha=1"] for name in ("add", "sub")},
    **{("m", name): ["*, format? memory_format=None"] for name in CASTS.split()},
    ("m", "cuda"): ["device? device=None, bool non_blocking=False, *, format? memory_format=None"],
    ("m", "copy_"): ["operand other, bool non_blocking=False", "~operand other, bool async"],
    ("m", "requires_grad_"): ["bool requires_grad=True"],
    ("m", "stride"): ["int? dim=None"],
    ("m", "size"): ["int? dim=None"],
    **{
        ("f", name): ["Tensor input"]
        for name in ("det", "slogdet", "inverse", "square_", "negative_")
    },
    ("nn.functional", "one_hot"): ["Tensor tensor, size num_classes=-1"],
    ("f", "range"): [f"Number start, Number end, Number step=1, *, Tensor? out=None, {OPTIONS}"],
    ("f", "split"): [],
    ("f", "gradient"): [
        f"Tensor input, *, {form}, int edge_order=1"
        for form in (
            "int[] dim",
            "Number spacing, int[] dim",
            "Number? spacing=None, int? dim=None",
            "Number[] spacing, int? dim=None",
            "Number[] spacing, int[] dim",
            "Tensor[] spacing, int? dim=None",
            "Tensor[] spacing, int[] dim",
        )
    ],
    **{
        ("f", name): [
            "operand input, Tensor other, *, Tensor? out=None",
            "Tensor input, Number other",
        ]
        for name in ("floor_divide", "true_divide")
    },
    **{
        ("m", name): ["operand other", "Number other"]
        for name in ("floor_divide", "floor_divide_", "true_divide", "true_divide_")
    },
    ("m", "xlogy"): ["Tensor other", "Number other"],
    **{("m", name): [] for name in ("split", "new", "type")},
    ("m", "to"): [
        f"{form}, bool non_blocking=False, bool copy=False, *, format? memory_format=None"
        for form in ("device? device=None, dtype? dtype=None", "dtype dtype", "Tensor tensor")
    ],
    ("f", "tensor"): [
        "object data, *, dtype? dtype=None, device? device=None, bool? requires_grad=False, bool? pin_memory=False"
    ],
    ("m", "new_tensor"): [
        "object data, *, dtype? dtype=None, device? device=None, bool? requires_grad=False, bool? pin_memory=False"
    ],
    ("f", "as_tensor"): ["object data, *, dtype? dtype=None, device? device=None"],
    ("f", "asarray"): [
        "object obj, *, dtype? dtype=None, device? device=None, bool? copy=None, bool? requires_grad=None"
    ],
}
# Functions whose second operand may be a number.
NUMBERS_TOO = {
    "add",
    "div",
    "divide",
    "mul",
    "multiply",
    "sub",
    "subtract",
    "true_divide",
    "copy",
    "floor_divide",
}
# Functions whose first operand may be a number, too.
NUMBERS_FIRST = {"add", "div", "sub"}
# The types of functions whose arguments PyTorch's parser binds; Python binds the arguments of others.
PARSED = (types.BuiltinFunctionType, types.MethodDescriptorType)
DTYPES = {("linalg", "dtype")}


def kind(text):
    optional = " | None" in text or text.startswith("Optional[")
    text = text[9:-1] if text.startswith("Optional[") else text.replace(" | None", "")
    symbolic = " | SymInt" in text and "Sequence" not in text and "torch.SymInt" not in text
    for part in LEFT_OUT:
        text = text.replace(part, "")
    return ("size" if symbolic and KINDS[text] == "int" else KINDS[text]) + "?" * optional


def stubs(path, inside=None):
    """Return the signatures of every function in a stub by name, as [(name, type, default, keyword only)]."""
    body = ast.parse(path.read_text()).body
    if inside:
        body = next(n for n in body if isinstance(n, ast.ClassDef) and n.name == inside).body
    found = {}
    for f in body:
        if (
            not isinstance(f, ast.FunctionDef)
            or f.args.vararg
            or any(isinstance(d, ast.Name) and d.id == "property" for d in f.decorator_list)
        ):
            continue
        positional = f.args.posonlyargs + f.args.args
        defaults = [None] * (len(positional) - len(f.args.defaults)) + f.args.defaults
        listed = [(a, d, False) for a, d in zip(positional, defaults)] + [
            (a, d, True) for a, d in zip(f.args.kwonlyargs, f.args.kw_defaults)
        ]
        form = [
            (a.arg, ast.unparse(a.annotation) if a.annotation else "", d and ast.unparse(d), only)
            for a, d, only in listed
        ]
        found.setdefault(f.name, []).append(form[1:] if inside else form)
    return found


def schemas(prefix, names):
    """Return the same as `stubs`, for functions that have only schemas."""
    found = {}
    for name in names:
        known = torch._C._jit_get_schemas_for_operator(f"aten::{prefix}{name}")
        written_into = [
            [(a.name, str(a.type)) for a in s.arguments[:-1]]
            for s in known
            if [a.name for a in s.arguments if a.is_out] == ["out"]
        ]
        for s in known:
            if not any(a.is_out for a in s.arguments):
                form = [_argument(prefix, a) for a in s.arguments]
                out = (
                    [("out", "Tensor | None", "None", True)]
                    if [(a.name, str(a.type)) for a in s.arguments] in written_into
                    else []
                )
                found.setdefault(name, []).append(form + out)
    return found


def _argument(prefix, a):
    default = repr(a.default_value) if a.has_default_value() else None
    return (
        "input" if a.name == "self" and str(a.type) == "Tensor" else a.name,
        _dtype(prefix, a),
        default,
        a.kwarg_only,
    )


def _dtype(prefix, argument):
    if (prefix.rstrip("_"), argument.name) in DTYPES:
        return "_dtype | None"
    return str(argument.type).replace("List[int]", "_int | _size" if argument.N else "List[int]")


def signature_text(form):
    """Return one signature as text. Return None for types that autolab lacks: names of dimensions, symbolic numbers."""
    parts, star = [], False
    for name, text, default, only in form:
        try:
            what = kind(text)
        except KeyError:
            return None
        if only and not star:
            parts.append("*")
            star = True
        parts.append(
            f"{what} {name.rstrip('_')}"
            + ("" if default is None else f"={default.replace(', ', ',')}")
        )
    return "~" * ("Tensor self" in parts) + ", ".join(parts)


def as_method(form):
    """Return a function's signature without the parameters that the method lacks."""
    form = re.sub(r"(, )?Tensor\??(\[\])?\?? out=None", "", re.sub(r"^Tensor input(, )?", "", form))
    return re.sub(r"(, )?\*$", "", form).strip()


def needs_checks(forms):
    """Return whether the signatures need checks beyond tensors and numbers."""
    parts = [part for form in forms for part in form.split(", ") if part]
    return any(
        not part.startswith(("Tensor input", "operand", "Tensor? out", "*")) for part in parts
    )


def lines():
    top, methods = (
        stubs(HOME / "_C/_VariableFunctions.pyi"),
        stubs(HOME / "_C/__init__.pyi", "TensorBase"),
    )
    written_by_hand = stubs(HOME / "_C/_nn.pyi")  # stubs are less exact than schemas
    networks = (
        written_by_hand
        | schemas("", written_by_hand)
        | {n: top[n] for n in top if getattr(torch.nn.functional, n, 0) is getattr(torch, n, 1)}
    )
    public = [
        ("f", top, autolab, torch),
        ("m", methods | dict.fromkeys(m for _, m in TYPED_BY_HAND), autolab.Tensor, torch.Tensor),
        ("nn.functional", networks, autolab.nn.functional, torch.nn.functional),
        ("linalg", schemas("linalg_", dir(torch.linalg)), autolab.linalg, torch.linalg),
    ]
    functions = {}
    for space, forms, module, torchs in public:
        forms = dict.fromkeys(n for s, n in TYPED_BY_HAND if s == space) | forms
        names = {
            n for n in forms if not n.startswith("_") and type(getattr(torchs, n, None)) in PARSED
        }
        for name in sorted(n for n in names if callable(getattr(module, n, None))):
            texts = TYPED_BY_HAND.get((space, name))
            texts = (
                list(
                    dict.fromkeys(
                        t for t in map(signature_text, forms[name] or ()) if t is not None
                    )
                )
                if texts is None
                else texts
            )
            if name.removesuffix("_") in NUMBERS_TOO:
                texts = [text.replace("Tensor other", "operand other") for text in texts]
            if space == "f":
                functions[name] = texts
            whole = functions.get(name) or functions.get(name.removesuffix("_")) or []
            derived = [as_method(f) for f in whole if not f.startswith("~")]
            # For functions that create tensors, stubs also list signatures that the parser does not list.
            if any(OPTIONS in t for t in texts):
                texts = [t for t in texts if " requires_grad" not in t or OPTIONS in t]
            composed = not hasattr(getattr(module, name), "op")
            by_hand = (space, name) in TYPED_BY_HAND and texts
            checked = (
                by_hand or composed and any(texts) or needs_checks(texts + derived * (space == "m"))
            )
            if space == "f" and name in NUMBERS_FIRST:
                texts = [text.replace("Tensor input", "operand input") for text in texts]
            if checked and not (space == "m" and texts == derived):
                yield f"{space} {name}: {'; '.join(texts)}".replace(OPTIONS, "OPTIONS")


if __name__ == "__main__":
    TABLE.write_text("\n".join(lines()) + "\n")
