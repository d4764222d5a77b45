"""Wrong numbers in the arguments of an op on a GPU: the op runs on, and the error comes when the host waits, as CUDA's
device-side assertions do."""

import pytest

import autolab as torch

F = torch.nn.functional
SIM = "sim:0"
DEVICES = [SIM, pytest.param("cuda:0", marks=pytest.mark.gpu)]
WRONG = {
    "class too big": lambda d: F.nll_loss(
        torch.ones(2, 3, device=d), torch.tensor([0, 3], device=d)
    ),
    "class below zero": lambda d: F.cross_entropy(
        torch.ones(2, 3, device=d), torch.tensor([0, -1], device=d)
    ),
    "no probability": lambda d: F.binary_cross_entropy(
        torch.tensor([1.5], device=d), torch.ones(1, device=d)
    ),
    "no target": lambda d: F.binary_cross_entropy(
        torch.ones(1, device=d), torch.tensor([2.0], device=d)
    ),
    "row of a table": lambda d: F.embedding(
        torch.tensor([3], device=d), torch.ones(3, 2, device=d)
    ),
    "index tensor": lambda d: torch.ones(3, device=d)[torch.tensor([0, 5], device=d)],
    "index_select": lambda d: torch.ones(3, device=d).index_select(0, torch.tensor([3], device=d)),
    "gather": lambda d: torch.ones(3, device=d).gather(0, torch.tensor([-1], device=d)),
    "take": lambda d: torch.ones(3, device=d).take(torch.tensor([4], device=d)),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", WRONG)
def test_the_error_comes_when_the_host_waits(name, device):
    result = WRONG[name](device)
    with pytest.raises(
        torch.AcceleratorError, match="^CUDA error: device-side assert triggered"
    ) as caught:
        result.cpu()
    assert "An earlier operation on the GPU found: " in caught.value.__notes__[0]
    assert torch.ones(1, device=device).item() == 1, "once told, it is over"


def test_synchronize_tells_it_too():
    with torch.cuda.simulate(devices=1):
        torch.ones(3, device="cuda")[torch.tensor([7], device="cuda")]
        with pytest.raises(torch.AcceleratorError) as caught:
            torch.cuda.synchronize()
        assert "an index was not within -3 … 2" in caught.value.__notes__[0]
        torch.cuda.synchronize()
