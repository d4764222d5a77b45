"""Gradient states as the page has them: the same as Python's after every step, and seen in words, colours and patterns."""

from __future__ import annotations

import json

import trace_stories
from lab import learners_trace, script_says
from playwright.sync_api import Page
from zoo import CASES, recorded

from autolab.trace import Trace
from autolab.widgets.packing import columns, pack

EVERYTHING = """(m, stories) => stories.map((data) => {
  const trace = m.unpack(data), line = m.timelineOf(trace), all = [...trace.frames.keys()];
  const each = (find) => all.map((i) => Object.fromEntries(trace.nodes.map(({ id }) => [id, find(id, i)])));
  return {
    states: [-1, ...all].map((i) => m.statesAt(trace, i)),
    whys: each((id, i) => line.whyNever(id, i)),
    gradients: each((id, i) => line.gradient(id, i)),
    names: each((id, i) => line.returnedAs(id, i)),
  };
})"""


def gradients(trace: Trace) -> list[dict[str, object]]:
    """What each node holds after each frame, worked out from the definition: the last total that is not gone."""
    held = {n.id: n.grad_before for n in trace.nodes}
    grads, run, found = dict(held), 0, []
    passes = {p.run: p for p in trace.passes}
    for frame in trace.frames:
        if frame.run > run:
            run = frame.run
            for node in passes[run].fresh if run in passes else ():
                grads[node] = held[node] if trace.node(node).kind != "op" or trace.node(node).grad is None else grads[node]
        grads |= dict.fromkeys(frame.dropped)
        if frame.receiver is not None and not (frame.event == "free" and frame.state != "freed"):
            grads[frame.receiver] = None if frame.state in ("none", "never", "freed") else frame.total
            if frame.event in ("accumulate", "clear"):
                held[frame.receiver] = grads[frame.receiver]
        found.append({n: None if g is None else json.loads(json.dumps(g.to_json())) for n, g in grads.items()})
    return found


def test_the_script_says_what_python_says(page: Page) -> None:
    traces = [learners_trace(), *(recorded(case).trace() for case in CASES), *map(trace_stories.recorded, range(40))]
    assert {f.state for t in traces for f in t.frames} >= {"zero", "never", "contribution", "accumulated", "returned", "freed"}
    given = [json.loads(json.dumps(pack(t))) for t in traces]
    big = [json.loads(json.dumps(columns(t))) for t in traces]
    names = "statesAt, timelineOf, unpack"
    for numbers, stories in ((True, given), (False, big)):
        for trace, said in zip(traces, script_says(page, "explorer", names, EVERYTHING, stories), strict=True):
            if numbers or not any(n.grad_before or (n.kind == "op" and n.grad) for n in trace.nodes):
                assert said["states"] == [trace.states(i) for i in range(-1, len(trace.frames))]
                assert said["whys"] == [{n.id: trace.why_never(n.id, f.index) for n in trace.nodes} for f in trace.frames]
            if numbers:
                assert said["gradients"] == gradients(trace)
            for frame in trace.frames:
                if frame.event == "return" and frame.state == "returned":
                    assert said["names"][frame.index][frame.receiver] == frame.name
