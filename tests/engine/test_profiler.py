"""The profiler: which calls are counted and where they nest, and the tables to the character."""

import contextlib
import threading

import numpy as np
import pytest
from engine_profiles import nothing_is_left_watching, of, step  # noqa: F401 (a fixture)
from goldens import oracle
from goldens.oracle import same_as_torch

import autolab
from autolab.autograd import profiler
from autolab.profiler.recorder import aten_name
from autolab.engine.core.record import OPS


# -- tables ---------------------------------------------------------------------------------------------------------
def averages_with_fixed_times(torch, **options):
    names = {"first": (1.5, 3.0), "a" * 60: (1234.5678, 2e6), "c": (0.0, 0.25), "d": (3e6, 3e6)}
    with torch.autograd.profiler.profile(**options) as prof:
        for name in names:
            for _ in range(len(name) % 3 + 1):
                with torch.profiler.record_function(name):
                    pass
    averages = prof.key_averages()
    for average in averages:
        average.self_cpu_time_total, average.cpu_time_total = names[average.key]
    return averages


@same_as_torch
def test_tables(torch):
    averages = averages_with_fixed_times(torch)
    return [
        averages.table(**options)
        for options in (
            {},
            {"sort_by": "self_cpu_time_total"},
            {"sort_by": "cpu_time_total", "row_limit": 2},
            {"sort_by": "cpu_time", "row_limit": -1},
            {"sort_by": "count", "row_limit": 0},
            {"sort_by": "self_cuda_time_total"},
            {"max_name_column_width": 10},
            {"max_name_column_width": None},
        )
    ] + [str(averages)]


@same_as_torch
def test_the_texts_of_times(torch):
    averages = averages_with_fixed_times(torch)
    tables = []
    for time in (0, 0.0004, 999.9994, 1000, 1e6 - 1, 1e6, 2.5e9):
        for average in averages:
            average.self_cpu_time_total = average.cpu_time_total = time
        tables.append(averages.table(row_limit=1))
    return tables


# -- what is counted ------------------------------------------------------------------------------------------------
NODES = (
    "MulBackward0",
    "AddBackward0",
    "ExpBackward0",
    "MmBackward0",
    "ReluBackward0",
    "SumBackward0",
)
SHARED = {
    "mine",
    "aten::exp",
    "aten::add",
    "aten::mm",
    "aten::relu",
    "aten::sum",
    "aten::mul_",
    *NODES,
}
SHARED |= {
    "torch::autograd::AccumulateGrad",
    "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
}
SHARED |= {f"autograd::engine::evaluate_function: {name}" for name in NODES}


@same_as_torch
def test_calls_are_counted(torch):
    counts = {a.key: a.count for a in step(torch).key_averages()}
    return {key: counts[key] for key in sorted(SHARED)}


@same_as_torch
def test_events_come_in_order(torch):
    return [e.name for e in step(torch).function_events if e.name in SHARED]


@same_as_torch
def test_calls_nest(torch):
    events = of(
        step(torch).function_events, "mine", "aten::exp", "aten::relu", "aten::mul_", *NODES
    )
    return [
        (e.name, None if e.cpu_parent is None else e.cpu_parent.name, e.scope, e.is_user_annotation)
        for e in events
    ]


@same_as_torch
def test_shapes(torch):
    prof = step(torch, record_shapes=True)
    wanted = (
        "aten::add",
        "aten::exp",
        "aten::mm",
        "aten::relu",
        "MmBackward0",
        "MulBackward0",
        "SumBackward0",
        "mine",
    )
    by_shape = prof.key_averages(group_by_input_shape=True)
    grouped = {a.key: a.count for a in by_shape if a.key in wanted}
    return [(e.name, e.input_shapes) for e in of(prof.function_events, *wanted)], grouped


def test_every_op_has_a_name_of_pytorchs():
    names = sorted({aten_name(op).removeprefix("aten::") for op in OPS.values()})

    def unknown(torch):
        return [
            n
            for n in names
            if not hasattr(torch.ops.aten, n) and not hasattr(torch.ops.aten, n + "_")
        ]

    assert oracle.answer("test_profiler", "every op has a name", unknown) == []


@same_as_torch
def test_custom_functions(torch):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.exp() * x

        @staticmethod
        def backward(ctx, g):
            return g.exp()

    x = torch.ones(3, requires_grad=True)
    with torch.autograd.profiler.profile(record_shapes=True) as prof:
        Twice.apply(x).sum().backward()
    events = of(prof.function_events, "Twice", "TwiceBackward", "aten::exp")
    return [(e.name, e.input_shapes, e.cpu_parent and e.cpu_parent.name) for e in events]


def test_own_times_add_up_and_children_lie_inside():
    prof = step(autolab)
    for e in prof.function_events:
        assert 0 <= e.time_range.start <= e.time_range.end and e.self_cpu_time_total >= 0
        for child in e.cpu_children:
            assert child.cpu_parent is e
            assert (
                e.time_range.start
                <= child.time_range.start
                <= child.time_range.end
                <= e.time_range.end
            )
    outer = sum(e.cpu_time_total for e in prof.function_events if e.cpu_parent is None)
    assert (
        prof.self_cpu_time_total
        == pytest.approx(outer)
        == pytest.approx(prof.key_averages().self_cpu_time_total)
    )


def test_results_are_those_without_a_profiler():
    def gradients(watcher):
        x = autolab.linspace(-2, 2, 12).reshape(3, 4).requires_grad_()
        with watcher:
            y = (x.exp() @ x.t()).softmax(1).max(0).values.sum()
            (g,) = autolab.autograd.grad(y, x, create_graph=True)
            g.pow(2).sum().backward()
        return g.detach().numpy(), x.grad.numpy()

    plain = gradients(contextlib.nullcontext())
    watched = gradients(profiler.profile(record_shapes=True))
    assert all(np.array_equal(a, b) for a, b in zip(plain, watched))


# -- who is watched -------------------------------------------------------------------------------------------------
def test_only_its_own_thread():
    x = autolab.ones(3)

    def other():
        x.sin()
        with profiler.record_function("there"):
            x.cos()

    with profiler.profile() as prof:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        x.exp()
    assert [e.name for e in prof.function_events] == ["aten::exp"]


def test_an_exception_ends_the_profile():
    x = autolab.ones(3)
    with pytest.raises(KeyError):
        with profiler.profile() as prof:
            with profiler.record_function("block"):
                x.exp()
                raise KeyError
    assert [(e.name, e.cpu_parent and e.cpu_parent.name) for e in prof.function_events] == [
        ("block", None),
        ("aten::exp", "block"),
    ]


@same_as_torch
def test_record_function_as_decorator(torch):
    @torch.profiler.record_function("named")
    def f():
        return torch.ones(2).exp()

    f()
    with torch.autograd.profiler.profile() as prof:
        f(), f()
    return [
        (e.name, e.cpu_parent and e.cpu_parent.name)
        for e in of(prof.function_events, "named", "aten::exp")
    ]
