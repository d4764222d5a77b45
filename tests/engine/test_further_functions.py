"""Comparisons and bits of several kinds; shapes that are refused
before dtypes."""

import numpy as np
import pytest

import autolab
from autolab import tensor
from engine_outcomes import outcome
from goldens.oracle import check


START = (
    "a = torch.arange(6.).view(2, 3) - 2; i = torch.tensor([12, -18, 0]); j = torch.tensor([8, 27, 0]); "
    "g = torch.tensor([1., 2., 3.], requires_grad=True); "
)
FUNCTIONS = [
    "torch.bitwise_and(a,a[:1,:2])",
    "torch.bitwise_and(a,a)",
    "a.bitwise_and_(torch.ones(2,2,3).long())",
    "i.bitwise_and_(a)",
    "i.bitwise_and_(torch.ones(2,3))",
    "i[:2].bitwise_and_(torch.ones(3))",
    "torch.pow(i>0,(j>0)[:2])",
    "torch.lerp(i,j[:2],2.)",
    "torch.lerp(i,j,2.)",
    "torch.addcmul(i>0,(j>0)[:2],i>0)",
    "torch.sub(i>0,(j>0)[:2])",
    "(i>0).sub_(j[:2])",
    "torch.floor_divide(i>0,(i>0)[:2])",
    "torch.remainder(i>0,(i>0)[:2])",
]
REAL_NUMBERS = [
    "torch.conj(g) is g",
    "g.conj() is g",
    "torch.conj(3)",
]
NO_TENSORS = [
    "torch.flatten(3)",
    "torch.flatten([1.], 0)",
    "torch.squeeze('a')",
    "torch.select(3)",
    "torch.rot90(3)",
    "torch.softmax(3, 0)",
    "torch.maximum(3)",
    "torch.isclose(3)",
    "torch.flip(3, 1)",
    "torch.unbind([1.])",
    "torch.cross(a, 2.5)",
    "torch.cross(2, a)",
    "a.cross(2)",
]
REFUSED_AND_EDGES = [
    "torch.inverse(torch.eye(3).half())",
    "torch.inverse(torch.ones(3))",
    "torch.inverse(torch.ones(2,3).long())",
    "torch.inverse(torch.ones(3).long())",
    "torch.det(torch.ones(3).long())",
    "torch.det(torch.ones(2,3).long())",
    "torch.linalg.slogdet(torch.eye(3).long())",
    "torch.linalg.slogdet(torch.eye(3).half())",
    "a.flip()",
    "a.squeeze((0,0))",
    "a.squeeze((0,-2))",
    "i.norm(dim=5)",
    "i.norm(2,dtype=torch.float32)",
    "i.norm(2,0,dtype=torch.float32)",
    "i.norm(dtype=torch.float32)",
    "torch.norm(i,dtype=torch.float32)",
    "torch.linalg.vector_norm(i,dtype=torch.float32)",
    "torch.linalg.vector_norm(a,(2,1))",
    "g.sum(dtype=torch.int64)",
    "g.sum(0,dtype=torch.bool)",
    "g.prod(dtype=torch.int64)",
    "g.prod(0,dtype=torch.int64)",
    "g.cumsum(0,dtype=torch.int64)",
    "g.cumprod(0,dtype=torch.int64)",
    "g.nansum(dtype=torch.int64)",
    "torch.cumsum(g,5,dtype=torch.int64)",
    "g.sum(5,dtype=torch.int64)",
    "i.cumprod(0,dtype=torch.bool)",
    "(i>0).cumprod(0)",
    "(i>0).cumsum(0,dtype=torch.bool)",
    "i.cumsum(0,dtype=torch.bool)",
    "(i>0).argmin(5)",
    "(i>0).argmax()",
    "(i>0).argmin()",
    "torch.zeros(0,dtype=torch.bool).argmin()",
    "i.mean()",
    "i.nanmean(5)",
    "torch.ones(2,2,dtype=torch.uint8).all((0,1))",
    "torch.ones(2,2,dtype=torch.uint8).any()",
    "torch.ones(2,2,dtype=torch.uint8).any(0)",
    "torch.zeros(0,requires_grad=True).roll(1)",
    "torch.zeros(0,requires_grad=True).roll(1,0)",
    "torch.dist(i>0,a[0]), torch.dist(i,j)",
    "torch.dist(i>0,a[0])",
    "torch.dist(i,2)",
    "torch.dist(a,g,3.)*1",
    "torch.dist(a)",
    "a.dist(2)",
    "torch.zeros(0).long()%0",
    "torch.zeros(0).long()//0",
    "torch.zeros(0).long()%torch.zeros(0).long()",
    "torch.zeros(0).long().fmod(0)",
]
LAYOUTS = [
    "a.t().flip(0)",
    "a[:, ::2].flip(0, 1)",
    "torch.arange(24.).view(2, 3, 4).transpose(0, 2).flip(1)",
    "a.norm(1, dtype=torch.int64)",
    "a.norm(1, 5, dtype=torch.int64)",
    "torch.tensor(2.).flip(0)",
    "i.flip(5)",
]
SHAPES_FIRST = [
    "(i > 0).floor_()",
    "(i > 0).trunc_()",
    "torch.ones(2, 3) & torch.ones(2)",
    "a.bitwise_or_(torch.ones(2, 2, 3))",
]


@pytest.mark.parametrize(
    "source",
    FUNCTIONS + REAL_NUMBERS + NO_TENSORS + REFUSED_AND_EDGES + LAYOUTS + SHAPES_FIRST,
)
def test_it_is_as_in_torch(source):
    check("test_further_functions", source, lambda torch: outcome(torch, START + source))


@pytest.mark.parametrize(
    "act",
    [
        lambda: tensor(1j),
        lambda: tensor([1.0]) * 1j,
        lambda: autolab.from_numpy(np.ones(2, complex)),
        lambda: autolab.from_numpy(np.array(["a"])),
        lambda: autolab.complex64,
    ],
)
def test_complex_numbers_and_text_are_refused(act):
    with pytest.raises((RuntimeError, TypeError, AttributeError), match="complex|str"):
        act()
