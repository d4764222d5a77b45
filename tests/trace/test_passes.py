"""Every backward pass has its own states: which nodes get a gradient, why others never do, and where gradients go."""

import warnings
from types import SimpleNamespace

import pytest
import trace_stories

import autolab as torch
from autolab import autograd
from autolab.trace import trace as trace_of


def told(trace, index=None):
    """Return label -> state after a frame, by default the last."""
    states = trace.states(len(trace.frames) - 1 if index is None else index)
    return {trace.node(n).label: state for n, state in states.items()}


def whys(trace, run):
    """Return label -> why no gradient comes to it, for the nodes of a pass."""
    first = next(f.index for f in trace.frames if f.run == run)
    return {node.label: why for node in trace.nodes if (why := trace.why_never(node.id, first))}


def returns(trace):
    return [
        (trace.node(f.receiver).label, f.name, f.state, None if f.value is None else f.value.data)
        for f in trace.frames
        if f.event == "return"
    ]


def recorded(program):
    with torch.record() as recording, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program()
    return recording.trace()


# -- returned gradients --------------------------------------------------------------------------------
def test_grad_hands_the_gradient_back_and_grad_of_the_leaf_stays_none():
    with torch.record() as recording:
        a = torch.tensor(3.0, requires_grad=True)
        b = (a * 2).sin()
        (slope,) = autograd.grad(b, a)
    trace = recording.trace()
    assert told(trace)["a"] == "returned" and trace.nodes[0].grad is None and a.grad is None
    last = trace.frames[-1]
    assert (last.event, last.name, last.total.data) == ("return", "slope", last.value.data)
    assert last.value.data == pytest.approx(slope.item())
    assert (
        last.text
        == "grad() returns 1.92 as slope: the gradient of b with respect to a; a.grad stays None"
    )
    assert last.tex == r"\mathrm{slope} = \bar{a} \approx 1.92"
    assert trace.passes[0].call == "grad" and trace.passes[0].inputs == ("n0",)


def assignments(y, u, v, box):
    (one,) = autograd.grad(y, u, retain_graph=True)
    two = autograd.grad(y, u, retain_graph=True)[0]
    three, four = autograd.grad(y, [u, v], retain_graph=True)
    five = autograd.grad(y, [u, v], retain_graph=True)
    box.six, box.all["seven"] = autograd.grad(
        y,
        [u, v],
        retain_graph=True,
    )
    thirteen: tuple = autograd.grad(y, u, retain_graph=True)
    if (fourteen := autograd.grad(y, u, retain_graph=True)) is None:
        return None
    twice = autograd.grad(y, u, retain_graph=True)[0] * 2
    autograd.grad(y, u, retain_graph=True)
    return (
        one,
        two,
        three,
        four,
        five,
        thirteen,
        fourteen,
        twice,
    )


def test_the_name_is_the_one_it_was_assigned_to():
    u, v = torch.tensor(2.0, requires_grad=True), torch.tensor(5.0, requires_grad=True)
    trace = recorded(lambda: assignments(u * v, u, v, SimpleNamespace(all={})))
    assert [name for _, name, *_ in returns(trace)] == [
        "one", "two", "three", "four", "five[0]", "five[1]", "box.six", "box.all['seven']",
        "thirteen[0]", "fourteen[0]", "", "",
    ]  # fmt: skip
    assert all(f.text.startswith("grad() returns ") for f in trace.frames if f.event == "return")


def test_results_of_operations_that_were_asked_for_are_returned_too():
    def program():
        p = torch.tensor([1.0, 2.0], requires_grad=True)
        q = p.exp()
        s = (q * q).sum()
        dq, dp = autograd.grad(s, [q, p])
        return dq, dp

    trace = recorded(program)
    assert [(label, name) for label, name, *_ in returns(trace)] == [("q", "dq"), ("p", "dp")]
    assert {k: v for k, v in told(trace).items() if k in "pqs"} == {
        "p": "returned",
        "q": "returned",
        "s": "freed",
    }


def test_none_is_returned_where_nothing_comes_and_the_reason_is_said():
    def program():
        m, n = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
        r = m**2
        gm, gn = autograd.grad(r, [m, n], allow_unused=True, retain_graph=True)
        zm, zn = autograd.grad(r, [m, n], materialize_grads=True)
        return gm, gn, zm, zn

    trace = recorded(program)
    assert returns(trace) == [
        ("m", "gm", "returned", 4.0),
        ("n", "gn", "never", None),
        ("m", "zm", "returned", 4.0),
        ("n", "zn", "never", 0.0),
    ]
    texts = [f.text for f in trace.frames if f.event == "return" and f.state == "never"]
    assert texts == [
        "grad() returns None as gn for n: r does not depend on it",
        "grad() returns 0 as zn for n: r does not depend on it; materialize_grads=True fills in zeros",
    ]


def test_a_grad_that_fails_in_the_end_has_lost_its_gradients():
    c, e = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    recording = torch.record()
    with pytest.raises(RuntimeError, match="not have been used"), recording:
        autograd.grad(c * 4, [c, e])
    trace = recording.trace()
    assert returns(trace) == [] and told(trace)["c"] == "freed", "nobody got it"


def test_grad_leaves_an_older_grad_as_it_was():
    def program():
        k = torch.tensor(2.0, requires_grad=True)
        (k * 7).backward()
        t = k * 5
        (dk,) = autograd.grad(t, k)
        t2 = k * 3
        t2.backward()

    trace = recorded(program)
    given = next(f for f in trace.frames if f.event == "return")
    assert given.text.endswith("; k.grad stays 7")
    assert told(trace, given.index)["k"] == "returned"
    assert told(trace, given.index + 1 + 2)["k"] in ("accumulated", "contribution"), (
        "the next pass begins with what .grad holds"
    )
    assert next(n for n in trace.nodes if n.name == "k").grad.data == 10.0


def test_double_backward_through_what_grad_returned():
    def program():
        h = torch.tensor(2.0, requires_grad=True)
        f = h**4
        (df,) = autograd.grad(f, h, create_graph=True)
        (ddf,) = autograd.grad(df, h, create_graph=True)
        ddf.backward()
        assert h.grad.item() == 48.0

    trace = recorded(program)
    assert [name for _, name, *_ in returns(trace)] == ["df", "ddf"]
    assert told(trace)["h"] == "accumulated" and [p.call for p in trace.passes] == [
        "grad",
        "grad",
        "backward",
    ]
    assert "returned" not in set(told(trace).values())


# -- inputs= -------------------------------------------------------------------------------------------
def test_backward_with_inputs_goes_to_those_only():
    def program():
        a, b = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
        c = a * b
        (c * b).backward(inputs=[a])
        assert b.grad is None and a.grad.item() == 9.0

    trace = recorded(program)
    assert (told(trace)["a"], told(trace)["b"]) == ("accumulated", "never")
    assert [f.event for f in trace.frames if f.receiver == "n0"] == ["contribution", "accumulate"]
    assert not [
        f for f in trace.frames if f.event == "contribution" and trace.node(f.receiver).label == "b"
    ], "nothing is sent to it"
    assert whys(trace, 1)["b"] == "only the gradient of a was asked for"


# -- never ---------------------------------------------------------------------------------------------
def test_why_no_gradient_comes():
    def program():
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        data = torch.tensor([3.0, 4.0])
        labels = torch.tensor([0, 1])
        base = x * data
        kept = base.detach()
        with torch.no_grad():
            scale = base.sum()
        best = (x * 3).argmax()
        unused = x.exp()
        weight = torch.nn.Parameter(torch.tensor([1.0, 1.0]), requires_grad=False)
        loss = (x * kept * scale * weight).sum() + best + labels.sum() * x.sum()
        loss.backward()
        return unused

    trace = recorded(program)
    found = whys(trace, 1)
    assert {
        k: found[k] for k in ("data", "labels", "base", "kept", "scale", "best", "unused", "weight")
    } == {
        "data": "data does not require grad",
        "labels": "whole numbers have no gradient",
        "base": "its way to loss is cut at kept by detach()",
        "kept": "detach() cuts here",
        "scale": "it was computed under no_grad",
        "best": "whole numbers have no gradient",
        "unused": "loss does not depend on it",
        "weight": "it is frozen",
    }
    thrice = next(n.label for n in trace.nodes if n.op == "mul" and "3" in n.call)
    assert found[thrice] == "its way to loss is cut at best: whole numbers have no gradient"
    first = next(f.index for f in trace.frames if f.run == 1)
    assert set(told(trace, first - 1).values()) == {"none"}, "before the pass nothing is said"
    assert {k for k, v in told(trace).items() if v == "never"} == set(found), "nothing comes later"


def test_every_node_is_never_or_gets_something():
    """No node is still "not yet" at the end of a pass."""

    def program():
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x.cumsum(0)
        (y.detach() * y[0] + torch.tensor(3.0) * (x > 1)).sum().backward()

    trace = recorded(program)
    assert "none" not in set(told(trace).values())


def test_a_rehearsal_knows_it_too_for_both_libraries():
    real = pytest.importorskip("torch")
    for library in (torch, real):
        x = library.tensor([1.0, 2.0], requires_grad=True)
        fixed = library.nn.Parameter(library.tensor([2.0, 2.0]), requires_grad=False)
        h = x * fixed
        square = h * h
        loss = (square * h.detach()).sum()
        trace = trace_of(loss, namespace={"x": x, "fixed": fixed, "h": h, "loss": loss})
        found = whys(trace, 1)
        assert found["fixed"] == "it is frozen"
        assert "detach() cuts here" in found.values()
        assert told(trace)["x"] == "accumulated" and "none" not in set(told(trace).values())


def test_a_leaf_frozen_after_the_graph_was_made_gets_nothing():
    for library in (torch, pytest.importorskip("torch")):
        x, w = library.tensor(2.0, requires_grad=True), library.tensor(3.0, requires_grad=True)
        y = x * w
        w.requires_grad_(False)
        trace = trace_of(y, namespace={"x": x, "w": w, "y": y})
        assert (told(trace)["x"], told(trace)["w"]) == ("accumulated", "never")
        assert [trace.node(f.receiver).label for f in trace.frames if f.event == "accumulate"] == [
            "x"
        ]
        sent = next(
            f
            for f in trace.frames
            if f.event == "contribution" and trace.node(f.receiver).label == "w"
        )
        assert sent.text.endswith("frozen, so nothing would be accumulated") and sent.total is None
        y.backward()
        assert w.grad is None


def test_a_rule_that_sends_nothing_is_a_reason():
    class Half(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a * b

        @staticmethod
        def backward(ctx, g):
            return g, None

    def program():
        a, b = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
        Half.apply(a, b).backward()

    trace = recorded(program)
    assert (
        told(trace)["b"] == "never"
        and whys(trace, 1)["b"] == "the operations that use it send nothing here"
    )


# -- several passes ------------------------------------------------------------------------------------
def test_a_new_graph_leaves_the_finished_one_as_it_was():
    def program():
        v = torch.tensor(3.0, requires_grad=True)
        for _ in range(3):
            cost = (v + 1 - v * 2).exp()
            cost.backward()

    trace = recorded(program)
    ends = {run: max(f.index for f in trace.frames if f.run == run) for run in (1, 2, 3)}
    first = {
        n: s for n, s in trace.states(ends[1]).items() if trace.node(n).kind == "op" and s != "none"
    }
    assert set(first.values()) == {"freed"} and len(first) == 4
    for run in (2, 3):
        assert {n: trace.states(ends[run])[n] for n in first} == first
    assert {s for n, s in trace.states(ends[3]).items() if trace.node(n).kind == "op"} == {"freed"}
    assert all(not p.fresh or p.fresh == ("n0",) for p in trace.passes)


def test_the_same_graph_again_begins_at_not_yet_and_the_first_pass_is_kept():
    def program():
        v = torch.tensor(3.0, requires_grad=True)
        cost = (v + 1).tanh()
        cost.backward(retain_graph=True)
        cost.backward()

    trace = recorded(program)
    ids = {n.name or n.op: n.id for n in trace.nodes}
    end = max(f.index for f in trace.frames if f.run == 1)
    begin = trace.frames[end + 1]
    assert begin.event == "seed" and begin.run == 2
    assert (trace.states(end)[ids["add"]], trace.states(begin.index)[ids["add"]]) == (
        "freed",
        "none",
    )
    assert trace.states(begin.index)[ids["v"]] == "accumulated", (
        ".grad holds what the first pass gave"
    )
    assert told(trace) == told(trace, end)


def test_two_losses_that_share_a_trunk():
    def program():
        x = torch.tensor(2.0, requires_grad=True)
        trunk = x.exp()
        one, two = trunk * 3, trunk.sin()
        one.backward(retain_graph=True)
        two.backward()

    trace = recorded(program)
    ends = [max(f.index for f in trace.frames if f.run == run) for run in (1, 2)]
    assert [told(trace, end)["two"] for end in ends] == ["never", "freed"]
    assert [told(trace, end)["one"] for end in ends] == ["freed", "freed"]
    assert whys(trace, 1)["two"] == "one does not depend on it"
    begin = next(f.index for f in trace.frames if f.run == 2)
    assert told(trace, begin)["trunk"] == "none" and told(trace, begin)["one"] == "freed"


def test_what_an_error_left_unfinished_begins_anew():
    def program():
        x = torch.tensor(2.0, requires_grad=True)
        y = x.exp()
        y.register_hook(lambda g: 1 / 0)
        z = y * 2 + x
        try:
            z.backward()
        except ZeroDivisionError:
            pass
        (x * 5).backward()

    trace = recorded(program)
    end = max(f.index for f in trace.frames if f.run == 1)
    assert trace.frames[end].event == "error"
    assert told(trace, end)["x"] == "contribution" and told(trace)["x"] == "accumulated"
    assert next(n for n in trace.nodes if n.name == "x").grad.data == 5.0
    begin = next(f.index for f in trace.frames if f.run == 2)
    assert told(trace, begin)["x"] == "none", "nobody has the contribution of the failed pass"
    assert told(trace)["y"] == "never"


def test_a_pass_inside_a_hook_belongs_to_the_pass_around_it():
    def program():
        x = torch.tensor(2.0, requires_grad=True)
        other = torch.tensor(4.0, requires_grad=True)
        y = x * 3

        def inner(grad):
            with torch.enable_grad():
                (other * other).backward()

        y.register_hook(inner)
        (y * 2).backward()

    trace = recorded(program)
    assert len(trace.passes) == 1
    assert (told(trace)["x"], told(trace)["other"]) == ("accumulated", "accumulated")


def test_transforms_return_gradients_without_a_name():
    def program():
        p = torch.tensor(3.0)
        slope = torch.func.grad(lambda t: t**2)(p)
        assert slope.item() == 6.0
        rows = autograd.functional.jacobian(lambda t: t * 2, torch.tensor([1.0, 2.0]))
        assert rows.shape == (2, 2)

    trace = recorded(program)
    assert returns(trace) and {name for _, name, *_ in returns(trace)} == {""}
    assert all(f.text.startswith("grad() returns ") for f in trace.frames if f.event == "return")


# -- whatever was done -----------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(40))
def test_states_agree_with_what_happened(seed):
    trace = trace_stories.recorded(seed)
    begun = {
        run: min(f.index for f in trace.frames if f.run == run)
        for run in {f.run for f in trace.frames} - {0}
    }
    for frame in trace.frames:
        states = trace.states(frame.index)
        assert {n: bool(trace.why_never(n, frame.index)) for n in states} == {
            n: s == "never" for n, s in states.items()
        }
    if not trace.frames or not begun:
        return
    states, whole = (
        trace.states(len(trace.frames) - 1),
        all(f.event != "error" for f in trace.frames),
    )
    for node in trace.nodes:
        if node.kind == "leaf" and states[node.id] in ("accumulated", "zero"):
            assert node.grad is not None, f"{node.label} holds a gradient"
        if node.kind == "op" and whole and "retain_grad" not in trace_stories.source(seed):
            assert states[node.id] not in ("accumulated", "contribution"), (
                f"{node.label} does not hold its gradient"
            )
    for p in trace.passes:
        if p.run not in begun:
            continue
        end = max(f.index for f in trace.frames if f.run == p.run and f.event != "clear")
        if trace.frames[end].event == "error":
            continue
        first, last = trace.states(begun[p.run]), trace.states(end)
        there = {n for n in first if first[n] != "none"} | set(p.never)
        assert "never" not in {
            last[f.receiver] for f in trace.frames if f.run == p.run and f.event == "accumulate"
        }
        for f in trace.frames:
            if f.run == p.run and f.event in ("seed", "contribution") and f.state != "never":
                assert last[f.receiver] not in ("none", "never"), (
                    "what got a gradient has not got none"
                )
        assert not [trace.node(n).label for n in there if last[n] == "none"], (
            "not yet, although it is over"
        )


# -- rehearsed -------------------------------------------------------------------------------------------
def test_a_rehearsal_is_told_in_the_conditional():
    p, q = torch.tensor(2.0, requires_grad=True), torch.tensor(5.0)
    q.requires_grad_(True)
    q.grad = torch.tensor(1.0)
    r = p * q + p
    trace = trace_of(r, namespace={"p": p, "q": q, "r": r})
    told_back = [f.text for f in trace.frames if f.phase == "backward"]
    assert told_back == [
        "backward would start: the gradient of r with respect to itself is 1",
        "r would send 1 to v1",
        "r would send 1 to p (contribution 1 of 2, so far 1)",
        "v1 would send 5 to p (contribution 2 of 2, so far 6)",
        "v1 would send 2 to q",
        "p.grad would become 6",
        "q.grad would become 3: 2 would be added to what it holds",
        "v1 would be done: what it saved (self, other) would be freed, and with it its gradient",
    ]
    text = str(trace).split("Steps\n")[1]
    assert (
        text.startswith("Rehearsed: this is what backward() would do now")
        and "rehearsed 1" in text
        and "backward 1" not in text
    )
    assert text.count("Rehearsed:") == 1
    with torch.record() as recording:
        r.backward()
    happened = [f.text for f in recording.trace().frames if f.phase == "backward"]
    assert len(happened) == len(told_back) and not [t for t in happened if "would" in t]


def test_words_of_states():
    from autolab.trace.model import GRAD_STATES
    from autolab.trace.captions.sentences import STATE_WORDS, state_word
    from autolab.viz import palette

    assert set(STATE_WORDS) == set(GRAD_STATES)
    assert (
        state_word("returned", "dw") == "returned as dw"
        and state_word("returned") == "returned by grad()"
    )
    assert (state_word("freed"), state_word("freed", rehearsed=True)) == ("freed", "would be freed")
    would = [would for happened, would in STATE_WORDS.values() if would != happened]
    assert all("would be" in words for words in would)
    looks = [(kind, paper, ink) for kind, paper, ink, _ in palette.PATTERNS.values()]
    assert len(set(looks)) == len(looks) and set(palette.PATTERNS) < set(GRAD_STATES)


def test_what_retain_grad_keeps_adds_up_over_passes_as_in_pytorch():
    for library in (torch, pytest.importorskip("torch")):
        x = library.tensor([1.0, 2.0], requires_grad=True)
        y = x * 3
        y.retain_grad()
        z = (y * y).sum()
        if library is torch:
            with torch.record() as recording:
                z.backward(retain_graph=True)
                z.backward(retain_graph=True)
            found = recording.trace()
            kept = [
                f
                for f in found.frames
                if f.event == "accumulate" and found.node(f.node).name == "y"
            ]
            assert [(f.run, f.value.data, f.total.data) for f in kept] == [
                (2, [6.0, 12.0], [12.0, 24.0])
            ]
            assert kept[0].text == "y.grad is now [12, 24]: [6, 12] was added to what it held"
            node = found.node(kept[0].node)
            last = [f for f in found.frames if f.receiver == node.id and f.total is not None][-1]
            assert (
                last.total == node.grad
                and found.states(len(found.frames) - 1)[node.id] == "accumulated"
            )
        else:
            z.backward(retain_graph=True)
            z.backward(retain_graph=True)
        assert y.grad.tolist() == [12.0, 24.0]
        found = trace_of(z, namespace={"y": y})
        would = next(
            f for f in found.frames if f.event == "accumulate" and found.node(f.node).name == "y"
        )
        assert would.text == "y.grad would become [18, 36]: [6, 12] would be added to what it holds"
        assert y.grad.tolist() == [12.0, 24.0]


def test_a_reentrant_checkpoint_is_not_rehearsed_and_what_it_uses_is_not_denied():
    pytorch = pytest.importorskip("torch")
    from torch.utils.checkpoint import checkpoint

    x, w = (pytorch.tensor(v, requires_grad=True) for v in (2.0, 3.0))
    y = checkpoint(lambda x: pytorch.tanh(x * w), x, use_reentrant=True)
    found = trace_of(y)
    assert (
        "checkpoint(use_reentrant=True)" in found.meta["why"]
        and "use_reentrant=False" in found.meta["why"]
    )
    assert (x.grad, w.grad) == (None, None) and all(f.phase == "forward" for f in found.frames)
    with pytest.warns(UserWarning, match="use_reentrant"), torch.record() as recording:
        known = w * 1
        y = checkpoint(lambda x: pytorch.tanh(x * w), x, use_reentrant=True)
        y.backward()
    recorded = recording.trace()
    why = next(p.never[n.id] for p in recorded.passes for n in recorded.nodes if n.name == "w")
    assert "depend" not in why and "may use it all the same" in why and known.requires_grad


def test_a_custom_function_of_pytorch_with_a_number_first_is_rehearsed():
    pytorch = pytest.importorskip("torch")

    class Scaled(pytorch.autograd.Function):
        @staticmethod
        def forward(ctx, factor, x):
            ctx.factor = factor
            return factor * x

        @staticmethod
        def backward(ctx, grad):
            return None, ctx.factor * grad

    x = pytorch.tensor(2.0, requires_grad=True)
    y = Scaled.apply(2.5, x)
    assert "y would send 2.5 to x" in [f.text for f in trace_of(y).frames]
