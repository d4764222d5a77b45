"""What statements come to in every respect: dtypes, layouts in memory, nodes, and PyTorch's errors for what it
refuses."""

import pytest
from engine_outcomes import outcome
from goldens.oracle import check

START = (
    "x = torch.arange(6.); A = x.view(2, 3); V = torch.arange(24.).view(2, 3, 4); z = torch.tensor(3.); "
    "i = torch.tensor([1, 2, 4]); m = torch.tensor([True, False]); r = torch.tensor([1., 2., 4.], requires_grad=True); "
)
REFUSED = [  # dtypes that PyTorch has no kernel for
    "torch.median(m, 0)",
    "torch.topk(m, 1)",
    "torch.fmod(m, m)",
    "torch.fmod(m, True)",
    "torch.fmod(m, 2)",
    "torch.addcmul(m, m, m)",
    "m.addcmul_(m, m)",
    "F.huber_loss(i, i)",
]
MASKS = [  # products of masks, and numbers that whole ones cut off
    "M = A > 1; M @ M.T",
    "m @ m",
    "(A > 1).T @ m",
    "m @ (A > 1)",
    "V.bool() @ V.bool().mT",
    "torch.mv((A > 1).T, m)",
    "torch.dot(m, m)",
    "torch.vdot(m, m)",
    "torch.bmm(V[:, :2].bool(), V[:, :2].bool().mT)",
    "torch.einsum('ij,jk->ik', A > 1, A.T > 1)",
    "torch.einsum('i,i->', m, m)",
    "torch.einsum('ij,ij->ij', A > 1, A > 1)",
    "torch.einsum('ij->i', A > 1)",
    "torch.tensordot(A > 1, A.T > 1, 1)",
    "F.linear(m[None], A[:, :2] > 1)",
    "torch.einsum('ii->i', A[:, :1])",
    "torch.einsum('ii->i', A[:1])",
    "torch.einsum('iij->j', V)",
    "torch.einsum('ii,i', A[:1], i)",
    "torch.einsum('ij->ij', r[None])",
]
SUMS = [
    "y = r[:, None].detach().requires_grad_(); torch.std_mean(y, 1)[1].sum().backward(); y.grad",
]
CONVERTED = [
    "torch.addcmul(i, i, i, value=0.5)",
    "torch.addcmul(i, i, i, value=2.5)",
    "i.addcmul_(i, i, value=0.5)",
    "F.huber_loss(x.double(), x * 2)",
    "torch.einsum('i,i->i', r, i)",
    "torch.einsum('i,j->ij', r, x.double())",
    "torch.einsum('i,i->', r, x.double()[:3])",
]
SIZES = [
    "z.flatten(0, 1)",
    "z.flatten(-2)",
    "z.flatten(-1)",
    "z.size(0)",
    "z.size(1)",
    "z.stride(-1)",
    "A.stride(2)",
    "A.size(-3)",
    "torch.ones(2, 0).unflatten(1, (1, -1))",
    "x.expand(-1, 6)",
    "torch.ones(2, 3).expand(1, 4, 5)",
]
PIECES = [
    "torch.zeros(2, 3).split([1, -1, 3], 1)",
    "x.split(0)",
    "x.repeat_interleave(torch.tensor([1, -1, 2, 2, 0, 0]))",
    "x.repeat_interleave(torch.tensor([1, 2]))",
    "x.repeat(-1)",
    "x.repeat(2, -1)",
    "x.tile((-1,))",
    "x.roll(1, 1)",
    "x.roll(1, -2)",
    "torch.cat([z, x])",
    "torch.cat([A, z], 1)",
    "torch.stack([x, r], 3)",
    "torch.cat([A.t(), A.t()])",
    "torch.cat([V.transpose(0, 1)] * 2, -1)",
    "torch.stack([A.t(), A.t()], 1)",
    "A.index_select(0, torch.tensor([5]))",
    "[A[:1].t(), A[:1], A[:, :1], V[:, :1].mT, x.expand(1, 6), x.expand(2, 1, 6), x[::2].unsqueeze(-1), A.t().unsqueeze(1), x[::2].unsqueeze(0)]",
]
EDGES = [
    "torch.zeros(2, 0).mode(1)",
    "torch.zeros(0).mode()",
    "x.median(None)",
    "x.prod(None)",
    "torch.zeros(0, requires_grad=True).unbind()",
]
PROTOCOLS = [
    "int(x)",
    "float(r)",
    "int(torch.zeros(0))",
    "float(torch.tensor([[2.5]]))",
    "x.item()",
    "list(torch.zeros(0))",
    "list(torch.zeros(0, 2, requires_grad=True))",
    "[a for a in torch.zeros(0, requires_grad=True) * 1]",
]
POWERS = [
    "i ** -1",
    "2. ** -i",
]
LAYOUTS = [
    "A.sum(1)",
    "V.sum(2)",
    "A.sum(1, True)",
    "torch.ones(5, 40).sum(1)",
    "V.sum((0, 2))",
    "A.t().sum(0)",
    "A.t().topk(2, 1)",
    "V.topk(2, 1)",
    "V.transpose(0, 2).topk(2, 1)",
    "A.t().cumsum(0)",
    "A.t().cumprod(1)",
    "V.transpose(1, 2).amax(0)",
    "V.long().transpose(0, 2).sum(-1)",
    "V.transpose(0, 2).any(2)",
    "A.t().softmax(1)",
    "A.t().log_softmax(0)",
    "V.transpose(0, 1).erf()",
    "F.gelu(A.t())",
    "A.t().tril()",
    "A.t().triu(1)",
    "A.t().median(1)",
]
NODES = [
    "torch.einsum('i,i->i', r, r)",
    "torch.einsum('i,j->ij', r, r)",
    "torch.einsum('ij,ij->ij', A, A * r)",
    "torch.einsum('ij,jk->ik', A, A.t() * r[:2])",
    "torch.cdist(A, A + 0.5, p=float('inf'))",
    "torch.cdist(A, A + 0.5, p=0)",
    "torch.cdist(A, A + 0.5, p=3)",
    "torch.cdist(A, x)",
    "torch.cdist(A, A, p=-1)",
    "torch.cdist(torch.ones(2, 0), torch.ones(3, 0))",
    "torch.cdist(torch.ones(1, 2, 3), A)",
    "torch.cdist(torch.ones(2, 2, 3), torch.ones(3, 2, 3))",
    "y = A + 0.; y.requires_grad_(); torch.cdist(y, A[:, [1, 0, 2]]).sum().backward(); y.grad",
]
WORDS = [
    "torch.sum(torch.float32)",
    "torch.mean(3)",
    "torch.prod(3)",
    "torch.max(3)",
    "torch.min([1, 2])",
    "torch.sum([1, 2])",
    "torch.exp(torch.float32)",
    "torch.argmax(3)",
]
NUMBERS = []
ALL = (
    REFUSED
    + MASKS
    + SUMS
    + CONVERTED
    + SIZES
    + PIECES
    + EDGES
    + PROTOCOLS
    + POWERS
    + LAYOUTS
    + NODES
    + WORDS
    + NUMBERS
)


@pytest.mark.parametrize("source", ALL)
def test_same_as_torch(source):
    check("test_outcomes", source, lambda torch: outcome(torch, START + source))
