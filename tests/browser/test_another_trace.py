"""The explorer's script in a page of its own, with a host that does what a notebook's may: tell of changes in any
order, show nothing yet."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lab import script_says
from playwright.sync_api import Page

import autolab.widgets
import autolab as torch
from autolab.widgets import Explorer, explore

# (m, states, order): shows the first state, then sets the second at once and tells of what changed in that order.
SHOW = """async (m, [first, second], order, hidden) => {
  const listeners = new Map(), state = { ...first };
  const model = {
    get: (name) => state[name], set: (name, value) => { state[name] = value; }, save_changes() {}, send() {},
    on: (name, f) => listeners.set(name, [...(listeners.get(name) ?? []), f]),
    off: (name, f) => listeners.set(name, (listeners.get(name) ?? []).filter((other) => other !== f)),
  };
  const tell = (name) => { for (const f of listeners.get(`change:${name}`) ?? []) f(); };
  const el = document.body.appendChild(document.createElement("div"));
  if (hidden) el.style.display = "none";
  m.default.render({ model, el });
  Object.assign(state, second);
  for (const name of order) tell(name);
  await new Promise((done) => setTimeout(done, 50));
  const cards = [...el.shadowRoot.querySelectorAll(".al-node")].map((card) => card.getAttribute("aria-label"));
  el.remove();
  return cards;
}"""


EXPLORER = Path(autolab.widgets.__file__).parent / "static" / "explorer.js"

EVERYTHING = (
    "data", "folding", "formulas", "expanded", "dimmed", "step", "selected", "playing", "interval", "live",
    "rankdir",
)  # fmt: skip


def state_of(widget: Explorer) -> dict[str, Any]:
    return json.loads(json.dumps({name: getattr(widget, name) for name in EVERYTHING}))


def small() -> Explorer:
    x = torch.tensor(2.0, requires_grad=True)
    return explore(x + 1)


def large() -> Explorer:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x.exp() * x).sigmoid()
    return explore((y * y).sum())


@pytest.mark.parametrize("order", [EVERYTHING, EVERYTHING[::-1], ("step", "data", "dimmed")])
def test_another_trace_may_arrive_in_any_order(page: Page, order: tuple[str, ...]) -> None:
    first, second = small(), large()
    cards = {
        first: ["x", "x + 1"],
        second: ["x", "exp(x)", "exp(x) · x", "y", "y · y", "sum(y · y)"],
    }
    second.step = 5
    for now, then in ((first, second), (second, first)):
        shown = script_says(
            page, SHOW, [state_of(now), state_of(then)], order, False, script=EXPLORER
        )
        assert [label.partition(",")[0] for label in shown] == cards[then]


def test_words_of_a_graph_that_is_not_on_display_do_no_harm(page: Page) -> None:
    """JupyterLab hides the cells that are scrolled out of sight; the page complains of nothing."""
    widget = large()
    for frame in widget.trace.frames:
        widget.step = frame.index
        assert script_says(page, SHOW, [state_of(widget), {}], ("step",), True, script=EXPLORER)
