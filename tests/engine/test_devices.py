"""Tensors on a simulated GPU: where things are, what may be mixed, where gradients go. Values are compared with the
CPU's."""

import copy
import pickle
import threading

import numpy as np
import pytest
from goldens.oracle import error_of, same_as_torch

import autolab as torch
from autolab.engine.core import observe

SIM = "sim:0"


class Transfers(observe.Observer):
    """The sizes of copies between devices."""

    def __init__(self):
        self.sizes = []

    def transfer(self, source, target, nbytes, *timing):
        self.sizes.append(nbytes)


def same(a, b):
    """Whether two tensors hold the same numbers, wherever they are."""
    return np.array_equal(a.detach().cpu().numpy(), b.detach().cpu().numpy())


def test_a_program_on_a_device_copies_nothing_to_the_host():
    torch.manual_seed(0)
    w = torch.randn(3, 2, device=SIM, requires_grad=True)
    x = torch.randn(5, 3, device=SIM)
    counter = Transfers()
    with observe.watching(counter):
        (x @ w).relu().sum(0).mul(3).mean().backward()
    assert counter.sizes == []
    with observe.watching(counter):
        w.grad.cpu()
    assert counter.sizes == [24]


def test_repr_names_the_device():
    assert repr(torch.ones(2, device=SIM)) == "tensor([1., 1.], device='sim:0')"
    assert (
        repr(torch.ones(1, device=SIM, requires_grad=True))
        == "tensor([1.], device='sim:0', requires_grad=True)"
    )


def test_moving_makes_a_non_leaf_whose_gradient_goes_back():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.to(SIM)
    assert (y.is_leaf, y.grad_fn.name()) == (False, "ToCopyBackward0")
    (y * y).sum().backward()
    assert str(x.grad) == "tensor([2., 4.])"
    assert x.to("cpu") is x
    assert y.to(SIM) is y


@pytest.mark.parametrize("other", ["cpu", "sim:1"])
def test_mixed_devices_are_refused_in_torchs_words(other):
    a, b = torch.ones(2, device=SIM), torch.ones(2, device=other)
    expected = f"Expected all tensors to be on the same device, but found at least two devices, sim:0 and {other}!"
    with pytest.raises(RuntimeError) as caught:
        a + b
    assert str(caught.value) == expected
    with pytest.raises(RuntimeError, match="found at least two devices"):
        b += a
    assert str(b) == str(torch.ones(2, device=other))


def test_a_number_of_the_cpu_may_be_mixed_and_gets_its_gradient_there():
    a, two = torch.ones(3, device=SIM), torch.tensor(2.0, requires_grad=True)
    (a * two).sum().backward()
    assert repr(two.grad) == "tensor(3.)"


def test_indices_may_stay_on_the_cpu():
    x = torch.arange(6.0, device=SIM).reshape(3, 2)
    assert repr(x[torch.tensor([2, 0])]) == "tensor([[4., 5.],\n        [0., 1.]], device='sim:0')"
    with pytest.raises(
        RuntimeError,
        match=r"indices should be either on cpu or on the same device as the indexed tensor \(cpu\)",
    ):
        torch.ones(3)[torch.tensor([0], device=SIM)]


def test_numpy_is_refused():
    with pytest.raises(TypeError) as caught:
        torch.ones(2, device=SIM).numpy()
    assert str(caught.value) == (
        "can't convert sim:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
    )


def test_a_gradient_of_another_device_is_refused():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError) as caught:
        x.grad = torch.ones(2, device=SIM)
    assert str(caught.value) == (
        "attempting to assign a gradient located on sim:0 to a tensor located on cpu. Please ensure that the gradient and the "
        "tensor are on the same device"
    )
    with pytest.raises(RuntimeError) as caught:
        (x * 2).backward(torch.ones(2, device=SIM))
    assert str(caught.value) == "invalid gradient at index 0 - expected device cpu but got sim:0"


def test_copies_stay_on_their_device():
    x = torch.randn(3, device="sim:1")
    for y in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x.clone(), x.detach(), x.data):
        assert str(y.device) == "sim:1"
        assert same(x, y)


def test_same_seed_same_numbers():
    torch.manual_seed(3)
    here = [torch.rand(4), torch.randn(2, 2), torch.randint(0, 9, (5,)), torch.randperm(6)]
    torch.manual_seed(3)
    there = [
        torch.rand(4, device=SIM), torch.randn(2, 2, device=SIM), torch.randint(0, 9, (5,), device=SIM),
        torch.randperm(6, device=SIM),
    ]  # fmt: skip
    assert all(same(a, b) for a, b in zip(here, there))


def test_default_device():
    with torch.device(SIM):
        assert str(torch.ones(1).device) == SIM
        assert str(torch.tensor([1.0]).device) == SIM
        assert str(torch.from_numpy(np.ones(1)).device) == "cpu"
    assert str(torch.ones(1).device) == "cpu"
    torch.set_default_device(SIM)
    try:
        assert str(torch.zeros(2, 2).device) == SIM
    finally:
        torch.set_default_device("cpu")


def test_the_default_device_is_each_threads_own():
    """As PyTorch's: what one thread chooses moves nobody else's tensors."""
    seen = []

    def look():
        seen.append(str(torch.ones(1).device))

    def run(function):
        thread = threading.Thread(target=function)
        thread.start()
        thread.join()

    with torch.device(SIM):
        run(look)
        torch.set_default_device("sim:1")
        run(look)
    run(lambda: torch.set_default_device(SIM))
    look()
    torch.set_default_device(None)
    look()
    assert seen == ["cpu", "cpu", "sim:1", "cpu"]


def test_a_default_device_ends_with_its_simulation():
    with torch.cuda.simulate():
        torch.set_default_device("cuda")
        assert str(torch.ones(1).device) == "cuda:0"
    assert str(torch.get_default_device()) == str(torch.ones(1).device) == "cpu"
    torch.set_default_device(None)


@same_as_torch
def test_names_of_devices(t):
    """What names a device and what does not; `del` and subclasses are refused, so that no device is changed."""
    d, found = t.device, {}
    texts = ["cuda:²", "cuda:-1", "cuda:01", "cuda:", "", " cpu", ":0", "a1:0", "CPU", "cuda_:1"]
    wrong = [*[(text,) for text in texts], ("cuda", "0"), ("cuda", 1.0), ("cuda", True)]
    for arguments in [*wrong, ("cuda", -1), ("cuda:0", 0)]:
        found[str(arguments)] = error_of(lambda: d(*arguments))
    for action in (
        lambda: setattr(d("cpu"), "type", "cuda"),
        lambda: delattr(d("cpu"), "index"),
        lambda: type("Mine", (d,), {}),
    ):
        found[len(found)] = error_of(action)
    same = [d("cuda:1"), d("cuda", 1), d("cuda", index=1), d(type="cuda", index=1)]
    return found, [repr(x) for x in same], len(set(same)), str(d("cpu", 0)), d(d("cpu"))
