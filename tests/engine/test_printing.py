"""What tensors print as: a table of literal texts, and PyTorch asked live over random shapes, values and options."""

import importlib
import math

import numpy as np
import pytest
from goldens import oracle
from goldens.oracle import error_of, same_as_torch
from hypothesis import example, given, settings
from hypothesis import strategies as st


# expression -> its repr in PyTorch 2.13
TEXTS = {
    "torch.tensor(1.)": "tensor(1.)",
    "torch.tensor(-0.)": "tensor(-0.)",
    "torch.tensor(3)": "tensor(3)",
    "torch.tensor(True)": "tensor(True)",
    "torch.tensor(0.1)": "tensor(0.1000)",
    "torch.tensor(1e-5)": "tensor(1.0000e-05)",
    "torch.tensor(1e10)": "tensor(1.0000e+10)",
    "torch.tensor(123456.789)": "tensor(123456.7891)",
    "torch.tensor([1., 2.5, 3.])": "tensor([1.0000, 2.5000, 3.0000])",
    "torch.tensor([1., 2., 3.])": "tensor([1., 2., 3.])",
    "torch.tensor([1, 2, 3])": "tensor([1, 2, 3])",
    "torch.tensor([-1, 200, 3])": "tensor([ -1, 200,   3])",
    "torch.tensor([True, False])": "tensor([ True, False])",
    "torch.tensor([1., 2.], dtype=torch.float64)": "tensor([1., 2.], dtype=torch.float64)",
    "torch.tensor([1., 2.], dtype=torch.float16)": "tensor([1., 2.], dtype=torch.float16)",
    "torch.tensor([.1, 1e-5], dtype=torch.float16)": "tensor([9.9976e-02, 1.0014e-05], dtype=torch.float16)",
    "torch.tensor([1, 2], dtype=torch.int32)": "tensor([1, 2], dtype=torch.int32)",
    "torch.tensor([1, 2], dtype=torch.uint8)": "tensor([1, 2], dtype=torch.uint8)",
    "torch.tensor([])": "tensor([])",
    "torch.tensor([], dtype=torch.int64)": "tensor([], dtype=torch.int64)",
    "torch.empty(0, 3)": "tensor([], size=(0, 3))",
    "torch.empty(2, 0, dtype=torch.bool)": "tensor([], size=(2, 0), dtype=torch.bool)",
    "torch.tensor([0.0001, 1000.])": "tensor([1.0000e-04, 1.0000e+03])",
    "torch.tensor([1., 1000.])": "tensor([   1., 1000.])",
    "torch.tensor([1., 1001.5])": "tensor([1.0000e+00, 1.0015e+03])",
    "torch.tensor([100000., 0.5])": "tensor([1.0000e+05, 5.0000e-01])",
    "torch.tensor([100000., 500.])": "tensor([100000.,    500.])",
    "torch.tensor([100000000., 99999999.])": "tensor([100000000., 100000000.])",
    "torch.tensor([1.e8], dtype=torch.float64)": "tensor([100000000.], dtype=torch.float64)",
    "torch.tensor([1.00001e8], dtype=torch.float64)": "tensor([1.0000e+08], dtype=torch.float64)",
    "torch.tensor([1., float('nan'), float('inf'), -float('inf')])": "tensor([1., nan, inf, -inf])",
    "torch.tensor([1.5, float('nan'), float('inf')])": "tensor([1.5000,    nan,    inf])",
    "torch.tensor([float('nan')])": "tensor([nan])",
    "torch.tensor([1e-7, float('nan')])": "tensor([1.0000e-07,        nan])",
    "torch.tensor([-1., 2.])": "tensor([-1.,  2.])",
    "torch.tensor([-0.0, 0.0])": "tensor([-0., 0.])",
    "torch.tensor([1e308, 1e-308], dtype=torch.float64)": "tensor([1.0000e+308, 1.0000e-308], dtype=torch.float64)",
    "torch.tensor([[1., 2.], [3., 4.]], requires_grad=True)": "tensor([[1., 2.],\n        [3., 4.]], requires_grad=True)",
    "torch.tensor([1., 2.], requires_grad=True) * 2": "tensor([2., 4.], grad_fn=<MulBackward0>)",
    "torch.tensor([1., 2.], requires_grad=True, dtype=torch.float64) * 2": "tensor([2., 4.], dtype=torch.float64, grad_fn=<MulBackward0>)",
    "torch.arange(12).reshape(3, 4)": "tensor([[ 0,  1,  2,  3],\n        [ 4,  5,  6,  7],\n        [ 8,  9, 10, 11]])",
    "torch.arange(8.).reshape(2, 2, 2)": "tensor([[[0., 1.],\n         [2., 3.]],\n\n        [[4., 5.],\n         [6., 7.]]])",
    "torch.arange(8).reshape(2, 2, 1, 2)": "tensor([[[[0, 1]],\n\n         [[2, 3]]],\n\n\n        [[[4, 5]],\n\n         [[6, 7]]]])",
    "torch.arange(30.)": "tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., 12., 13.,\n"
    "        14., 15., 16., 17., 18., 19., 20., 21., 22., 23., 24., 25., 26., 27.,\n"
    "        28., 29.])",
    "torch.arange(2000)": "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])",
    "torch.zeros(1001)": "tensor([0., 0., 0.,  ..., 0., 0., 0.])",
    "torch.zeros(501, 2)": "tensor([[0., 0.],\n        [0., 0.],\n        [0., 0.],\n        ...,\n        [0., 0.],\n        [0., 0.],\n"
    "        [0., 0.]])",
    "torch.zeros(7, 7, 30)[:, 0, :4]": "tensor([[0., 0., 0., 0.],\n"
    + "        [0., 0., 0., 0.],\n" * 5
    + "        [0., 0., 0., 0.]])",
    "torch.ones(3, 7, 60)[0].sum(0)[:3]": "tensor([7., 7., 7.])",
    # a suffix that would pass column 80 goes to a line of its own
    "torch.arange(17., requires_grad=True)": "tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., 12., 13.,\n"
    "        14., 15., 16.], requires_grad=True)",
    "torch.arange(11., requires_grad=True)": "tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10.],\n       requires_grad=True)",
    "torch.arange(14., dtype=torch.float64, requires_grad=True)": "tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., 12., 13.],\n"
    "       dtype=torch.float64, requires_grad=True)",
    "torch.nn.Parameter(torch.tensor([1., 2.]))": "Parameter containing:\ntensor([1., 2.], requires_grad=True)",
    "torch.nn.Parameter(torch.ones(2), requires_grad=False)": "Parameter containing:\ntensor([1., 1.])",
    "torch.tensor([3., 1., 2.]).sort()": "torch.return_types.sort(\nvalues=tensor([1., 2., 3.]),\nindices=tensor([1, 2, 0]))",
    "torch.ones(2, 3).shape": "torch.Size([2, 3])",
    "torch.ones(()).shape": "torch.Size([])",
}

# options, expression, text
WITH_OPTIONS = [
    ({"precision": 2}, "torch.tensor([3.14159])", "tensor([3.14])"),
    ({"precision": 0}, "torch.tensor([3.7, 1.2])", "tensor([4, 1])"),
    ({"sci_mode": True}, "torch.tensor([3.14159, -2.])", "tensor([ 3.1416e+00, -2.0000e+00])"),
    ({"sci_mode": True}, "torch.tensor([3., 0.])", "tensor([3.0000e+00, 0.0000e+00])"),
    ({"sci_mode": False}, "torch.tensor([1e-5, 1000.])", "tensor([   0.0000, 1000.0000])"),
    ({"threshold": 5}, "torch.arange(10)", "tensor([0, 1, 2,  ..., 7, 8, 9])"),
    ({"threshold": 5, "edgeitems": 1}, "torch.arange(100)", "tensor([ 0,  ..., 99])"),
    ({"threshold": 5, "edgeitems": 0}, "torch.arange(100)", "tensor([...], size=(100,))"),
    ({"edgeitems": 0}, "torch.arange(3)", "tensor([0, 1, 2], size=(3,))"),
    ({"linewidth": 30}, "torch.arange(8)", "tensor([0, 1, 2, 3, 4, 5, 6,\n        7])"),
    ({"linewidth": 5}, "torch.arange(2)", "tensor([0,\n        1])"),
    ({"profile": "short"}, "torch.tensor([1.23456])", "tensor([1.23])"),
    ({"profile": "full", "precision": 1}, "torch.arange(1001.).sum(0, keepdim=True) / 3", "tensor([166833.3])"),
    ({"threshold": 3, "edgeitems": 1}, "torch.arange(27.).reshape(3, 3, 3)",
     "tensor([[[ 0.,  ...,  2.],\n         ...,\n         [ 6.,  ...,  8.]],\n\n        ...,\n\n"
     "        [[18.,  ..., 20.],\n         ...,\n         [24.,  ..., 26.]]])"),
    ({"threshold": 3, "edgeitems": 1}, "torch.tensor([1., 5e7, 0.5, 2.])", "tensor([1.,  ..., 2.])"),
]  # fmt: skip


def modules():
    """The engine, and PyTorch where it is asked live, so that the tables themselves are checked."""
    return [oracle.engine()] + ([importlib.import_module("torch")] if oracle.LIVE else [])


@pytest.fixture(autouse=True)
def default_options():
    yield
    for torch in modules():
        torch.set_printoptions(profile="default")
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("expression", TEXTS)
def test_text(expression):
    for torch in modules():
        assert repr(eval(expression, {"torch": torch})) == TEXTS[expression], torch


@pytest.mark.parametrize("options, expression, text", WITH_OPTIONS)
def test_text_with_options(options, expression, text):
    for torch in modules():
        torch.set_printoptions(**options)
        assert repr(eval(expression, {"torch": torch})) == text, torch


def test_summary_of_two_dimensions():
    row = "[0., 0., 0.,  ..., 0., 0., 0.]"
    text = "tensor([" + ",\n        ".join([row] * 3 + ["..."] + [row] * 3) + "])"
    for torch in modules():
        assert repr(torch.zeros(40, 40)) == text


def test_threshold_is_exclusive():
    for torch in modules():
        lines = repr(torch.zeros(1000)).splitlines()
        assert len(lines) == 42 and "..." not in lines[0]


@same_as_torch
def test_default_dtype_decides_which_dtypes_are_named(torch):
    torch.set_default_dtype(torch.float64)
    values = (
        torch.tensor(1.0),
        torch.tensor([1.0]).float(),
    )
    return [repr(t) for t in (*values, torch.empty(0), torch.empty(0, dtype=torch.float32))]


@same_as_torch
def test_str_and_format(torch):
    x, v = torch.tensor(2.5, requires_grad=True), torch.tensor([1.0, 2.0])
    return [str(v), f"{v}", f"{x}", f"{x:.3f}", f"{torch.tensor(7):>4d}", f"{torch.tensor(True)}", f"{x.detach():e}",
            error_of(lambda: f"{v:.2f}"), error_of(lambda: f"{torch.tensor(1.5):d}")]  # fmt: skip


@same_as_torch
def test_subclasses_print_their_name(torch):
    class Image(torch.Tensor):
        pass

    class Weight(torch.nn.Parameter):
        pass

    return repr(Image(torch.ones(2, 2))), repr(Weight(torch.ones(2, 2)))


@same_as_torch
def test_views_and_strides_do_not_matter(torch):
    x = torch.arange(24).reshape(4, 6)
    return [repr(v) for v in (x.t(), x[::2, 1:4], x[1], x[:, 1], x[1, 2], x.t()[2:4].unsqueeze(1))]


@same_as_torch
def test_size_is_a_tuple_that_stays_a_size(torch):
    size = torch.Size([2, 3, 4])
    sizes = [
        size[1:],
        size + (5,),
        (5,) + size,
        size + size,
        size * 2,
        2 * size[:1],
        size[::-1],
        torch.Size(range(2)),
    ]
    failures = [lambda: torch.Size([1.5]), lambda: torch.Size(["a"]), lambda: size + [1]]
    kept = [type(s) is torch.Size for s in sizes]
    as_tuple = (
        size == (2, 3, 4),
        hash(size) == hash((2, 3, 4)),
        size.index(3),
        size[0],
        isinstance(size[0], int),
    )
    numbers = size.numel(), torch.Size([]).numel(), repr(torch.Size([torch.tensor(3), np.int64(2)]))
    return (
        [repr(s) for s in sizes],
        kept,
        as_tuple,
        numbers,
        [error_of(f).partition(":")[0] for f in failures],
    )


# -- live --------------------------------------------------------------------------------------------------------------
DTYPES = [
    "float32",
    "float64",
    "float16",
    "int64",
    "int32",
    "uint8",
    "bool",
]
NUMBERS = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.5, 1e-4, 9.9999e-5, 1000.0, 1001.0, 1e8, 1.0001e8]),
    st.sampled_from([math.nan, math.inf, -math.inf]),
    st.integers(-2000, 2000).map(float),
    st.floats(-999999995904.0, 999999995904.0, width=32),
    st.floats(),
)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "precision": st.integers(0, 8),
        "threshold": st.sampled_from([0, 3, 20, 1000, math.inf]),
        "edgeitems": st.integers(0, 4),
        "linewidth": st.sampled_from([1, 20, 40, 80, 120]), "sci_mode": st.sampled_from([True, False, None]),
        "profile": st.sampled_from(["default", "short", "full"]),
    },
)  # fmt: skip


@st.composite
def arrays(draw):
    shape = tuple(draw(st.lists(st.integers(0, 9), max_size=4)))
    size = math.prod(shape)
    few = draw(st.lists(NUMBERS, min_size=1, max_size=12))
    dtype = draw(st.sampled_from(DTYPES))
    values = np.resize(np.array(few), size).reshape(shape)
    with np.errstate(all="ignore"):
        return np.nan_to_num(values).astype(dtype) if dtype in DTYPES[3:6] else values.astype(dtype)


@pytest.mark.skipif(not oracle.LIVE, reason="asks PyTorch itself; the tables above hold without it")
@settings(max_examples=150, deadline=None)
@given(array=arrays(), options=OPTIONS)
@example(array=np.array([1e308, -5e-324]), options={})
@example(array=np.float32(3.0), options={"threshold": 0, "edgeitems": 0})
def test_text_of_anything(array, options):
    engine, torch = oracle.engine(), importlib.import_module("torch")
    texts = []
    for module in (engine, torch):
        module.set_printoptions(profile="default")
        module.set_printoptions(**options)
        texts.append(repr(module.from_numpy(np.array(array))))
    assert texts[0] == texts[1]
