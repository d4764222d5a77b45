"""Exercises about building a graph: what an operation stores, and the order of the backward pass."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

from ..compare import Unfit, show
from ..exercise import Case, Exercise, Mistake
from . import engine
from .engine import Value


def kind_of(answer: Any) -> Any:
    """Return the class of the results of a learner's function: the `Value` of the notebook."""
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
        raise Unfit(
            f"Your class doesn't keep everything yet. Set `self.{'`, `self.'.join(missing)}`"
        )
    if isinstance(value.parents, set | frozenset):
        raise Unfit(
            "`parents` is a set, so it forgets which parent came first, and that both parents of x * x are x. Keep the tuple as it comes"
        )
    if any(one not in parents for one in value.parents):
        raise Unfit("`parents` contains something else than the parents that were passed in")
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
    """Return a Value that stores something else under these names."""

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
            "Your class accepts `parents` and `local`, but keeps neither of them. Write `self.parents = parents`, and do the same for `local`.",
        ),
        Mistake({"parents": ()}, "Your Value forgets its parents. Write `self.parents = parents`."),
        Mistake(
            {"local": ()}, "Your Value forgets its local derivatives. Write `self.local = local`."
        ),
        Mistake({"op": ""}, "Your Value forgets the name of its operation. Write `self.op = op`."),
        Mistake(
            {"grad": None},
            "`grad` starts as None, as in PyTorch. But then the first contribution would need a special case, "
            "because you can't add to None. Start with 0.0 in this engine.",
        ),
        Mistake(
            {"grad": 1.0},
            "`grad` starts as 1. But only the result gets a 1, and only when backward begins. All other Values start with 0.0.",
        ),
    ),
    hints=(
        "A Value keeps five things, each under its own name. The first one is `self.data = data`.",
        "Keep the four arguments as they are. The fifth thing, `grad`, is not an argument.",
        "Write `self.grad = 0.0`, because nothing has arrived yet.",
    ),
    leaves_out="how it is printed",
)


# 04.2 and 04.3 operations ---------------------------------------------------------------------------------------------
SIGNS = ("+", "*", "tanh")


def operation(name, answer, *numbers):
    """Return the result of an operation on Values with these numbers. name: its op; another word is
    fine, but not the name of another operation."""
    operands = [kind_of(answer)(number) for number in numbers]
    result = answer(*operands)
    if result is ...:
        return {"result": ...}
    if not hasattr(result, "parents"):
        raise Unfit(
            f"Your function returned {show(result)}, which remembers nothing. Return a Value instead"
        )
    if not isinstance(result.parents, tuple | list):
        raise Unfit("`parents` is not a tuple. With one parent, write `(self,)`, with the comma")
    if any(not hasattr(p, "parents") for p in result.parents):
        raise Unfit(
            "`parents` contains something that is not a Value. Pass the operands themselves, not their numbers"
        )
    if not isinstance(result.local, tuple | list):
        raise Unfit(
            "`local` is not a tuple. It has one number for each parent, and with one parent you need a comma, as in `(1.0,)`"
        )
    if any(hasattr(x, "parents") for x in result.local):
        raise Unfit("`local` contains a Value. Local derivatives are numbers, so use its `.data`")
    if any(callable(x) for x in result.local):
        raise Unfit(
            "`local` contains a function. In this step it should contain numbers, the derivatives at the operands' values"
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
    """Return the `variant` of an operation in which any of its four parts can be replaced."""

    def variant(number=number, parents=lambda *operands: operands, op=name, local=local):
        def answer(*operands):
            data = [operand.data for operand in operands]
            return type(operands[0])(number(*data), parents(*operands), op, local(*data))

        return answer

    return variant


def forgotten(*_):
    """Return an empty tuple."""
    return ()


NAMELESS = Mistake({"op": ""}, "The op is missing. The explorer uses it as the label of the node.")


def misnamed(op):
    return Mistake(
        {"op": op},
        f'The op is "{op}", which is the name of another operation. The explorer would show the wrong label.',
    )


def grows(a, b):
    """Return the sum, but also store it in the left operand."""
    total = engine.add(a, b)
    a.data = total.data
    return total


TURNED = Mistake(
    {"parents": lambda a, b: (b, a)},
    "The parents are the wrong way round. `self` is the left operand, so it comes first.",
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
            "The result has forgotten its parents. Pass them to Value, with one local derivative for each.",
        ),
        Mistake({"number": lambda a, b: a * b}, "The number is a product. Return the sum."),
        Mistake(
            grows,
            "Your function changes the left operand (`self.data += …`). Other operations may still need its number, so only create a new Value.",
        ),
        TURNED,
        NAMELESS,
        misnamed("*"),
        Mistake(
            {"local": lambda a, b: (b, a)},
            "These are the local derivatives of a product. If you raise one summand by 0.1, by how much does the sum rise?",
        ),
        Mistake(
            {"local": lambda a, b: (a, b)},
            "`local` should contain derivatives, not the summands. If you raise one summand by 0.1, by how much does the sum rise?",
        ),
        Mistake(
            {"local": forgotten},
            "The local derivatives are missing. Pass a tuple with one number for each parent.",
        ),
    ),
    hints=(
        "The result is a new Value, and its number is `self.data + other.data`.",
        'Its parents are `(self, other)`, and its op is "+".',
        "If one summand rises a little, the sum rises by the same amount. So both local derivatives are 1.0.",
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
            "The result has forgotten its parents. Pass them to Value, with one local derivative for each.",
        ),
        Mistake({"number": lambda a, b: a + b}, "The number is a sum. Return the product."),
        Mistake(
            {"parents": lambda a, b: (b, a), "local": lambda a, b: (a, b)},
            "The two parents and their local derivatives are the wrong way round. `self` is the left operand, so it comes first.",
        ),
        TURNED,
        NAMELESS,
        misnamed("+"),
        Mistake(
            {"local": lambda a, b: (a, b)},
            "The local derivatives are swapped. If the left factor rises a little, the product rises by that amount times the right factor.",
        ),
        Mistake(
            {"local": lambda a, b: (1.0, 1.0)},
            "These are the local derivatives of a sum. If you raise the 2 in 2 * 5 to 2.1, the product rises by 0.5, not by 0.1.",
        ),
        Mistake(
            {"local": lambda a, b: (a * b, a * b)},
            "The local derivative is not the product itself. Raise the 2 in 2 * 5 to 2.1, and see by how much the product rises.",
        ),
        Mistake(
            {"local": forgotten},
            "The local derivatives are missing. Pass a tuple with one number for each parent.",
        ),
    ),
    hints=(
        "The function looks like `add`. Only the number and the local derivatives differ.",
        "If you raise the left factor by 0.1, the product rises by 0.1 times the right factor.",
        "So the first local derivative is `other.data`. What is the second?",
    ),
    leaves_out="a plain number as a factor",
)


# 04.4 the order -------------------------------------------------------------------------------------------------------
def chain():
    a = Value(2.0, op="a")
    return Value(6.0, (Value(4.0, (a,), "b", (2.0,)),), "c", (1.0,))


def fork():
    """Return y = 3 * b - b * x with b = x * a: b is used twice, once by a value that is used
    itself."""
    x, a = Value(2.0, op="x"), Value(5.0, op="a")
    b = Value(10.0, (x, a), "b", (5.0, 2.0))
    c = Value(20.0, (b, x), "c", (2.0, 10.0))
    return Value(10.0, (b, c), "y", (3.0, -1.0))


def ladder(steps=12):
    """Return y after repeating y = y + y: 2 to the power of `steps` paths."""
    y = Value(1.0, op="0")
    for i in range(1, steps + 1):
        y = Value(2.0 * y.data, (y, y), str(i), (1.0, 1.0))
    return y


def twins():
    """Return y = a * b with the same number in both."""
    return Value(9.0, (Value(3.0, op="a"), Value(3.0, op="b")), "y", (3.0, 3.0))


def walked(answer, make):
    result = make()
    found = answer(result)
    if isinstance(found, str | None) or not hasattr(found, "__iter__"):
        also = (
            " (`found.reverse()` reverses a list in place and returns None)"
            if found is None
            else ""
        )
        raise Unfit(f"Your function returned {show(found)}. Return a list of Values{also}")
    found = list(found)
    if any(not hasattr(value, "parents") for value in found):
        raise Unfit("The list contains something that is not a Value")
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
    """Return the Values level by level, each as often as it is found."""
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


_TOO_EARLY = "Your function lists a Value as soon as it meets it. In the graph with a fork it meets b before one of its children, so b has to wait."


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


_ORDERED = "Each Value should be in the list once, and before its parents. The lines above tell you which Values are in the wrong place."

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
            "The list is reversed. The result should come first, and the leaves last.",
        ),
        Mistake(
            no_memory,
            "Values that are used twice are in the list twice. Keep track of the Values that you have seen.",
        ),
        Mistake(_as_met, _TOO_EARLY),
        Mistake(_deep_first, _TOO_EARLY),
        Mistake(_stack, _TOO_EARLY),
        Mistake(
            lambda result: [result],
            "The list only contains the result. Add its parents, and their parents, and so on.",
        ),
        Mistake(
            _by_number,
            "Your function treats two Values with the same number as one. Compare the objects instead, with `id(value)`.",
        ),
        Mistake(
            lambda result: [result, *result.parents],
            "The parents of the parents are missing. Continue until there are no more parents.",
        ),
        Mistake(
            lambda result: [value for value in engine.order(result) if value.parents],
            "The leaves are missing. They have no parents, but they belong to the list too.",
        ),
        Mistake(
            lambda result: engine.order(result)[1:], "The result itself is missing. It comes first."
        ),
    ),
    hints=(
        "Write an inner function `visit(value)`. It first visits each parent of the value, and then appends the value itself.",
        "Keep a list, or a set of `id(value)`, of the values that you have visited, and return at once if a value is in it.",
        "Now each value comes after its parents. So reverse the list at the end, with `found[::-1]`.",
    ),
    leaves_out="graphs that are deeper than Python's limit of about 1,000 nested calls",
    tell=False,
)

EXERCISES = (remembers, addition, product, topological)
