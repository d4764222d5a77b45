"""Entries and slices picked and written by index tensors: values, layouts and PyTorch's errors for what does not
fit."""

import pytest
from engine_outcomes import outcome
from goldens.oracle import check

START = "x = torch.arange(6.); A = x.view(2, 3); i = torch.tensor([0, 1]); k = torch.tensor([[0, 1]]); s = torch.tensor(3.); "
SLICES = [
    "torch.index_select(A.t(), 1, i)",
    "torch.index_select(x, 0, i.int())",
    "torch.index_select(x, 0, torch.tensor([0, 9]))",
    "torch.index_select(x, 0, torch.tensor([0, -1]))",
    "torch.index_select(x, 0, i.float())",
    "torch.index_select(x, 0, i.short())",
    "torch.index_select(x, 0, k)",
    "torch.index_select(A, 1, [1])",
]
ENTRIES = [
    "A.gather(1, k.int())",
    "A.gather(1, torch.zeros(0).long())",
    "A.gather(1, k.float())",
    "A.gather(1, torch.tensor([[0, 3]]))",
    "A.gather(1, i)",
    "A.scatter(1, k, torch.ones(2, 3))",
    "A.t().scatter(0, k, torch.ones(2, 3))",
    "A.scatter(1, torch.zeros(0).long(), torch.ones(3))",
    "A.scatter(1, k, torch.ones(2, 3).long())",
    "A.scatter(1, k, torch.ones(1, 1))",
    "A.scatter(1, torch.tensor([[0, 1]] * 3), torch.ones(3, 3))",
    "A.scatter(1, torch.tensor([[0, 1]] * 3), 2)",
    "A.scatter(1, k.float(), 2)",
    "A.scatter_(1, k, A)",
    "A.long().scatter(1, k, 2.5)",
    "A.take(torch.tensor([-6]))",
    "A.masked_select(torch.tensor([[True], [False]]))",
    "x.masked_fill_(x > 2, x[0])",
    "torch.nonzero(A)",
    "torch.argwhere(A.t())",
]
INDEXED = [
    "B = torch.arange(24.).view(2, 3, 4); [B[:, i], B[:, :, i], B[i], B[i, :, i], B.transpose(0, 2)[i], B[:, i[None]]]",
    "A[torch.tensor([0, 1, 2]), i]",
    "i[i] = i",
    "A[i, A[0, 1:] > 0] = torch.tensor([3])",
    "A[A > 2] = torch.ones(1, 1, 1, 3); A",
    "x[i] = torch.ones(2).double()",
]


@pytest.mark.parametrize("source", SLICES + ENTRIES + INDEXED)
def test_picking_and_writing(source):
    check("test_picking", source, lambda torch: outcome(torch, START + source))


def test_what_was_refused_has_changed_nothing():
    def program(torch):
        x = torch.arange(6.0)
        version = x._version
        for change in (
            lambda: x.scatter_(0, torch.tensor([0, 7]), 1.0),
            lambda: x.__setitem__(torch.tensor([0]), torch.ones(1).double()),
        ):
            with pytest.raises((RuntimeError, IndexError)):
                change()
        return [x._version == version, x.shape]

    check("test_picking", "refused", program)
