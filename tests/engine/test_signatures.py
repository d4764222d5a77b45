"""Arguments are taken, converted or refused as PyTorch's argument parser does it: no keyword is swallowed, no size
truncated."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest
from goldens import oracle

import autolab
from autolab.engine.exact import signatures
from autolab.engine.exact.kinds import KINDS

CALLS = (Path(__file__).parents[1] / "engine_calls.txt").read_text().splitlines()
START = (
    "A = torch.tensor([[4., 1., .5], [1., 3., .25], [.5, .25, 2.]]); v = torch.tensor([.5, .25, .75]); V = torch.arange(18.).view(2, 3, 3) / 18; "
    "z = torch.tensor(.5); i = torch.tensor([0, 2, 1]); I = torch.tensor([[0, 1, 2], [2, 1, 0], [1, 0, 2]]); m = torch.tensor([True, False, True]); "
    "b = torch.eye(3) > 0; W = torch.arange(32.).view(1, 2, 4, 4) / 32; k = torch.tensor(1); P = torch.arange(8.).view(1, 2, 4) / 8; "
    "K = torch.ones(2, 2, 3, 3); B = torch.zeros(2)"
)
WRONG = {
    int: ["1.5", "True", "'a'", "[1.5]"],
    bool: ["1", "'a'", "None"],
    float: ["'a'", "[0.5]"],
    tuple: ["(1.5,)", "'a'", "(True,)", "(0, 0.5)"],
}
"""What is written for an argument of each kind that is none."""


def variants(call):
    """`call` with an argument that is none of its own, and with a wrong value for each number, flag or list of ints."""
    tree = ast.parse(call, mode="eval").body
    yield ast.unparse(
        ast.Call(tree.func, tree.args, [*tree.keywords, ast.keyword("alpah", ast.Constant(3))])
    )
    for place, keyword in enumerate(tree.keywords):
        try:
            kind = type(ast.literal_eval(keyword.value))
        except ValueError:
            continue
        for wrong in WRONG.get(kind, ()):
            changed = [
                *tree.keywords[:place],
                ast.keyword(keyword.arg, ast.parse(wrong, mode="eval").body),
                *tree.keywords[place + 1 :],
            ]
            yield ast.unparse(ast.Call(tree.func, tree.args, changed))
    # the same by position, where the error names it
    if len(tree.keywords) > 1 and isinstance(tree.keywords[-1].value, ast.Constant):
        yield ast.unparse(
            ast.Call(
                tree.func,
                [
                    *tree.args,
                    *(k.value for k in tree.keywords[:-1]),
                    ast.parse("'a'", mode="eval").body,
                ],
                [],
            )
        )


def refusal(torch, call):
    """The first line of the error that `call` ends in; keywords in one order, because PyTorch's is that of a hash
    table."""
    names = {"torch": torch, "F": torch.nn.functional}
    exec(START, names)
    error = oracle.error_of(lambda: eval(call, names)).splitlines()[0]
    error = re.sub(
        r"(unrecognized keyword arguments: )(.*)",
        lambda m: m[1] + ", ".join(sorted(m[2].split(", "))),
        error,
    )
    return re.sub(
        r"- got \((.*)\), but",
        lambda m: f"- got ({', '.join(sorted(filter(None, m[1].split(', '))))}), but",
        error,
    )


@pytest.mark.parametrize("call", CALLS)
def test_calls_by_keyword_and_what_is_refused(call):
    oracle.check(
        "test_signatures",
        call,
        lambda torch: [refusal(torch, call), *(refusal(torch, v) for v in variants(call))],
    )


SIZES = [  # lists of ints, by position and by keyword, and what is none; flags
    "A.view(9)", "A.view((9,))", "A.view(size=[9])", "A.view(9.0)", "A.view(torch.tensor(9))",
    "A.view(3, torch.tensor([3]))", "A.view(3, True, 3)", "A.view()", "A.view(())", "A.view((3, 3), 1)",
    "A.view('a')", "A.view(True)", "z.view(())", "A.reshape([1.5, 2])", "A.reshape(3, 3.0)", "A.reshape(shape=(9,))",
    "A.reshape(9, shape=(9,))", "A.reshape(3, 3, size=1)", "A.reshape()", "A.reshape(None)",
    "torch.reshape(A, [9.0])", "torch.reshape(input=A, shape=(9,))", "A.permute(1.5, 0)", "A.permute(1, 0.5)",
    "A.permute(1, True)", "A.permute(dims=(1, 0))", "A.permute(1, 0, dims=1)", "A.permute()", "A.permute([0, '1'])",
    "A.expand(3.7, 2)", "A.expand(3, 2.7)", "A.expand(size=(2, 3, 3))", "A.expand(2, 3, 3, implicit=True)",
    "A.expand(2, 3, 3, implicit=1)", "A.expand()", "A.repeat(2.5)", "A.repeat(2, 2.5)", "A.repeat(repeats=(1, 2))",
    "A.repeat(1, torch.tensor(2))", "A.repeat((1, 2), 1)", "A.flip(dims=(0,))", "A.flip(0.5)", "A.flip()",
    "torch.flip(A, 0)", "A.tile(dims=(2, 1))", "A.tile(1.5)",
    "z.resize_(size=(2,))", "v.resize_(1.5)",
       "A.swapaxes(axis0=0, axis1=1)",
    "torch.cat([A, A], axis=1)", "torch.cat([A], dim=0, axis=0)", "torch.softmax(a=A, axis=0)",
    "torch.sum(A, axis=0, keepdims=True)", "A.cumsum(axis=0.5)", "A.double(memory_format=5)", "A.double(5)",
    "A.contiguous(memory_format=5)", "A.to(1, foo=2)", "A.to(torch.float64, 1)", "A.to(torch.float64, copy=1)",
    "A.size(1.5)", "A.size(dim='a')", "A.stride(True)", "A.numpy(force=1)", "A.requires_grad_(1)", "A.split(1.5)",
    "A.split([1.5, 1.5])",

    "F.l1_loss(A, A + 1, size_average=0).tolist()", "F.mse_loss(A, A + 1, reduce=0).tolist()",
    "F.kl_div(A, A, size_average=0, reduce=1).tolist()", "torch.nn.L1Loss(size_average=0)(A, A + 1).tolist()",
    "F.nll_loss(A, i, reduce=0).tolist()", "A.add(1, alpha='a')", "A.add('a')", "torch.add(A, 'a')",
    "A.div(A, 'floor')", "torch.add(A, A, 1, 1, 1)", "A.clamp(min='a')", "torch.where(True, A, A)",
    "A.sum('a')", "A.sum((0, 1.5))", "torch.zeros()", "torch.zeros(2, dtype=1)", "torch.ones(2, layout='strided')",
    "torch.as_tensor(v, 'a')", "torch.tensor()", "torch.arange(1, step='a')", "torch.full((2,), 'a')", "torch.randn((2, 'a'))",
    "torch.rand(2, dtype=1)", "torch.floor_divide(2, v)", "torch.floor_divide(v, (1,))", "torch.true_divide(v)",
       "v.random_(1, 2, 3)", "v.uniform_(0, 'a')", "A.to(1, 2)", "A.to(foo=1)",
    "torch.linalg.inv(1)", "torch.stack(A, 'a')", "v.sort(-1, stable=True)", "torch.argsort(v, 0, stable=True)",
]  # fmt: skip
INSIDE = [  # what a function that PyTorch writes in Python leaves to the function it calls
    "F.dropout(A, 0.5, 1)", "F.dropout(A, 0.5, training='a', inplace=True)", "F.dropout2d(W, training=None)",
    "F.embedding(i, A, sparse=1)", "F.embedding(i, A, scale_grad_by_freq=None)",
    "F.leaky_relu(A, '0.1')", "F.elu(A, alpha=[1.])",
    "F.celu(A, None)", "F.batch_norm(W, B, B + 1, training=1)", "F.batch_norm(W, B, B + 1, momentum='a')",
    "F.instance_norm(W, use_input_stats=1)", "F.rms_norm(A, 3.)", "F.rms_norm(A, [3.])",
    "F.smooth_l1_loss(A, A, beta='a')", "F.huber_loss(A, A, delta='a')", "F.kl_div(A, A, log_target=1)",
    "F.cosine_embedding_loss(A, A, v, margin=[1])",
    "F.cross_entropy(A, i, ignore_index=1.)",
    "F.cross_entropy(A, i, label_smoothing='a')", "F.pad(A, (0, 1), value='a')",


    "F.softplus(A, beta='a')", "F.gelu(A, approximate=1)", "F.cosine_similarity(A, A, dim=0.5)",
    "F.threshold_(A, '1', 2)",
]  # fmt: skip


def _came_to(torch, call):
    names = {"torch": torch, "F": torch.nn.functional}
    exec(START, names)
    try:
        value = eval(call, names)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return getattr(value, "shape", value)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", SIZES + INSIDE)
def test_lists_of_ints_and_flags(call):
    oracle.check("test_signatures", f"came to {call}", lambda torch: _came_to(torch, call))


def test_numbers_of_numpy_are_numbers():
    x = autolab.arange(6.0)
    assert x.view(np.int64(2), np.int32(3)).sum(np.int64(1)).tolist() == [3.0, 12.0]
    assert (
        x.mul(np.float64(2)).tolist() == (2 * x).tolist()
        and x.clamp(np.float32(1.5)).min().item() == 1.5
    )


def test_no_keyword_is_swallowed():
    """What a function collects by `**named` or `*args`, it looks at; or it always raises."""
    ignored = []
    for file in Path(autolab.__file__).parent.rglob("*.py"):
        for f in ast.walk(ast.parse(file.read_text())):
            if (
                not isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef))
                or f.name == "__exit__"
                or isinstance(f.body[-1], ast.Raise)
            ):
                continue
            read = {
                n.id for statement in f.body for n in ast.walk(statement) if isinstance(n, ast.Name)
            }
            collected = [a.arg for a in (f.args.kwarg, f.args.vararg) if a is not None]
            ignored += [f"{file.name} {f.name}" for a in collected if a not in read]
    assert set(ignored) == MAY_IGNORE


MAY_IGNORE = {
    "declared.py __init__",  # for type checkers
    "linear.py __init__",  # Identity, as PyTorch's
    "dot.py _repr_mimebundle_", "kernel.py _repr_mimebundle_",  # what somebody else's protocol hands over
    "server.py write_error",  # the same
    "building.py forgotten",  # a mistake that returns nothing
    "module.py asnumpy", "film.py forward", "speed.py launch", "speed.py transfer",
}  # fmt: skip


def test_every_line_of_the_table_is_read_and_has_a_function():
    for space, name in signatures.table():
        forms = signatures.forms_of(space, name)
        assert forms and all(p.kind in KINDS.values() for form in forms for p in form.parameters), (
            space,
            name,
        )
        home = (
            {"f": autolab, "m": autolab.Tensor}.get(space)
            or getattr(autolab, space, None)
            or autolab.nn.functional
        )
        assert callable(getattr(home, name)), (space, name)
