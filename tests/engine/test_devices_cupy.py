"""What CuPy does differently from NumPy: a simulated GPU does so too, and the ops give PyTorch's results all the same.

Source: CuPy 14's `_core/_routines_indexing.pyx` (atomics), `linalg/_util.py` (errors of solvers), `_sorting/sort.py`,
`_core/flags.pyx`."""

import numpy as np
import pytest

import autolab as torch
from autolab.engine.core.record import OPS
from autolab.engine.devices.simulated.module import xp

SIM = torch.device("sim:0")


@pytest.fixture(autouse=True)
def gpu():
    backend = torch.ones(1, device=SIM).device.backend
    with backend:
        yield backend


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint8", "int64", "bool"])
def test_atomic_additions_exist_in_some_dtypes_only(dtype):
    with pytest.raises(TypeError, match="cupy.add.at only supports"):
        xp.add.at(xp.zeros(3, dtype), xp.zeros(2, "int64"), 1)


def test_solvers_return_nan_where_numpy_raises(gpu):
    singular = xp.zeros((2, 2), "float32")
    assert np.isnan(xp.linalg.inv(singular).get()).all()
    with gpu.reporting_solvers(), pytest.raises(np.linalg.LinAlgError):
        xp.linalg.inv(singular)
    with pytest.raises(ValueError, match="for multidimensional b"):
        xp.linalg.solve(xp.zeros((2, 3, 3)), xp.zeros((3, 1)))


def test_sorting_takes_no_0d_arrays_and_one_kind():
    with pytest.raises(np.exceptions.AxisError):
        xp.argsort(xp.asarray(1.0))
    with pytest.raises(ValueError, match="kind can only be None or 'stable'"):
        xp.sort(xp.zeros(2), kind="quicksort")


@pytest.mark.parametrize(
    "dtype",
    ["int8", "int16", "int32", "int64", "uint8", "float16", "float32", "float64"],
)
@pytest.mark.parametrize(
    "run",
    [
        lambda x, i, v: OPS["scatter_add"].call(x, 0, i, v),
    ],
)  # fmt: skip
def test_sums_at_places_in_every_dtype(dtype, run):
    kind = getattr(torch, dtype)
    x, i, v = (
        torch.arange(1, 4).to(kind),
        torch.tensor([0, 2, 0, 2]),
        torch.tensor([1, 2, 3, 100]).to(kind),
    )
    found = run(x.to(SIM), i.to(SIM), v.to(SIM))
    assert found.dtype is kind and found.cpu().tolist() == run(x, i, v).tolist() == [5, 2, 105]


def test_singular_matrices_raise_as_on_the_cpu():
    A = torch.tensor([[1.0, 2.0], [2.0, 4.0]])
    for run in (
        torch.linalg.inv,
        lambda a: torch.linalg.solve(a, torch.ones(2, device=a.device)),
        torch.linalg.cholesky,
    ):
        messages = []
        for where in ("cpu", SIM):
            with pytest.raises(torch.linalg.LinAlgError) as caught:
                run(A.to(where))
            messages.append(str(caught.value))
        assert messages[0] == messages[1]


@pytest.mark.parametrize(
    "options",
    [
        {"kernel_size": 2},
        {"kernel_size": 3, "stride": 1},
        {"kernel_size": 2, "dilation": 2},
        {"kernel_size": 3, "padding": 1},
    ],
)
@pytest.mark.parametrize("special", [[], [float("nan")], [float("-inf")]])
def test_winners_of_max_pooling_are_those_of_the_cpu(options, special):
    torch.manual_seed(0)
    x = torch.randint(0, 3, (2, 3, 6, 7)).float()
    for k, value in enumerate(special * 20):
        x.view(-1)[(k * 7) % x.numel()] = value
    results = []
    for where in ("cpu", SIM):
        leaf = x.to(where).detach().requires_grad_()
        out = torch.nn.functional.max_pool2d(leaf, **options)
        places = out.grad_fn._saved_result1
        (
            out * torch.arange(out.numel(), device=where).view(out.shape)
        ).nan_to_num().sum().backward()
        results.append((repr(out.detach().cpu()), places.tolist(), repr(leaf.grad.cpu())))
    assert results[0] == results[1]
