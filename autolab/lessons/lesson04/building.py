"""Exercises of sections 1 to 4: what an operation leaves behind, and in which order it is walked."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

from ..compare import Unfit, show
from ..exercise import Case, Exercise, Mistake
from . import engine
from .engine import Value


def kind_of(answer: Any) -> Any:
    """The class that a learner's function makes its results of: the `Value` of its notebook."""
    return getattr(inspect.unwrap(answer), "__globals__", {}).get("Value", Value)


# 04.1 a number that remembers -----------------------------------------------------------------------------------------
def remembered(answer, data, several):
    parents = tuple(Value(float(i)) for i in range(several))
    given = (data, parents, "*", tuple(range(several))) if several else (data,)
    value = answer(*given)
    missing = [name for name in vars(Value(*given)) if not hasattr(value, name)]
    if len(missing) == 5 and not getattr(value, "__dict__", {}):
        return {"result": ...}
    if missing:
        raise Unfit(f"Something is not kept: `self.{'`, `self.'.join(missing)}`")
    if isinstance(value.parents, set | frozenset):
        raise Unfit(
            "`parents` is a set. That forgets which came first, and that both parents of x * x are x: keep them as they come"
        )
    if any(one not in parents for one in value.parents):
        raise Unfit("`parents` holds something other than the parents it was given")
    simple = isinstance(value.grad, int | float | None)
    return {
        "data": value.data,
        "grad": value.grad,
        "the parents it was given": [parents.index(one) for one in value.parents],
        "op": value.op,
        "local": list(value.local),
        "whether two share their gradient": not simple and answer(data).grad is value.grad,
    }


def _value(**instead):
    """A Value that keeps something else under these names."""

    class Other(Value):
        def __init__(self, data, parents=(), op="", local=()):
            super().__init__(data, parents, op, local)
            vars(self).update(instead)

    return Other


remembers = Exercise(
    id="04.1",
    title="A number that remembers",
    observe=remembered,
    reference=Value,
    cases=(
        Case("a leaf, Value(3.0)", lambda: (3.0, 0)),
        Case("a result of two parents", lambda: (6.0, 2)),
        Case("a result of one parent", lambda: (-1.0, 1), public=False),
    ),
    variant=_value,
    mistakes=(
        Mistake(
            {"parents": (), "local": ()},
            "It takes `parents` and `local`, and keeps neither: `self.parents = parents` is missing, or the like.",
        ),
        Mistake({"parents": ()}, "It forgets its parents: `self.parents = parents`."),
        Mistake({"local": ()}, "It forgets its local derivatives: `self.local = local`."),
        Mistake({"op": ""}, "It forgets what it was computed by: `self.op = op`."),
        Mistake(
            {"grad": None},
            "`grad` begins as None. Here shares are added to it, so it begins as 0.0.",
        ),
        Mistake(
            {"grad": 1.0},
            "`grad` begins as 1. Only the result's own gradient is 1, and only once backward has begun; all others begin as 0.0.",
        ),
    ),
    hints=(
        "Five things are kept, each under its own name: `self.data = data` is the first.",
        "The four arguments are kept as they come. The fifth, `grad`, is given by nobody.",
        "`self.grad = 0.0`: nothing has arrived yet.",
    ),
    leaves_out="how it is printed",
)


# 04.2 and 04.3 operations ---------------------------------------------------------------------------------------------
SIGNS = ("+", "*", "tanh")


def operation(name, answer, *numbers):
    """What an operation makes of Values of these numbers. name: its op, which may be another word, but no other's."""
    operands = [kind_of(answer)(number) for number in numbers]
    result = answer(*operands)
    if result is ...:
        return {"result": ...}
    if not hasattr(result, "parents"):
        raise Unfit(f"{show(result)} came back, which remembers nothing: return a Value")
    if not isinstance(result.parents, tuple | list):
        raise Unfit(
            "Its parents are no tuple: with one parent, too, they are `(self,)`, with a comma"
        )
    if any(not hasattr(p, "parents") for p in result.parents):
        raise Unfit(
            "`parents` holds something that is no Value: give the operands themselves, not their numbers"
        )
    if not isinstance(result.local, tuple | list):
        raise Unfit(
            "`local` is no tuple: it has one number for each parent, and with one parent, too, a comma: `(1.0,)`"
        )
    if any(hasattr(x, "parents") for x in result.local):
        raise Unfit("`local` holds a Value. Local derivatives are numbers: take its `.data`")
    if any(callable(x) for x in result.local):
        raise Unfit(
            "`local` holds a function. Here it holds numbers: the slope at the operands' values"
        )
    names = ("the left one", "the right one") if len(numbers) > 1 else ("the operand",)
    called = {id(operand): name for operand, name in zip(operands, names)}
    return {
        "value": result.data,
        "parents": [called.get(id(p), "another") for p in result.parents],
        "local derivatives": list(result.local),
        "op": name if result.op and result.op not in SIGNS else result.op,
        "the operands afterwards": [operand.data for operand in operands],
    }


def operating(name, number, local):
    """The `variant` of an operation: any of its four parts may be another."""

    def variant(number=number, parents=lambda *operands: operands, op=name, local=local):
        def answer(*operands):
            data = [operand.data for operand in operands]
            return type(operands[0])(number(*data), parents(*operands), op, local(*data))

        return answer

    return variant


def forgotten(*_):
    """Nothing, where a tuple is wanted."""
    return ()


NAMELESS = Mistake({"op": ""}, "The op is missing, which is how the explorer calls the operation.")


def misnamed(op):
    return Mistake(
        {"op": op}, f'The op is "{op}", and the explorer would say so: that is another operation.'
    )


def grows(a, b):
    """The sum, kept in the left operand, too."""
    total = engine.add(a, b)
    a.data = total.data
    return total


TURNED = Mistake(
    {"parents": lambda a, b: (b, a)},
    "The parents are the wrong way round: self is the left one, and comes first.",
)


addition = Exercise(
    id="04.2",
    title="Addition",
    observe=partial(operation, "+"),
    reference=engine.add,
    cases=(
        Case("2 + 5", lambda: (2.0, 5.0)),
        Case("-1 + 0.5", lambda: (-1.0, 0.5)),
        Case("0 + 0", lambda: (0.0, 0.0), public=False),
    ),
    variant=operating("+", lambda a, b: a + b, lambda a, b: (1.0, 1.0)),
    mistakes=(
        Mistake(
            {"parents": forgotten, "local": forgotten},
            "The result has forgotten its parents: give them to Value, with one local derivative each.",
        ),
        Mistake({"number": lambda a, b: a * b}, "The number is that of a product."),
        Mistake(
            grows,
            "It changes the left operand (`self.data += …`). Others may need its number: make a new Value only.",
        ),
        TURNED,
        NAMELESS,
        misnamed("*"),
        Mistake(
            {"local": lambda a, b: (b, a)},
            "These are the local derivatives of a product. Raise one summand by 0.1: by how much does the sum rise?",
        ),
        Mistake(
            {"local": lambda a, b: (a, b)},
            "`local` holds derivatives, not the summands themselves. Raise one summand by 0.1: by how much does the sum rise?",
        ),
        Mistake(
            {"local": forgotten},
            "The local derivatives are missing: one number for each parent, as a tuple.",
        ),
    ),
    hints=(
        "The result is a new Value: its number is `self.data + other.data`.",
        'Its parents are `(self, other)`, and its op is "+".',
        "If one summand rises by a little, the sum rises by as much: both local derivatives are 1.0.",
    ),
    leaves_out="a plain number as a summand",
)

product = Exercise(
    id="04.3",
    title="Multiplication",
    observe=partial(operation, "*"),
    reference=engine.multiply,
    cases=(
        Case("2 * 5", lambda: (2.0, 5.0)),
        Case("-1 * 0.5", lambda: (-1.0, 0.5)),
        Case("3 * 3", lambda: (3.0, 3.0), public=False),
    ),
    variant=operating("*", lambda a, b: a * b, lambda a, b: (b, a)),
    mistakes=(
        Mistake(
            {"parents": forgotten, "local": forgotten},
            "The result has forgotten its parents: give them to Value, with one local derivative each.",
        ),
        Mistake({"number": lambda a, b: a + b}, "The number is that of a sum."),
        Mistake(
            {"parents": lambda a, b: (b, a), "local": lambda a, b: (a, b)},
            "The two parents, and their local derivatives with them, are the wrong way round: self is the left one, and comes first.",
        ),
        TURNED,
        NAMELESS,
        misnamed("+"),
        Mistake(
            {"local": lambda a, b: (a, b)},
            "They are swapped. If the left factor rises by a little, the product rises by as much times the right factor.",
        ),
        Mistake(
            {"local": lambda a, b: (1.0, 1.0)},
            "These are the local derivatives of a sum. Raise the 2 of 2 * 5 to 2.1: the product rises by 0.5, not by 0.1.",
        ),
        Mistake(
            {"local": lambda a, b: (a * b, a * b)},
            "The local derivative is not the product: raise the 2 of 2 * 5 to 2.1, and see by how much it rises.",
        ),
        Mistake(
            {"local": forgotten},
            "The local derivatives are missing: one number for each parent, as a tuple.",
        ),
    ),
    hints=(
        "It looks like `add`. Only the number and the local derivatives are others.",
        "Raise the left factor by 0.1: the product rises by 0.1 times the right factor.",
        "So the first local derivative is `other.data`. What is the second?",
    ),
    leaves_out="a plain number as a factor",
)


# 04.4 the order -------------------------------------------------------------------------------------------------------
def chain():
    a = Value(2.0, op="a")
    return Value(6.0, (Value(4.0, (a,), "b", (2.0,)),), "c", (1.0,))


def fork():
    """y = 3 * b - b * x, with b = x * a: b is used twice, once by something that is used itself."""
    x, a = Value(2.0, op="x"), Value(5.0, op="a")
    b = Value(10.0, (x, a), "b", (5.0, 2.0))
    c = Value(20.0, (b, x), "c", (2.0, 10.0))
    return Value(10.0, (b, c), "y", (3.0, -1.0))


def ladder(steps=12):
    """y = y + y, again and again: 2 to the power of `steps` paths."""
    y = Value(1.0, op="0")
    for i in range(1, steps + 1):
        y = Value(2.0 * y.data, (y, y), str(i), (1.0, 1.0))
    return y


def twins():
    """y = a * b, with one number in both."""
    return Value(9.0, (Value(3.0, op="a"), Value(3.0, op="b")), "y", (3.0, 3.0))


def walked(answer, make):
    result = make()
    found = answer(result)
    if isinstance(found, str | None) or not hasattr(found, "__iter__"):
        also = " (`found.reverse()` turns a list around and returns None)" if found is None else ""
        raise Unfit(f"{show(found)} came back: return a list of Values{also}")
    found = list(found)
    if any(not hasattr(value, "parents") for value in found):
        raise Unfit("The list holds something that is no Value")
    there = engine.order(result)
    places = {id(value): i for i, value in enumerate(found)}
    early = [
        f"{p.op} before {v.op}"
        for v in there
        for p in v.parents
        if id(v) in places and places.get(id(p), 10**9) < places[id(v)]
    ]
    facts = {
        "what is missing": {v.op for v in there if id(v) not in places},
        "what is there twice": {v.op for v in found if sum(v is other for other in found) > 1},
        "what comes too early": set(early),
        "what is not part of this graph": {
            v.op for v in found if not any(v is other for other in there)
        },
    }
    return {fact: ", ".join(sorted(names)) or "nothing" for fact, names in facts.items()}


def no_memory(result):
    """Values as often as they are met, level by level."""
    found = [result]
    for value in found:
        found += value.parents
        if len(found) > 10_000:
            break
    return found


def _as_met(result):
    found: list[Any] = []
    todo = [result]
    while todo:
        value = todo.pop(0)
        if not any(value is other for other in found):
            found.append(value)
            todo += value.parents
    return found


def _deep_first(result):
    found: list[Any] = []

    def visit(value):
        if not any(value is other for other in found):
            found.append(value)
            for parent in value.parents:
                visit(parent)

    visit(result)
    return found


_TOO_EARLY = "A value is listed when it is first met. In the graph with a fork, b is met before all of its children: it must wait for them."


def _stack(result):
    found: list[Any] = []
    todo = [result]
    while todo:
        value = todo.pop()
        if not any(value is other for other in found):
            found.append(value)
            todo += value.parents
    return found


def _by_number(result):
    found: list[Any] = []

    def visit(value):
        if value.data not in [one.data for one in found]:
            for parent in value.parents:
                visit(parent)
            found.append(value)

    visit(result)
    return found[::-1]


_ORDERED = "Each Value stands once, and before its parents. The lines above say which does not."

topological = Exercise(
    id="04.4",
    title="The order",
    observe=walked,
    reference=engine.order,
    cases=(
        Case("a chain", lambda: (chain,), why=_ORDERED),
        Case("a fork: y = 3 * b - b * x", lambda: (fork,), why=_ORDERED),
        Case("y = a * b, both 3", lambda: (twins,), public=False),
        Case("y = y + y, twelve times", lambda: (ladder,), public=False),
        Case("a single leaf", lambda: (lambda: Value(1.0, op="x"),), public=False),
    ),
    mistakes=(
        Mistake(
            lambda result: engine.order(result)[::-1],
            "It is the right list from the wrong end: the result comes first, leaves last.",
        ),
        Mistake(no_memory, "What is used twice is listed twice. Keep track of what you have seen."),
        Mistake(_as_met, _TOO_EARLY),
        Mistake(_deep_first, _TOO_EARLY),
        Mistake(_stack, _TOO_EARLY),
        Mistake(
            lambda result: [result],
            "Only the result is there. Its parents belong to the list, and their parents.",
        ),
        Mistake(
            _by_number,
            "Two Values that hold the same number are taken for one. Ask whether it is the very same object: `id(value)`.",
        ),
        Mistake(
            lambda result: [result, *result.parents],
            "The parents' parents are missing: go on until there are none.",
        ),
        Mistake(
            lambda result: [value for value in engine.order(result) if value.parents],
            "The leaves are missing. They have no parents, and belong to the list all the same.",
        ),
        Mistake(
            lambda result: engine.order(result)[1:], "The result itself is missing: it comes first."
        ),
    ),
    hints=(
        "Write an inner function `visit(value)` that visits the parents of a value, each first, and then appends the value itself.",
        "Keep a list, or a set of `id(value)`, of what was visited, and return at once for those.",
        "Appended after its parents, each value stands after them. Turn the list around at the end: `found[::-1]`.",
    ),
    leaves_out="graphs deeper than Python calls functions, 1,000 or so",
    tell=False,
)

EXERCISES = (remembers, addition, product, topological)
