"""The switches of a freeze panel on an exported page: what they say there is what the kernel would say."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lab import Explorer, Panel, script_says
from playwright.sync_api import Page, expect
from zoo import convolutions

import autolab
from autolab.viz import html
from autolab.widgets import FreezePanel

REHEARSE = """(m, state, messages) => {
    const model = { get: (name) => state[name], set: (name, value) => (state[name] = value) };
    const rehearsal = new m.Rehearsal(model);
    return messages.map((message) => {
        rehearsal.answer(message);
        return JSON.parse(JSON.stringify([state.trainable, state.modes, state.data]));
    });
}"""


def of_a_loss(frozen: str = "") -> FreezePanel:
    """A graph that was made while a layer was frozen; Adam without some of the layers."""
    torch, nn = autolab, autolab.nn
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
    if frozen:
        model.get_submodule(frozen).requires_grad_(False)
    return FreezePanel(
        model,
        torch.optim.Adam(model[2].parameters(), amsgrad=True),
        loss=model(torch.ones(2, 3)).sum(),
    )


def half_frozen() -> FreezePanel:
    return of_a_loss("2")


MAKERS = [
    convolutions,
    of_a_loss,
    half_frozen,
]


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_page_and_kernel_answer_alike(page: Page, make: Callable[[], FreezePanel]) -> None:
    panel, chance = make(), random.Random(1)
    paths = [row["path"] for row in panel.data["rows"]]
    state = json.loads(
        json.dumps(
            {
                k: v
                for k, v in panel.export_state().items()
                if k in ("trainable", "modes", "data", "facts")
            }
        )
    )
    messages: list[dict[str, Any]] = [
        {"kind": "preset", "name": name} for name in ("None", "Head only", "All")
    ]
    for _ in range(40):
        kind = chance.choice(["trainable", "trainable", "mode", "from", "preset"])
        values = {"trainable": [True, False], "mode": ["train", "eval"]}.get(kind, [None])
        name = chance.choice(["Head only", "All", "None"])
        messages.append(
            {
                "kind": kind,
                "path": chance.choice(paths),
                "value": chance.choice(values),
                "name": name,
            }
        )
    theirs = script_says(page, REHEARSE, state, messages)
    seen = set()
    for message, said in zip(messages, theirs, strict=True):
        panel._answer(message)
        ours = json.loads(json.dumps([panel.trainable, panel.modes, panel.data]))
        assert said == ours, message
        seen |= {w["kind"] for w in panel.data["warnings"]} | {
            panel.data["end"],
            panel.data["stale"],
        }
    assert len(seen) > 4, "the switches said different things"


@pytest.mark.parametrize(
    "page_options", [{"viewport": {"width": 1366, "height": 768}}], indirect=True
)
def test_the_graph_on_the_same_page_is_marked(page: Page, tmp_path: Path) -> None:
    panel = convolutions()
    explorer = panel.explorer
    (tmp_path / "both.html").write_text(html.page([panel, explorer]), encoding="utf-8")
    page.goto((tmp_path / "both.html").as_uri())
    shown, graph = Panel(page), Explorer(page)
    expect(shown.root).to_contain_text(
        "There is no network behind this page: the switches show what freezing would do."
    )
    expect(graph.graph).to_be_visible()
    graph.choose("Search")
    graph.button("Expand all").click()
    card = graph.graph.get_by_role("button", name=re.compile(r"^0\.0, Conv2d, "))
    expect(card).to_be_attached(timeout=20_000)
    shown.switch("0: trainable").click()
    expect(shown.switch("0: trainable")).to_have_attribute("aria-checked", "false")
    expect(shown.reach).to_contain_text("Backward ends at layer 2, the last it reaches.")
    expect(shown.root.get_by_role("status")).to_contain_text("Backward ends at layer 2")
    frozen = re.compile(r"0\.0\.weight \[4, 1, 3, 3\], gradient never: it is frozen now;")
    expect(card).to_have_attribute("aria-label", frozen)
    expect(graph.node("c1")).not_to_have_attribute("aria-label", re.compile("frozen"))
    expect(shown.button("Run forward again")).to_have_count(0)
    panel._answer({"kind": "trainable", "path": "0", "value": False})
    assert page.evaluate("Object.values(autolabModels).at(-1).get('dimmed')") == explorer.dimmed
    assert page.evaluate("Object.values(autolabModels).at(-1).get('selected')") == explorer.selected
    shown.button("All").click()
    expect(card).not_to_have_attribute("aria-label", frozen)
