"""What a node keeps for its backward rules, compiled from the op's record; the same as `core.apply.save`. `saving`
writes the statements: for `core.apply.record` they are a function `save(args, outs, edges)` compiled on first use
(reading the record at each call cost as much as a small kernel), and the lanes have them in their code. The tuple they
make is the one that `saved.py` describes.
"""

from __future__ import annotations

from .. import generated
from . import saved
from ..core.apply import FACTS


class Words:
    """What generated code calls the things that a node may save. `saving` asks; a lane answers."""

    def wants(self, rule) -> str:
        """Whether the gradient of rule number `rule` goes anywhere: "True", "False", or an expression."""
        raise NotImplementedError

    def argument(self, i) -> str:
        """Argument number i."""
        raise NotImplementedError

    def array(self, i) -> str:
        """Its raw array."""
        raise NotImplementedError

    def is_tensor(self, i) -> str:
        """Whether it is a tensor: "True", "False", or an expression."""
        raise NotImplementedError

    def output(self, i) -> str:
        """Array, storage and version of output number i."""
        raise NotImplementedError

    # what follows from those
    def operand(self, i) -> str:
        """A tensor and its version; a number and None."""
        a, is_tensor = self.argument(i), self.is_tensor(i)
        version = f"0 if {a}._memory is None else {a}._memory.version"
        return f"{a}, {version if is_tensor == 'True' else 'None' if is_tensor == 'False' else f'({version}) if {is_tensor} else None'}"

    def operands(self, i) -> str:
        """A list of tensors."""
        return f"tuple({self.argument(i)})"

    def derived(self, fact, i) -> str:
        """What is kept of an argument besides its numbers."""
        return _FACTS[fact].format(a=self.argument(i), x=self.array(i))


_FACTS = {
    "sizes": "{x}.shape",
    "sizes_opt": "(0,) if {a} is None else {x}.shape",
    "numel": "int({x}.size)",
    "strides": "strides_of({a})",
    "argsize_0": "{x}.shape[0]",
    "argsize_1": "{x}.shape[1]",
    "argsize_2": "{x}.shape[2]",
    "argsize_minus_1": "{x}.shape[-1]",
    "argsize_minus_2": "{x}.shape[-2]",
}
"""What is kept of an argument `a` with the array `x` besides its numbers, by the names that
`core/record.py` finds in a rule's signature: `core.apply.FACTS` as expressions."""


def saving(op, words, place) -> list[str]:
    """The statements that put into `place` what a node of `op` keeps."""
    lines = []
    for k, (kind, index, readers) in enumerate(zip(op.save_kinds, op.save_index, op.needed_by)):
        if kind == "output":
            names, value = f"s{k}, t{k}, v{k}", words.output(index)
        elif kind == "input" and op.params[index] not in op.lists:
            names, value = f"s{k}, v{k}", words.operand(index)
        elif kind == "input":
            names, value = f"s{k}", words.operands(index)
        else:
            names, value = (
                f"s{k}",
                words.argument(index)
                if kind == "attr"
                else words.derived(kind.partition(":")[2], index),
            )
        nothing = f"{names.replace(', ', ' = ')} = None"
        wanted = (
            {"True"}
            if readers is None or op.spread or len(op.rules) == 1
            else {words.wants(r) for r in readers} - {"False"}
        )
        if "True" in wanted:
            lines.append(f"{names} = {value}")
        elif wanted:
            lines += [f"if {' or '.join(sorted(wanted))}: {names} = {value}", f"else: {nothing}"]
        else:
            lines.append(nothing)
    places = saved.places(op)
    return [*lines, f"{place} = ({', '.join(places)}{',' if places else ''})"]


# -- for `core.apply.record` -------------------------------------------------------------------------------------------
class _General(Words):
    """Arguments of every kind come: each entry asks what it has before it."""

    def wants(self, rule):
        return f"edges[{rule}] is not None"

    def argument(self, i):
        return f"args[{i}]"

    def output(self, i):
        return f"output(outs[{i}])"

    def operand(self, i):
        return f"operand(args[{i}])"

    def operands(self, i):
        return f"operands(args[{i}])"

    def derived(self, fact, i):
        return f"{fact}(args[{i}])"


def saver(op):
    """`core.apply.save` compiled for `op`; it stays there as `op.save`."""
    lines = [
        "def save(args, outs, edges):",
        *(f" {line}" for line in saving(op, _General(), "saved")),
        " return saved",
    ]
    op.save = generated.function(
        "save", "\n".join(lines), dict(FACTS), f"fast/<saving of {op.name}>"
    )
    return op.save
