"""Sums of products in Einstein's notation."""

from __future__ import annotations

import math

from ..core.errors import fail, type_name
from ..core.tensor import Tensor
from .functions import composite
from .matmul import bmm, permuted
from .transposition import permute_op


@composite()
def einsum(equation, *operands):
    """Sums of products in Einstein's notation: `einsum('ij,jk->ik', a, b)`. Source: torch.einsum."""
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    for i, operand in enumerate(operands):
        if isinstance(equation, str) and not isinstance(operand, Tensor):
            message = f"expected Tensor as element {i} in argument 1, but got {type_name(operand)}"
            raise fail(TypeError, message, "Make a tensor of it first: torch.tensor(...).")
    inputs, output = _parse_einsum(equation, operands)
    sizes = {}
    for i, (names, t) in enumerate(zip(inputs, operands)):
        for name, n in zip(names, t.shape):
            first = t.shape[names.index(name)]
            if n != first:
                message = f"einsum(): subscript {name} is repeated for operand {i} but the sizes don't match, {n} != {first}"
                raise fail(
                    RuntimeError,
                    message,
                    "A letter twice means a diagonal, which only a square has.",
                )
        for name, n in zip(names, t.shape):
            if sizes.setdefault(name, n) != n and n != 1 and sizes[name] != 1:
                raise fail(
                    RuntimeError,
                    f"einsum(): subscript {name} has size {n} for operand {i} which does not broadcast with previously seen size "
                    f"{sizes[name]}",
                    "One letter stands for one size everywhere.",
                )
            sizes[name] = max(sizes[name], n)
    result, names = _diagonals(operands[0], inputs[0])
    for k in range(1, len(operands)):
        other, other_names = _diagonals(operands[k], inputs[k])
        later = set(output).union(*inputs[k + 1 :])
        result, names = _contract(result, names, other, other_names, later)
    result, names = _summed(result, names, [n for n in names if n not in output])
    order = [names.index(n) for n in output]
    # a view at least, as in torch
    return (
        permute_op.call(result, tuple(order)) if result is operands[0] else permuted(result, order)
    )


def _parse_einsum(equation, operands):
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        more = "more" if len(terms) > len(operands) else "fewer"
        raise fail(
            RuntimeError,
            f"einsum(): {more} subscripts were specified in the equation than there are operands"
            if more == "more"
            else "einsum(): more operands were provided than specified in the equation",
            "Separate one group of letters per tensor by commas.",
        )
    widest = max(
        (
            t.ndim - len(term.replace("...", ""))
            for term, t in zip(terms, operands)
            if "..." in term
        ),
        default=0,
    )
    dots = [f".{i}" for i in range(widest)]
    inputs = []
    for i, (term, t) in enumerate(zip(terms, operands)):
        head, ellipsis, tail = term.partition("...")
        spare = t.ndim - len(head) - len(tail)
        if spare < 0 or (spare and not ellipsis):
            raise fail(
                RuntimeError,
                f"einsum(): the number of subscripts in the equation ({len(head) + len(tail)}) does not match the number of dimensions "
                f"({t.ndim}) for operand {i} and no ellipsis was given",
                "One letter per dimension.",
            )
        inputs.append([*head, *dots[len(dots) - spare :], *tail] if ellipsis else [*head])
    if arrow:
        head, ellipsis, tail = right.partition("...")
        output = [*head, *dots, *tail] if ellipsis else [*head]
    else:
        letters = [c for c in left if c.isalpha()]
        output = dots + sorted(c for c in set(letters) if letters.count(c) == 1)
    known = {n for names in inputs for n in names}
    for n in output:
        if n not in known:
            raise fail(
                RuntimeError,
                f"einsum(): output subscript {n} does not appear in the equation for any input operand",
                "Outputs keep letters of inputs.",
            )
    return inputs, output


def _diagonals(t, names):
    """Repeated letters within one operand mean its diagonal."""
    names = list(names)
    for n in dict.fromkeys(names):
        while names.count(n) > 1:
            i = names.index(n)
            j = names.index(n, i + 1)
            t = t.diagonal(0, i, j)
            names = [x for k, x in enumerate(names) if k not in (i, j)] + [n]
    return t, names


def _aligned(t, names, wanted):
    """`t` with its dimensions in the order of `wanted`, of size 1 where it has none of that name."""
    t = permuted(t, [names.index(n) for n in wanted if n in names])
    for place, n in enumerate(wanted):
        if n not in names:
            t = t.unsqueeze(place)
    return t


def _expanded(t, names, order, sizes):
    """Return `t` with its dimensions in the order and of the sizes given."""
    t, shape = permuted(t, [names.index(n) for n in order]), [sizes[n] for n in order]
    return t if list(t.shape) == shape else t.expand(shape)


def _summed(t, names, dropped):
    """Return `t` summed over the names `dropped`, and the names that are left."""
    if not dropped:
        return t, names
    left = [n for n in names if n not in dropped]
    return t.sum([names.index(n) for n in dropped]), left


def _contract(a, a_names, b, b_names, later):
    batch = [n for n in a_names if n in b_names and n in later]
    summed = [n for n in a_names if n in b_names and n not in later]
    only_a = [n for n in a_names if n not in b_names and n in later]
    only_b = [n for n in b_names if n not in a_names and n in later]
    a, a_names = _summed(a, a_names, [n for n in a_names if n not in {*b_names, *later}])
    b, b_names = _summed(b, b_names, [n for n in b_names if n not in {*a_names, *later}])
    names = batch + only_a + only_b
    if not summed:
        return _aligned(a, a_names, names) * _aligned(b, b_names, names), names
    sizes_a, sizes_b = dict(zip(a_names, a.shape)), dict(zip(b_names, b.shape))
    if a.dtype is not b.dtype and (
        not a.numel() or not b.numel() or all(1 in (sizes_a[n], sizes_b[n]) for n in summed)
    ):  # PyTorch makes no matrix product of these, so it converts them
        products = _aligned(a, a_names, names + summed) * _aligned(b, b_names, names + summed)
        return products.sum(list(range(len(names), products.ndim))), names
    full = dict.fromkeys((*a_names, *b_names), 1)
    for sizes in (sizes_a, sizes_b):
        full |= {n: s for n, s in sizes.items() if s != 1}
    a, b = (
        _expanded(t, given, order, full)
        for t, given, order in (
            (a, a_names, batch + only_a + summed),
            (b, b_names, batch + summed + only_b),
        )
    )
    nb, na, ns, nc = (
        math.prod(full[n] for n in group) for group in (batch, only_a, summed, only_b)
    )
    product = bmm(a.reshape(nb, na, ns), b.reshape(nb, ns, nc))
    return product.reshape([full[n] for n in names]), names
