"""Traces from a result: equal for PyTorch's graph and ours; the dry run predicts backward() and changes nothing."""

import dataclasses
import itertools
import json

import numpy as np
import pytest
from goldens import oracle

import autolab
from autolab.trace import Trace, trace


def scalars(torch):
    x = torch.tensor(2.0, requires_grad=True)
    y = torch.tensor(-3.0, requires_grad=True)
    z = ((x * y + 3 * x - y / x) ** 2).tanh() + (x - y).exp() * 2**y - (-x).sigmoid().log()
    return z, {"x": x, "y": y, "z": z}


def broadcasting(torch):
    x = torch.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    b = torch.tensor([[0.5], [2.0]], requires_grad=True)
    c = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    loss = ((x / b + b) * c).relu().mean()
    return loss, {"x": x, "b": b, "c": c, "loss": loss}


def network(torch):
    W1 = torch.tensor([[0.1, -0.2], [0.3, 0.4], [-0.5, 0.6]], requires_grad=True)
    b1 = torch.tensor([0.0, 0.1, -0.1], requires_grad=True)
    W2 = torch.tensor([[1.0, -1.0, 0.5], [0.2, 0.3, -0.4]], requires_grad=True)
    X, target = torch.tensor([[1.0, 2.0], [-1.0, 0.5]]), torch.tensor([1, 0])
    h = torch.nn.functional.linear(X, W1, b1).tanh()
    loss = torch.nn.functional.cross_entropy(h @ W2.t(), target)
    return loss, dict(W1=W1, b1=b1, W2=W2, X=X, target=target, h=h, loss=loss)


def indexing(torch):
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    mask, index = torch.tensor([[True, False, True], [False, True, True]]), torch.tensor([[0], [2]])
    y = x[:, 1]
    a, b = x.unbind(0)
    largest = x.max(1)[0]
    parts = torch.cat([y, largest, a, b])
    z = (
        parts.sum()
        + torch.stack([a, b]).mean()
        + x.gather(1, index).sum()
        + torch.where(mask, x, 2 * x).sum()
    )
    return z, dict(x=x, mask=mask, index=index, y=y, a=a, b=b, largest=largest, parts=parts, z=z)


def shapes(torch):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    z = (
        (x.t() @ x).view(4).sum()
        + x.expand(3, 2, 2).sum()
        + x.softmax(1).prod()
        + x.unsqueeze(0).squeeze(0).sum()
    )
    return z, {"x": x, "z": z}


def in_place(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    y.add_(x)
    z = (y * x).sum()
    return z, {"x": x, "y": y, "z": z}


def shared_constant(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    c = torch.tensor([3.0, 4.0])
    d = x.detach()
    z = (x * c * c * d).sum()
    return z, {"x": x, "c": c, "z": z}


def custom(torch):
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 3 * x * x * g

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    z = Cube.apply(x * 2).sum()
    return z, {"x": x, "z": z}


def leaf_alone(torch):
    x = torch.tensor(2.0, requires_grad=True)
    return x, {"x": x}


def existing_grads(torch):
    x = torch.tensor(2.0, requires_grad=True)
    (x * x).backward()
    z = x * 3
    return z, {"x": x, "z": z}


GRAPHS = [
    scalars,
    broadcasting,
    network,
    indexing,
    shapes,
    in_place,
    shared_constant,
    custom,
    leaf_alone,
    existing_grads,
]


def without_results(t: Trace) -> Trace:
    """Return the trace without the values of intermediate results, which only one of the two libraries saves."""
    nodes = [
        dataclasses.replace(
            n,
            value=n.value if n.kind != "op" else None,
            tex_numbers="",
            outputs=tuple(dataclasses.replace(o, value=None) for o in n.outputs),
        )
        for n in t.nodes
    ]
    frames = [
        dataclasses.replace(
            f, value=None, text=f.text.partition(" = ")[0] + " = " + t.node(f.node).call, tex=""
        )
        if f.event == "compute"
        else dataclasses.replace(f, tex="")
        for f in t.frames
    ]
    edges = [dataclasses.replace(e, tex_numbers="") for e in t.edges]
    meta = {k: v for k, v in t.meta.items() if k not in ("library", "why")} | {
        "why": t.meta["why"].partition(" Hooks did not run")[0]
    }
    return dataclasses.replace(
        t, nodes=tuple(nodes), edges=tuple(edges), frames=tuple(frames), meta=meta
    )


def comparable(build):
    """Return a program for the comparison: the trace as text and as plain data, without numbers that rounding may
    change."""

    def program(torch):
        result, names = build(torch)
        t = without_results(trace(result, names, namespace={}))
        data = t.to_json()
        for frame in data["frames"]:
            for key in ("value", "total"):
                if frame[key] is not None:
                    frame[key] = frame[key]["text"]
        return [str(t), json.dumps([data["edges"], data["frames"], data["meta"]], sort_keys=True)]

    return program


@pytest.mark.parametrize("build", GRAPHS, ids=lambda f: f.__name__)
def test_pytorchs_graph_and_ours_read_the_same(build):
    ours, theirs = (
        comparable(build)(autolab),
        oracle.answer("trace", build.__name__, comparable(build)),
    )
    assert ours[0] == theirs[0]
    assert json.loads(ours[1]) == json.loads(theirs[1])


@pytest.mark.parametrize("build", GRAPHS, ids=lambda f: f.__name__)
def test_the_trace_survives_json(build):
    result, names = build(autolab)
    t = trace(result, names, namespace={})
    assert Trace.from_json(json.loads(json.dumps(t.to_json(), allow_nan=False))) == t


@pytest.mark.parametrize("build", GRAPHS, ids=lambda f: f.__name__)
def test_the_rehearsal_changes_nothing_and_tells_what_backward_does(build):
    result, names = build(autolab)
    leaves = {n: t for n, t in names.items() if t.is_leaf and t.requires_grad}
    before = {n: None if t.grad is None else t.grad.numpy().copy() for n, t in leaves.items()}
    t = trace(result, names, namespace={})
    for name, leaf in leaves.items():
        assert (
            (leaf.grad is None)
            if before[name] is None
            else np.array_equal(leaf.grad.numpy(), before[name])
        )
    assert all(s.state == "alive" for s in t.saved if s.node != "none")
    result.backward()  # nothing was freed
    foretold = {t.node(f.receiver).name: f.total.data for f in t.frames if f.event == "accumulate"}
    assert foretold.keys() == leaves.keys()
    for name, leaf in leaves.items():
        np.testing.assert_allclose(foretold[name], leaf.grad.numpy(), rtol=1e-6)


@pytest.mark.parametrize("build", GRAPHS, ids=lambda f: f.__name__)
def test_the_rehearsal_reads_like_the_recording_of_a_real_backward(build):
    result, names = build(autolab)
    rehearsed = trace(result, names, namespace={})
    with autolab.record() as recording:
        result.backward()
    recorded = recording.trace()

    def told(t):
        return [
            (f.event, f.state, f.node, f.receiver, f.value, f.total)
            for f in t.frames
            if f.phase == "backward"
        ]

    # The recording began after the forward pass, so its history comes from the graph, like the dry run's.
    assert told(recorded) == told(rehearsed)


def test_every_operand_has_its_own_edge():
    x = autolab.tensor(3.0, requires_grad=True)
    t = trace(x * x, {"x": x})
    assert [(e.parent, e.child, e.slot, e.differentiable) for e in t.edges] == [
        ("n0", "n1", 0, True),
        ("n0", "n1", 1, True),
    ]
    assert [e.tex for e in t.edges] == [r"\frac{\partial v_{1}}{\partial x} = x"] * 2
    assert [e.tex_numbers for e in t.edges] == [r"\frac{\partial v_{1}}{\partial x} = 3"] * 2


def test_states_while_two_paths_meet():
    x = autolab.tensor(2.0, requires_grad=True)
    a = x * 3
    z = a * a + a
    t = trace(z)
    ids = {n.name: n.id for n in t.nodes if n.name}
    seen = [t.states(i)[ids["a"]] for i in range(-1, len(t.frames))]
    assert [s for i, s in enumerate(seen) if i == 0 or seen[i - 1] != s] == [
        "none",
        "contribution",
        "accumulated",
        "freed",
    ]
    arrived = [
        (f.value.data, f.total.data, f.state)
        for f in t.frames
        if f.receiver == ids["a"] and f.event == "contribution"
    ]
    assert arrived == [
        (1.0, 1.0, "contribution"),
        (6.0, 7.0, "contribution"),
        (6.0, 13.0, "accumulated"),
    ]
    assert t.frames[-2].event == "accumulate" or t.frames[-1].event == "accumulate"
    assert next(f.total.data for f in t.frames if f.event == "accumulate") == 39.0


def test_a_node_that_saved_nothing_lets_its_gradient_go_too():
    x = autolab.tensor(2.0, requires_grad=True)
    y = x + 1  # saves nothing
    kept = y * 3
    kept.retain_grad()
    z = kept - 1  # saves nothing
    t = trace(z)
    assert [f.event for f in t.frames if f.phase == "backward"].count("free") == 1, (
        "only y * 3 had saved something"
    )
    seen = {
        n.name: [t.states(i)[n.id] for i in range(-1, len(t.frames))] for n in t.nodes if n.name
    }
    changes = {
        name: [state for state, _ in itertools.groupby(states)] for name, states in seen.items()
    }
    assert changes["z"] == ["none", "accumulated", "freed"]
    assert changes["y"] == ["none", "accumulated", "freed"]
    assert changes["kept"] == ["none", "accumulated"], "retain_grad was asked for"
    assert changes["x"] == ["none", "contribution", "accumulated"]


def test_a_gradient_of_zero_is_a_state_of_its_own():
    x = autolab.tensor(-1.0, requires_grad=True)
    t = trace(x.relu())
    accumulate = next(f for f in t.frames if f.event == "accumulate")
    assert accumulate.state == "zero" and t.states(accumulate.index)["n0"] == "zero"


def test_after_backward_only_the_forward_is_shown_and_the_trace_says_why():
    x = autolab.tensor(2.0, requires_grad=True)
    y = x * x
    y.backward()
    t = trace(y)
    assert {f.phase for f in t.frames} == {"forward"}
    assert t.meta["backward"] == "" and "already ran" in t.meta["why"]
    assert [s.state for s in t.saved] == ["freed", "freed"]
    assert t.nodes[0].grad.data == 4.0


def test_what_saved_nothing_can_be_rehearsed_after_backward():
    x = autolab.tensor(2.0, requires_grad=True)
    y = x + 1
    y.backward()
    t = trace(y)
    assert t.meta["backward"] == "dry"
    assert (
        next(f for f in t.frames if f.event == "accumulate").total.data == 2.0
    )  # 1 is there already


def test_a_stale_value_is_named_and_its_result_is_that_of_then():
    x = autolab.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    y.add_(1)
    t = trace(y.sum())
    exp = next(n for n in t.nodes if n.op == "exp")
    assert exp.value.data == [2.7182817, 7.389056], "before it was changed"
    assert [(s.state, s.missing) for s in t.saved] == [
        ("modified", "changed in place since it was saved")
    ]
    assert "changed in place" in t.meta["why"]


def test_an_overwritten_result_is_that_of_then():
    x = autolab.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    y.mul_(2)
    t = trace(y)
    assert [(n.op, n.value and n.value.data) for n in t.nodes if n.kind == "op"] == [
        ("mul", [3.0, 6.0]),
        ("mul", [6.0, 12.0]),
    ]


def test_a_result_of_several_numbers_needs_a_gradient():
    x = autolab.tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    assert "single number" in trace(y).meta["why"]
    t = trace(y, gradient=autolab.tensor([1.0, 10.0]))
    assert next(f for f in t.frames if f.event == "accumulate").total.data == [2.0, 40.0]
    with pytest.raises(ValueError, match=r"gradient must be a tensor of shape \(2,\)"):
        trace(y, gradient=autolab.tensor(1.0))


def test_without_requires_grad_there_is_no_backward():
    t = trace(autolab.tensor(2.0) * 3)
    assert [f.event for f in t.frames] == [] and t.meta["backward"] == ""
    assert "no operand requires grad" in t.meta["why"]


def test_looking_at_a_graph_calls_no_saved_tensor_hook():
    calls = []
    x = autolab.tensor([1.0, 2.0], requires_grad=True)
    with autolab.autograd.graph.saved_tensors_hooks(
        lambda t: t, lambda t: calls.append("unpack") or t
    ):
        y = (x * x).sum()
    t = trace(y, backward=False)
    assert calls == []
    assert [(s.name, s.state, s.value) for s in t.saved] == [
        ("self", "alive", None),
        ("other", "alive", None),
    ]


def test_several_roots():
    x = autolab.tensor(2.0, requires_grad=True)
    a, b = x * x, x * 5
    t = trace([a, b])
    assert [t.node(i).name for i in t.meta["roots"]] == ["a", "b"]
    assert next(f for f in t.frames if f.event == "accumulate").total.data == 9.0
    assert [t.node(f.node).name for f in t.frames if f.event == "seed"] == ["a", "b"]


@pytest.mark.parametrize("wrong", [3.0, "x", None, [], [1.0], np.ones(2)])
def test_anything_but_tensors_is_a_type_error(wrong):
    with pytest.raises(TypeError, match="root must be a tensor"):
        trace(wrong)


def test_names_come_from_params_then_variables_then_modules():
    torch = autolab
    model = torch.nn.Linear(2, 1)
    X = torch.ones(3, 2)
    scales = [torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)]
    loss = (model(X) * scales[0] * scales[1]).sum()
    names = {n.name for n in trace(loss, backward=False).nodes}
    assert {"weight", "bias", "X", "loss", "scales[0]", "scales[1]"} <= names
    given = {n.name for n in trace(loss, {"W": model.weight}, backward=False).nodes}
    assert "W" in given and "weight" not in given
    with pytest.raises(TypeError, match=r"params\['W'\] must be a tensor"):
        trace(loss, {"W": 3})


def test_a_name_that_occurs_twice_is_numbered():
    h = autolab.tensor(2.0, requires_grad=True)
    first = h
    for _ in range(2):
        h = h * h
    labels = [n.label for n in trace(h, {"h": first}, namespace={"h": h}).nodes]
    assert labels == ["h", "v1", "h(2)"]


def test_big_results_are_a_sample_computed_again():
    x = autolab.ones(50, 50, requires_grad=True)
    t = trace((x + 1).sum(), backward=False)
    added = next(n for n in t.nodes if n.op == "add")
    assert added.shape == (50, 50) and added.dtype == "float32" and added.again
    assert added.value.data is None and added.value.stats["min"] == added.value.stats["max"] == 2.0
    leaf = t.nodes[0]
    assert (
        leaf.value.data is None and len(leaf.value.sample) == 64 and leaf.value.stats["mean"] == 1.0
    )


def test_a_leaf_used_often_gets_alias_edges():
    x = autolab.tensor(2.0, requires_grad=True)
    few = trace(x * x + x)
    assert not any(e.alias for e in few.edges)
    y = x * 1
    for _ in range(9):
        y = y * x
    often = [e for e in trace(y, {"x": x}).edges if e.parent == "n0"]
    assert [e.alias for e in often] == [False] + [True] * 9


def test_deep_graphs_are_traced_without_recursion():
    x = autolab.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(20_000):
        y = -y
    t = trace(y, formulas=False)
    assert len(t.nodes) == 20_001 and len(t.edges) == 20_000
    assert t.nodes[-1].value.data == 1.0
    assert [f.event for f in t.frames[-2:]] == ["contribution", "accumulate"]


def test_what_is_no_result_is_told_what_to_pass():
    for wrong in (3, autolab.nn.Linear(2, 1)):
        with pytest.raises(
            TypeError,
            match="root must be a tensor, or a list, tuple or dict of tensors, got (int|Linear)",
        ) as caught:
            trace(wrong)
        assert caught.value.__notes__ == [
            "A graph belongs to a result: pass what was computed, such as model(x) or the loss, not the model or a number."
        ]


@pytest.mark.parametrize("library", ["autolab", "torch"])
def test_factors_are_known_although_no_gradient_needs_them(library):
    torch = autolab if library == "autolab" else pytest.importorskip("torch")
    b, m = torch.ones(2, requires_grad=True), torch.ones(2, 2)
    node = next(n for n in trace(torch.addmm(b, m, m, beta=2, alpha=3)).nodes if n.op == "addmm")
    assert (node.attrs["alpha"], node.attrs["beta"]) == (3, 2)


@pytest.mark.parametrize("library", ["autolab", "torch"])
def test_what_retain_grad_kept_is_there_before_the_first_frame(library):
    lib = pytest.importorskip(library)
    x = lib.tensor([1.5, 2.5], requires_grad=True)
    y = x * x
    y.retain_grad()
    loss = y.sum()
    before = trace(loss, namespace={"x": x, "y": y}).states(-1)
    loss.backward(retain_graph=True)
    t = trace(loss, namespace={"x": x, "y": y})
    assert list(before.values()) == ["none"] * 3
    assert [t.states(-1)[n.id] for n in t.nodes] == ["accumulated", "accumulated", "none"]
    assert [t.states(len(t.frames) - 1)[n.id] for n in t.nodes] == [
        "accumulated",
        "accumulated",
        "freed",
    ]


@dataclasses.dataclass
class Output:
    loss: object
    logits: object


@pytest.mark.parametrize(
    "gather",
    [
        lambda loss, logits: {"loss": loss, "logits": logits},
        lambda loss, logits: Output(loss, logits),
        lambda loss, logits: [{"loss": loss, "hidden": None}, ({"logits": logits},)],
    ],
)
def test_results_in_dicts_and_dataclasses_are_named_by_their_keys(gather):
    x = autolab.ones(2, requires_grad=True)
    y = x * 2
    found = trace(gather(y.sum(), y))
    assert [found.node(i).name for i in found.meta["roots"]] == ["loss", "logits"]


@pytest.mark.parametrize("empty", [{}, [None], [{"loss": 3}]])
def test_what_holds_no_tensor_is_refused(empty):
    with pytest.raises(TypeError, match="root must be a tensor, or a list, tuple or dict"):
        trace(empty)
