"""Sums of products in Einstein notation."""

from __future__ import annotations

import math

from ..core.errors import type_name
from ..core.tensor import Tensor
from .checks import refuse_if
from .functions import composite
from .matmul import bmm, permuted
from .transposition import permute_op


@composite()
def einsum(equation, *operands):
    """Return sums of products in Einstein notation: `einsum('ij,jk->ik', a, b)`. Source: torch.einsum."""
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    for i, operand in enumerate(operands):
        message = f"expected Tensor as element {i} in argument 1, but got {type_name(operand)}"
        note = "Make a tensor of it first: torch.tensor(...)."
        refuse_if(not isinstance(operand, Tensor), message, note, TypeError)
    inputs, output = _parse_einsum(equation, operands)
    sizes = {}
    for i, (names, t) in enumerate(zip(inputs, operands)):
        for name, n in zip(names, t.shape):
            first = t.shape[names.index(name)]
            message = f"einsum(): subscript {name} is repeated for operand {i} but the sizes don't match, {n} != {first}"
            refuse_if(
                n != first,
                message,
                "A letter that is repeated in one operand takes the diagonal, so both dimensions must have the same size.",
            )
            refuse_if(
                sizes.setdefault(name, n) != n and 1 not in (n, sizes[name]),
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
    result, names = _summed(result, names, output)
    order = [names.index(n) for n in output]
    # As in torch, the result is at least a view, never an operand itself.
    return (
        permute_op.call(result, tuple(order)) if result is operands[0] else permuted(result, order)
    )


def _parse_einsum(equation, operands):
    """Return the names of the dimensions of each operand and of the result. The dimensions of an ellipsis are named
    `.0`, `.1` and so on."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    note = "Separate one group of letters per tensor by commas."
    message = "einsum(): fewer operands were provided than specified in the equation"
    refuse_if(len(terms) > len(operands), message, note)
    message = "einsum(): more operands were provided than specified in the equation"
    refuse_if(len(terms) < len(operands), message, note)
    dots, inputs = [], []
    for i, (term, t) in enumerate(zip(terms, operands)):
        head, ellipsis, tail = term.partition("...")
        spare = t.ndim - len(head) - len(tail)
        refuse_if(
            spare < 0 or (spare and not ellipsis),
            f"einsum(): the number of subscripts in the equation ({len(head) + len(tail)}) does not match the number of dimensions "
            f"({t.ndim}) for operand {i} and no ellipsis was given",
            "One letter per dimension.",
        )
        # Count from the last dimension, where ellipses of several operands are aligned.
        here = [f".{k}" for k in reversed(range(spare))]
        dots = max(dots, here, key=len)
        inputs.append([*head, *here, *tail])
    letters = [c for c in left if c.isalpha()]
    output = dots + sorted(c for c in set(letters) if letters.count(c) == 1)
    if arrow:
        head, ellipsis, tail = right.partition("...")
        output = [*head, *(dots if ellipsis else ()), *tail]
    known = {n for names in inputs for n in names}
    for n in output:
        message = (
            f"einsum(): output subscript {n} does not appear in the equation for any input operand"
        )
        refuse_if(n not in known, message, "Every letter of the output must appear in an input.")
    return inputs, output


def _diagonals(t, names):
    """Return the diagonal of `t` for each letter that repeats within one operand, and the remaining names."""
    names = list(names)
    for n in dict.fromkeys(names):
        while names.count(n) > 1:
            i = names.index(n)
            j = names.index(n, i + 1)
            t = t.diagonal(0, i, j)
            names = [x for k, x in enumerate(names) if k not in (i, j)] + [n]
    return t, names


def _aligned(t, names, wanted):
    """Return `t` with its dimensions in the order of `wanted`, and size 1 for names that it lacks."""
    t = permuted(t, [names.index(n) for n in wanted if n in names])
    for place, n in enumerate(wanted):
        if n not in names:
            t = t.unsqueeze(place)
    return t


def _summed(t, names, kept):
    """Return `t` summed over the names that are not in `kept`, and the names that are left."""
    dropped = [k for k, n in enumerate(names) if n not in kept]
    if not dropped:
        return t, names
    return t.sum(dropped), [n for n in names if n in kept]


def _contract(a, a_names, b, b_names, later):
    """Return the product of `a` and `b`, and its names. It is summed over the names that both have and that `later`
    does not need."""
    a, a_names = _summed(a, a_names, {*b_names, *later})
    b, b_names = _summed(b, b_names, {*a_names, *later})
    batch = [n for n in a_names if n in b_names and n in later]
    summed = [n for n in a_names if n in b_names and n not in later]
    only_a, only_b = ([n for n in own if n not in batch + summed] for own in (a_names, b_names))
    names = batch + only_a + only_b
    if not summed:
        return _aligned(a, a_names, names) * _aligned(b, b_names, names), names
    sizes = dict(zip(a_names, a.shape))
    for n, size in zip(b_names, b.shape):
        sizes[n] = size if sizes.get(n, 1) == 1 else sizes[n]

    def matrices(t, own, *groups):
        """Return `t` as a batch of matrices: one dimension for each group of names."""
        order = [n for group in groups for n in group]
        t, shape = permuted(t, [own.index(n) for n in order]), [sizes[n] for n in order]
        t = t if list(t.shape) == shape else t.expand(shape)
        return t.reshape([math.prod(sizes[n] for n in group) for group in groups])

    product = bmm(
        matrices(a, a_names, batch, only_a, summed), matrices(b, b_names, batch, summed, only_b)
    )
    return product.reshape([sizes[n] for n in names]), names
