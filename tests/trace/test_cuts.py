"""Cut gradients, and tensors that only look like the result of a `detach()`."""

from types import SimpleNamespace

from autolab.trace.cuts import Cuts
from autolab.trace.drafts import Seen


class Tensor:
    """A tensor at an address, like PyTorch's."""

    def __init__(self, address: int) -> None:
        self.address, self.shape = address, (2,)


def test_memory_that_is_given_out_again_is_no_detach():
    result = SimpleNamespace(id="n1", requires_grad=True, shape=(2,))
    reader = SimpleNamespace(memory=lambda tensor: tensor.address)
    cuts = Cuts(
        SimpleNamespace(reader=reader, by_tensor=Seen(weak=True), draft=lambda node: result),
        weak=True,
    )
    tensor = Tensor(address=64)
    cuts.remember(tensor, "n1")
    assert cuts.origin(Tensor(address=64)) == (
        "n1",
        0,
    )  # while it exists, another tensor at its address shares its memory
    assert cuts.origin(Tensor(address=128)) is None
    del tensor
    assert cuts.origin(Tensor(address=64)) is None
