"""The cards that a page draws by itself against those of the kernel."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lab import learners_trace, script_says
from playwright.sync_api import Page
from zoo import CASES, recorded

import autolab as torch
from autolab.trace import trace
from autolab.trace.layers.folding import Folding
from autolab.trace.model import Trace
from autolab.widgets.packing import pack
from autolab.widgets.cards import Header
from autolab.widgets.picture import Cards

DRAW = """(m, data, packed, rankdir) => {
    const trace = m.unpack(data), cards = new m.Cards(trace, new m.Folding(trace, packed, rankdir));
    const all = (ids, of) => Object.fromEntries(ids.map((id) => [id, (({ width, height, markup }) => [width, height, markup])(of(id))]));
    const parts = packed.parts.map(({ id }) => id);
    return [all([...parts, ...trace.nodes.map(({ id }) => id)], (id) => cards.of(id)), all(parts, (id) => cards.header(id))];
}"""


def lenet() -> Trace:
    torch.manual_seed(0)
    nn = torch.nn
    features = nn.Sequential(nn.Conv2d(1, 6, 5), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2))
    model = nn.Sequential(features, nn.Flatten(), nn.Linear(864, 10))
    return trace(
        nn.functional.cross_entropy(model(torch.randn(2, 1, 28, 28)), torch.tensor([0, 1]))
    )


def chain() -> Trace:
    w, h = torch.tensor(0.5, requires_grad=True), torch.tensor(1.0, requires_grad=True)
    for i in range(150):
        h = (h * w).tanh() if i % 3 else h + w
    return trace(h)


def hostile() -> Trace:
    """Names of every kind of letter, several saved tensors, a shared layer, a copy to another device."""
    names = {
        "a<b>&\"'": torch.ones(3, requires_grad=True),
        "gewicht_für_ÄÖÜ_🌲_und_sehr_lang": torch.tensor(-1e-30, requires_grad=True),
    }
    one, other = names.values()
    layer = torch.nn.Linear(3, 3)
    with torch.record() as recording:
        far = layer(layer(one * other)).to("sim").cpu()
        scaled = torch.nn.functional.layer_norm(far, (3,), layer.weight[0], layer.bias)
        (
            torch.where(scaled > 0, scaled, one).cumprod(0).sum()
            * torch.tensor([[float("nan")] * 8] * 8)
        ).sum().backward()
    return recording.trace()


@pytest.mark.parametrize("rankdir", ["LR", "TB"])
@pytest.mark.parametrize(
    "make", [learners_trace, lenet, chain, hostile, *CASES], ids=lambda make: make.__name__
)
def test_script_and_kernel_draw_the_same_cards(page: Page, make: Any, rankdir: str) -> None:
    seen = recorded(make).trace() if make in CASES else make()
    folding = Folding(seen)
    cards = Cards(seen, folding, rankdir == "TB" and folding.network)
    ids = [*folding.parts, *(node.id for node in seen.nodes)]
    ours = [{of: [c.width, c.height, c.draw()] for of, c in drawn.items()}
            for drawn in ({of: cards(of) for of in ids}, {of: Header(part) for of, part in folding.parts.items()})]  # fmt: skip
    data, packed = json.loads(json.dumps([pack(seen), folding.to_json()]))
    theirs = script_says(page, DRAW, data, packed, rankdir)
    assert theirs == ours


def test_a_letter_is_as_wide_in_both(page: Page) -> None:
    from autolab.widgets.svg import fit, text_width

    texts = ["".join(map(chr, range(32, 127))), "𝄞é—", "", "conv1.weight", "a" * 60]
    said = script_says(
        page,
        "(m, texts) => texts.map((t) => [m.widthOf(t, 13), m.widthOf(t, 15, true), m.cut(t, 13, 120), m.cut(t, 15, 120, true)])",
        texts,
    )
    assert said == [
        [text_width(t, 13), text_width(t, 15, True), fit(t, 13, 120), fit(t, 15, 120, True)]
        for t in texts
    ]
