"""Broadcasting, indexing and views on any shape, against NumPy (and PyTorch where it has rules of its own)."""

import random

import numpy as np
import pytest
from goldens import oracle
from goldens.oracle import check, error_of, same_as_torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

torch = oracle.engine()
shapes = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)


def filled(shape, start=1.0):
    return np.asarray(
        np.arange(np.prod(shape, dtype=int), dtype=np.float64).reshape(shape) * 0.37 + start
    )


def waves(shape):
    """A gradient to send back: different everywhere."""
    return np.asarray(np.cos(filled(shape)))


@settings(max_examples=60, deadline=None)
@given(
    hnp.mutually_broadcastable_shapes(num_shapes=2, min_dims=0, max_dims=4, min_side=0, max_side=3)
)
def test_binary_ops_broadcast_like_numpy_and_gradients_are_summed_back(pair):
    a, b = filled(pair.input_shapes[0]), filled(pair.input_shapes[1], start=2.0)
    x, y = torch.from_numpy(a).requires_grad_(), torch.from_numpy(b).requires_grad_()
    for f in (lambda p, q: p + q, lambda p, q: p - q, lambda p, q: p * q, lambda p, q: p / q):
        expected, found = f(a, b), f(x, y)
        np.testing.assert_array_equal(found.detach().numpy(), expected)
        assert tuple(found.shape) == np.shape(expected)
        seed = waves(np.shape(expected))
        gx, gy = torch.autograd.grad(found, (x, y), torch.from_numpy(seed))
        step = 1e-6
        for g, at, number in ((gx, a, 0), (gy, b, 1)):
            assert g.shape == at.shape
            moved = [
                f(a + step, b) if number == 0 else f(a, b + step),
                f(a - step, b) if number == 0 else f(a, b - step),
            ]
            total = ((moved[0] - moved[1]) / (2 * step) * seed).sum()
            assert g.sum().item() == pytest.approx(total, rel=1e-6, abs=1e-6)


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_basic_indexing_gives_numpys_view(data):
    shape = data.draw(shapes)
    index = data.draw(hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))
    parts = index if isinstance(index, tuple) else (index,)
    assume(
        all(not isinstance(i, slice) or i.step is None or i.step > 0 for i in parts)
    )  # PyTorch has no negative steps
    a = filled(shape)
    x = torch.from_numpy(a.copy())
    expected, found = a[index], x[index]
    np.testing.assert_array_equal(found.numpy(), expected)
    if found.numel():
        found.fill_(-1.0)
        a[index] = -1.0
        np.testing.assert_array_equal(x.numpy(), a)  # the view writes into its base
        assert found._base is x and x._version == found._version == 1


def random_index(rng, shape):
    """An index that mixes numbers, slices, None, ..., lists, masks."""
    parts, used = [], 0
    while used < len(shape) and rng.random() < 0.8:
        size = shape[used]
        kind = rng.choice(("number", "slice", "list", "mask", "none", "all"))
        if kind == "none":
            parts.append(None)
            continue
        used += 1
        if kind == "number":
            parts.append(rng.randrange(-size, size))
        elif kind == "slice":
            parts.append(
                slice(
                    rng.choice((None, 0, 1, -2)),
                    rng.choice((None, size, -1)),
                    rng.choice((None, 1, 2)),
                )
            )
        elif kind == "list":
            parts.append([rng.randrange(-size, size) for _ in range(2)])
        elif kind == "mask":
            parts.append([rng.random() < 0.5 for _ in range(size - 2)] + [True, True])
        else:
            parts.append(slice(None))
    if rng.random() < 0.3:
        parts.insert(rng.randint(0, len(parts)), Ellipsis)
    return tuple(parts)


def indexed(index, shape=(3, 4, 2)):
    def ask(torch):
        x = torch.arange(24.0, dtype=torch.float64).reshape(shape).requires_grad_()
        whole = tuple(torch.tensor(i) if isinstance(i, list) else i for i in index)
        try:
            y = x[whole]
        except (IndexError, RuntimeError, TypeError) as error:
            return f"{type(error).__name__}: {error}"
        out = [y, y._is_view(), y.grad_fn.name() if y.grad_fn else None]
        (
            y * torch.cos(torch.arange(float(y.numel()), dtype=torch.float64)).reshape(y.shape)
        ).sum().backward()
        z = torch.zeros(shape, dtype=torch.float64)
        z[whole] = 7.0
        w = x.detach().clone()
        w[whole] += 1.0
        return out + [x.grad, z, w]

    return ask


@pytest.mark.parametrize("seed", range(40))
def test_mixed_indices_as_pytorch_has_them(seed):
    index = random_index(random.Random(seed), (3, 4, 2))
    check("test_ops_shapes", f"index {seed}", indexed(index))


@same_as_torch
def test_indices_that_are_refused(torch):
    x = torch.arange(6.0).reshape(2, 3)
    i = torch.tensor
    calls = [
        lambda: x[2],
        lambda: x[0, 3],
        lambda: x[-3],
        lambda: x[0, 0, 0],
        lambda: x[i([2])],
        lambda: x[i([True, False, True])],
        lambda: x[1.0],
        lambda: x[::-1],
        lambda: x[..., ...],
        lambda: x[i([0, 1]), i([0, 1, 2])],
        lambda: x["a"],
        lambda: x[i([[True]])],
        lambda: x[i([1.0])],
        lambda: x.__setitem__((0, slice(None)), torch.ones(2)),
        lambda: x.__setitem__(0, torch.ones(2, 3)),
        lambda: x.__setitem__(5, 1.0),
        lambda: x.__setitem__((i([0, 1]), i([0, 1])), torch.ones(3)),
        lambda: i(3)[0],
        lambda: x[{0}],
        lambda: x[0:1.5],
    ]
    return [error_of(call) for call in calls]


@same_as_torch
def test_strides_offsets_and_flags(torch):
    x = torch.arange(24.0).reshape(2, 3, 4)
    views = {
        "x": x,
        "t": x.transpose(0, 2),
        "step": x[:, ::2, 1:],
        "row": x[1, 2],
        "expand": x[:, :1].expand(2, 5, 4),
        "none": x[None, ..., None],
        "diag": x.diagonal(0, 1, 2),
        "flat": x.view(-1),
        "perm": x.permute(2, 0, 1),
        "narrow": x.narrow(2, 1, 2),
    }
    return {
        k: (
            list(v.shape),
            list(v.stride()),
            v.storage_offset(),
            v.is_contiguous(),
            v._is_view(),
            v.numel(),
            v.data_ptr() - x.data_ptr(),
        )
        for k, v in views.items()
    }


@same_as_torch
def test_empty_and_zero_dimensional_tensors(torch):
    e, s = torch.ones(0, 3), torch.tensor(2.0)
    return (
        e.sum(),
        e.sum(0),
        e.sum(1),
        e.prod(0),
        e.mean(),
        e.t().shape,
        (e + 1).shape,
        (e @ torch.ones(3, 2)).shape,
        torch.cat([e, torch.ones(1, 3)]),
        s + 1,
        s.sum(0),
        s.view(1),
        s.expand(2),
        s.reshape(1, 1),
        s[None],
        s[...],
        s.unsqueeze(0),
        s.flatten(),
        error_of(lambda: s[0]),
        error_of(lambda: e.max()),
        error_of(lambda: e.max(0)),
        error_of(lambda: e.argmax()),
        e.any(),
        e.all(),
        e.numel(),
        s.numel(),
        list(s.shape),
    )


@same_as_torch
def test_numbers_as_tensors(torch):
    """What 0-d tensors can do, and torch's words for what they cannot."""
    s, d = torch.tensor(2.0, requires_grad=True), torch.tensor(2.0)

    def gradient(y):
        return y, torch.autograd.grad(y.sum(), s)[0]

    impossible = (
        lambda: s.roll(1, 0), lambda: s.unbind(), lambda: s.split(1), lambda: s.chunk(1),
        lambda: s.narrow(0, 0, 1), lambda: s.transpose(0, 1), lambda: s.flip(1), lambda: s.flip(0, 0), lambda: s[0], lambda: s[1:],
        lambda: s[0, 0], lambda: d.__setitem__(0, 1), lambda: d.__setitem__(slice(1, None), 1), lambda: s.gather(0, torch.tensor(3)),
    )  # fmt: skip
    possible = [
        s.flip(0),
        s.roll(1),
        s.transpose(0, -1),
    ]
    possible += [s.sort(dim=-1)[0], s.cumsum(0), s.median(0)[0]]
    return [error_of(action) for action in impossible], [gradient(y) for y in possible]


@same_as_torch
def test_what_matrix_products_and_roll_refuse(torch):
    x = torch.ones(3)
    return [
        error_of(action)
        for action in (
            lambda: torch.matmul(x, 2),
            lambda: torch.mm(x, 2),
            lambda: torch.bmm(x, 1.0),
            lambda: torch.dot(x, 2),
            lambda: torch.mv(x, None),
            lambda: torch.outer(x, 1),
            lambda: x.roll((1, 2), 0),
            lambda: x.roll((1, 2)),
        )
    ]


def test_clone_refuses_memory_formats():
    with pytest.raises(
        TypeError, match="argument 'memory_format' must be torch.memory_format, not str"
    ):
        torch.ones(2).clone(memory_format="channels_last")
