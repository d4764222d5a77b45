"""The freeze panel's numbers, switches, warnings and its reading of the graph, with both libraries' modules."""

import asyncio
import json
import re
import threading
import xml.etree.ElementTree as ET

import pytest
import traitlets

import autolab
from autolab.widgets import FreezePanel
from autolab.widgets import frozen as facts
from autolab.widgets.explorer import explore
from autolab.widgets.freeze import subtree


@pytest.fixture(params=["autolab", "torch"])
def lib(request):
    library = autolab if request.param == "autolab" else pytest.importorskip("torch")
    library.manual_seed(0)
    return library


def small(lib):
    """Return a network 3 -> 5 -> 4 -> 2 with 62 parameters: Linear 20 and 24, BatchNorm 8, Linear 10."""
    nn = lib.nn
    return nn.Sequential(
        nn.Linear(3, 5),
        nn.ReLU(),
        nn.Linear(5, 4),
        nn.BatchNorm1d(4),
        nn.Dropout(0.5),
        nn.Linear(4, 2),
    )


def loss_of(lib, model):
    x, y = lib.randn(6, 3), lib.tensor([0, 1, 0, 1, 1, 0])
    return lambda: lib.nn.functional.cross_entropy(model(x), y)


def kinds(panel):
    return {w["kind"]: w["path"] for w in panel.data["warnings"]}


# -- switches ----------------------------------------------------------------------------------------------------------
def test_switches_set_requires_grad_and_modes(lib):
    model = small(lib)
    panel = FreezePanel(model)
    assert panel.trainable == {"0": True, "2": True, "3": True, "5": True} and panel.modes == {
        "3": "train",
        "4": "train",
    }
    panel.trainable = {"0": False}
    assert [p.requires_grad for p in model.parameters()] == [False, False] + [True] * 6
    panel.trainable = ["5"]
    assert panel.trainable == {"0": False, "2": False, "3": False, "5": True}
    assert [p.requires_grad for p in model.parameters()] == [False] * 6 + [True] * 2
    panel.modes = {"3": "eval"}
    assert (model[3].training, model[4].training, model.training) == (False, True, True)
    panel.modes = {"": "eval"}
    assert (model[3].training, model[4].training, model.training) == (False, False, True), (
        "only what differs by mode"
    )


def test_presets(lib):
    panel = FreezePanel(small(lib))
    panel.preset("Head only")
    assert panel.trainable == {"0": False, "2": False, "3": False, "5": True} and panel.head == "5"
    panel.from_layer("3")
    assert panel.trainable == {"0": False, "2": False, "3": True, "5": True}
    panel.preset("None")
    assert set(panel.trainable.values()) == {False}
    panel.preset("All")
    assert set(panel.trainable.values()) == {True}
    with pytest.raises(ValueError, match="preset must be one of Head only, All, None; got 'Half'"):
        panel.preset("Half")


class Nested(autolab.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = autolab.nn.Parameter(autolab.ones(1))
        self.body = autolab.nn.Sequential(
            autolab.nn.Linear(2, 2), autolab.nn.Sequential(autolab.nn.Linear(2, 2))
        )
        self.count = autolab.nn.Parameter(autolab.tensor([1]), requires_grad=False)
        self.fc = autolab.nn.Linear(2, 1)

    def forward(self, x):
        return self.fc(self.body(x)) * self.scale


def test_the_path_that_says_most_wins_and_mixed_is_left_alone():
    model = Nested()
    panel = FreezePanel(model)
    panel.trainable = {"": False, "body": True, "body.1": False}
    assert panel.trainable == {"": False, "body.0": True, "body.1.0": False, "fc": False}
    assert [subtree(panel.trainable, p) for p in ("", "body", "body.1", "fc", "none")] == [
        "mixed",
        "mixed",
        False,
        False,
        None,
    ]
    model.fc.bias.requires_grad_(True)
    panel.refresh()
    assert panel.trainable["fc"] == "mixed" and not model.fc.weight.requires_grad
    panel.trainable = dict(panel.trainable) | {"body.0": False}
    assert model.fc.bias.requires_grad and not model.fc.weight.requires_grad
    assert [row["parameters"] for row in panel.data["rows"]] == [16, 12, 6, 6, 6, 3], (
        "whole numbers are not trained"
    )


def test_apply_puts_back_what_a_training_loop_changed(lib):
    model = small(lib)
    panel = FreezePanel(model)
    panel.trainable, panel.modes = ["5"], {"3": "eval"}
    model.train().requires_grad_(True)
    panel.apply()
    assert (
        not model[3].training
        and model[4].training
        and [p.requires_grad for p in model.parameters()].count(True) == 2
    )


@pytest.mark.parametrize(
    ("trait", "value", "words"),
    [
        (
            "trainable",
            {"0": False, "fc9": True},
            "there is no layer 'fc9'; there are, for example,",
        ),
        ("trainable", ["layer"], "there is no layer 'layer'"),
        ("trainable", {"0": "no"}, "True, False or \"mixed\" for each path, not 'no'"),
        ("modes", {"3": "eval", "4": "test"}, '"train" or "eval" for each path, not \'test\''),
        ("modes", {"3": "eval", "norm": "eval"}, "there is no layer 'norm'"),
    ],
)
def test_a_wrong_setting_changes_nothing(trait, value, words):
    model = small(autolab)
    panel = FreezePanel(model)
    with pytest.raises(traitlets.TraitError, match=re.escape(words)):
        setattr(panel, trait, value)
    assert all(p.requires_grad for p in model.parameters()) and model[3].training
    assert set(panel.trainable.values()) == {True} and set(panel.modes.values()) == {"train"}


def test_what_is_no_module_is_refused():
    with pytest.raises(
        TypeError, match="model must be an nn.Module of autolab or PyTorch, got list"
    ):
        FreezePanel([1, 2])
    with pytest.raises(TypeError, match="explorer must be an Explorer"):
        FreezePanel(small(autolab), explorer="e")
    with pytest.raises(TypeError, match="forward must be a function"):
        FreezePanel(small(autolab), forward=3)
    with pytest.raises(
        TypeError, match=r"forward\(\) must return the loss, a tensor; it returned float"
    ):
        FreezePanel(small(autolab), forward=lambda: 1.0)
    with pytest.raises(RuntimeError, match="there is no graph"):
        _ = FreezePanel(small(autolab)).explorer


# -- what it costs -----------------------------------------------------------------------------------------------------
OPTIMIZERS = [
    ("SGD", {"lr": 0.1}, 0), ("SGD", {"lr": 0.1, "momentum": 0.9}, 1), ("Adam", {}, 2), ("Adam", {"amsgrad": True}, 3),
    ("AdamW", {}, 2), ("RMSprop", {}, 1), ("RMSprop", {"momentum": 0.9, "centered": True}, 3), ("Adagrad", {}, 1),
]  # fmt: skip
ONLY_PYTORCH = [
    ("NAdam", {}, 2), ("RAdam", {}, 2), ("Adamax", {}, 2), ("Adadelta", {}, 2), ("Rprop", {}, 2), ("ASGD", {}, 1),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options", "copies"), OPTIMIZERS)
def test_predicted_state_is_what_the_optimizer_then_holds(lib, name, options, copies):
    check_state(lib, name, options, copies)


@pytest.mark.parametrize(("name", "options", "copies"), ONLY_PYTORCH)
def test_predicted_state_of_pytorchs_other_optimizers(name, options, copies):
    check_state(pytest.importorskip("torch"), name, options, copies)


def check_state(lib, name, options, copies):
    model = small(lib)
    optimizer = getattr(lib.optim, name)(model.parameters(), **options)
    found = facts.layers(model)
    predicted = [
        facts.state_bytes(optimizer, optimizer.param_groups[0], p) for p in model.parameters()
    ]
    loss_of(lib, model)().backward()
    optimizer.step()
    assert predicted == [facts.held_bytes(optimizer, p) for p in model.parameters()]
    assert copies * 248 <= sum(predicted) <= copies * 248 + 8 * 12, (
        "62 numbers of 4 bytes; 8 parameters with a few scalars"
    )
    assert facts.costs(found, optimizer)["state"] == sum(predicted)


def test_bytes_of_gradients_and_state(lib):
    model = small(lib)
    optimizer = lib.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    panel = FreezePanel(model, optimizer)
    panel.trainable = ["5"]
    expected = {"trainable": 10, "frozen": 52, "gradients": 40, "gradients_saved": 208}
    assert panel.report["costs"] == expected | {"state": 40, "state_saved": 208, "state_left": 0}
    panel.preset("All")
    loss_of(lib, model)().backward()
    optimizer.step()
    panel.trainable = {"0": False}
    assert panel.report["costs"] == {
        "trainable": 42, "frozen": 20, "gradients": 168, "gradients_saved": 80, "state": 168, "state_saved": 0, "state_left": 80,
    }  # fmt: skip
    assert panel.data["costs"] == [
        ["Trainable", "42 parameters (67.7% of 62)"],
        ["Frozen", "20 parameters"],
        ["Gradients", "168 B; freezing saves 80 B"],
        ["SGD state", "168 B; freezing saves 0 B; 80 B are still held for frozen parameters"],
    ]


def test_the_state_of_an_unknown_optimizer_is_not_made_up():
    class Strange:
        def __init__(self, parameters):
            self.param_groups, self.state = [{"params": list(parameters)}], {}

    model = small(autolab)
    panel = FreezePanel(model, Strange(model.parameters()))
    assert panel.report["costs"]["state"] is None
    assert panel.data["costs"][-1] == ["Strange state", "not known before its first step"]


# -- traps -------------------------------------------------------------------------------------------------------------
def test_a_frozen_weight_with_a_gradient_left_over_really_moves(lib):
    model = small(lib)
    optimizer = lib.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    panel, loss = FreezePanel(model, optimizer), loss_of(lib, model)
    loss().backward()
    panel.trainable = {"0": False}
    assert (
        kinds(panel) == {"stale_gradient": "0"}
        and "a gradient from before is left" in panel.data["warnings"][0]["text"]
    )
    before = model[0].weight.detach().clone()
    optimizer.step()
    assert (model[0].weight != before).any(), "what it warned of"

    optimizer.zero_grad(set_to_none=False)
    panel.refresh()
    assert "the momentum of earlier steps goes on" in panel.data["warnings"][0]["text"]
    before = model[0].weight.detach().clone()
    optimizer.step()
    assert (model[0].weight != before).any(), "what it warned of"

    optimizer.zero_grad()
    panel.refresh()
    assert kinds(panel) == {}
    before = model[0].weight.detach().clone()
    optimizer.step()
    assert (model[0].weight == before).all()


def test_weight_decay_moves_a_frozen_weight_whose_gradient_is_zero(lib):
    model = small(lib)
    for decay, expected in ((0.1, {"stale_gradient": "0"}), (0.0, {})):
        optimizer = lib.optim.SGD(model.parameters(), lr=0.1, weight_decay=decay)
        for p in model.parameters():
            p.grad = lib.zeros_like(p)
        panel = FreezePanel(model, optimizer)
        panel.trainable = {"0": False}
        assert kinds(panel) == expected
        before = model[0].weight.detach().clone()
        optimizer.step()
        assert bool((model[0].weight != before).any()) is bool(decay)


def test_what_the_optimizer_does_not_know(lib):
    model = small(lib)
    model[0].requires_grad_(False)
    optimizer = lib.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    panel = FreezePanel(model, optimizer)
    assert kinds(panel) == {}
    panel.preset("All")
    assert kinds(panel) == {"not_in_optimizer": "0"}
    model[5] = lib.nn.Linear(4, 3)
    panel = FreezePanel(model, optimizer)
    assert kinds(panel) == {"not_in_optimizer": "0", "foreign_parameters": ""}
    assert "layers 0, 5:" in panel.data["warnings"][0]["text"].lower()
    assert "holds 2 parameters that are not in this network" in panel.data["warnings"][1]["text"]


def test_frozen_head_and_everything_frozen(lib):
    model = small(lib)
    panel = FreezePanel(model)
    panel.trainable = ["0", "2", "3"]
    assert kinds(panel) == {"frozen_head": "5"}
    panel.preset("None")
    assert kinds(panel)["all_frozen"] == ""
    with pytest.raises(RuntimeError) as error:
        loss_of(lib, model)().backward()
    quoted = re.search("“(.*)”", panel.data["warnings"][0]["text"])
    assert quoted and str(error.value).startswith(quoted[1])
    assert FreezePanel(model, head="0").head == "0"


def test_frozen_weights_are_not_frozen_statistics(lib):
    model = small(lib)
    panel = FreezePanel(model)
    panel.trainable = ["5"]
    assert kinds(panel)["statistics_move"] == "3"
    before = model[3].running_mean.clone()
    loss_of(lib, model)()
    assert (model[3].running_mean != before).any(), "what it warned of"
    panel.modes = {"3": "eval"}
    assert "statistics_move" not in kinds(panel)
    before = model[3].running_mean.clone()
    loss_of(lib, model)()
    assert (model[3].running_mean == before).all()
    panel.trainable = {"3": True}
    assert {w["kind"]: w["tone"] for w in panel.data["warnings"]} == {"statistics_fixed": "note"}
    assert repr(panel) == "FreezePanel(Sequential: 18 trainable, 44 frozen, no warnings)"


def test_dropout_within_the_frozen_part(lib):
    nn = lib.nn
    model = nn.Sequential(
        nn.Linear(2, 2), nn.Dropout(0.5), nn.Linear(2, 2), nn.Dropout(0.5), nn.Linear(2, 2)
    )
    panel = FreezePanel(model)
    panel.trainable = ["4"]
    assert kinds(panel) == {"dropout_active": "1"}, "the one before the head belongs to the head"
    panel.modes = {"1": "eval"}
    assert kinds(panel) == {}


# -- where backward stops ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("trained", "end", "unvisited", "passed", "visited", "op"),
    [
        (["0", "2", "3", "5"], "0", (), (), 11, "addmm"),
        (["0"], "0", (), ("2", "3", "5"), 9, "addmm"),
        (["2", "5"], "2", ("0",), ("3",), 8, "addmm"),
        (["3"], "3", ("0", "2"), ("5",), 5, "native_batch_norm"),
        (["5"], "5", ("0", "2", "3"), (), 4, "addmm"),
    ],
)
def test_where_backward_stops(lib, trained, end, unvisited, passed, visited, op):
    model = small(lib)
    forward = loss_of(lib, model)
    panel = FreezePanel(model, forward=forward)
    panel.trainable = trained
    reach = panel.report["reach"]
    assert (reach.layer, reach.unvisited, reach.passed) == (end, unvisited, passed)
    assert (reach.visited, reach.operations, reach.traced) == (visited, 11, True)
    assert panel.explorer.trace.node(reach.node).op == op
    # Compare with the graph that is made with these flags: count its nodes, without the leaves.
    nodes, level = set(), [forward().grad_fn]
    while level:
        nodes |= set(level)
        level = [
            n for node in level for n, _ in node.next_functions if n is not None and n not in nodes
        ]
    assert (
        len(
            [
                n
                for n in nodes
                if "AccumulateGrad" not in type(n).__name__ and "AccumulateGrad" not in n.name()
            ]
        )
        == visited
    )


def test_forward_disturbs_nothing(lib):
    model = small(lib)
    model[0].requires_grad_(False)
    buffers, stream = [b.clone() for b in model.buffers()], lib.get_rng_state()
    panel = FreezePanel(model, forward=loss_of(lib, model))
    lib.set_rng_state(stream)
    after = lib.rand(3)
    lib.set_rng_state(stream)
    panel.run_forward()
    assert (lib.rand(3) == after).all()
    assert all((a == b).all() for a, b in zip(buffers, model.buffers()))
    assert [p.requires_grad for p in model.parameters()] == [False] * 2 + [True] * 6
    assert all(p.grad is None for p in model.parameters())


def test_the_explorer_is_marked_and_brought_up_to_date(lib):
    model = small(lib)
    panel = FreezePanel(model, forward=loss_of(lib, model))
    explorer = panel.explorer
    whole = len(explorer.trace.frames)
    assert explorer.dimmed == [] and not panel.data["stale"]
    panel.trainable = ["5"]
    named = {n.id: n.name for n in explorer.trace.nodes}
    assert {named[i] for i in explorer.dimmed} >= {"0.weight", "0.bias", "2.weight", "3.bias"}
    assert not {named[i] for i in explorer.dimmed} & {"5.weight", "5.bias", "y"}
    assert explorer.trace.node(explorer.selected).op == "addmm"
    assert (
        "run the forward pass again" in panel.data["stale"] and len(explorer.trace.frames) == whole
    )
    panel.run_forward()
    assert (
        panel.explorer is explorer
        and panel.data["stale"] == ""
        and len(explorer.trace.frames) < whole
    )
    sent = {f.receiver for f in explorer.trace.frames if f.phase == "backward"}
    assert not sent & set(explorer.dimmed), "nothing arrives where backward does not come"
    panel.preset("All")
    assert explorer.dimmed == [], "the whole graph is known although the explorer showed a part"


def test_what_a_frozen_graph_saves_is_found_by_its_place(lib):
    model = small(lib)
    model[0].requires_grad_(False)
    trace = FreezePanel(model, forward=loss_of(lib, model)).explorer.trace
    assert trace.saved and [s.id for s in trace.saved] == [f"s{i}" for i in range(len(trace.saved))]


def test_a_loss_made_while_frozen_knows_only_a_part(lib):
    model = small(lib)
    model[0].requires_grad_(False)
    panel = FreezePanel(model, loss=loss_of(lib, model)())
    assert (
        panel.report["reach"].traced
        and panel.report["reach"].layer == "2"
        and not panel.data["forward"]
    )
    panel.preset("All")
    reach = panel.report["reach"]
    assert (reach.traced, reach.layer) == (False, "0") and panel.data["stale"]
    assert "was made while some of this was frozen" in panel.data["reach"][-1]
    with pytest.raises(RuntimeError, match="no forward= was given"):
        panel.run_forward()


def test_a_given_explorer_is_marked():
    autolab.manual_seed(0)
    model = small(autolab)
    explorer = explore(loss_of(autolab, model)(), params=dict(model.named_parameters()))
    panel = FreezePanel(model, explorer=explorer)
    panel.from_layer("3")
    assert (
        panel.explorer is explorer
        and explorer.trace.node(explorer.selected).op == "native_batch_norm"
    )
    assert len(explorer.dimmed) == 10 and panel.data["stale"]


def test_without_a_graph_it_goes_by_the_order(lib):
    panel = FreezePanel(small(lib))
    panel.trainable = ["3"]
    assert panel.data["end"] == "3" and panel.data["unvisited"] == ["0", "2"]
    assert panel.data["reach"] == [
        "Backward ends at layer 3, the last it reaches.",
        "It never visits layers 0, 2: no gradient is needed there or before.",
        "It passes through frozen layers (layer 5), because layers before them are trained.",
        "This is by the order in which the layers are registered; give loss= or forward= to see the graph.",
    ]


# -- the browser's requests, export ------------------------------------------------------------------------------------
def test_what_the_browser_asks_for():
    model = small(autolab)
    panel = FreezePanel(model, forward=loss_of(autolab, model))
    ask = lambda **content: panel._on_message(panel, content, [])
    ask(kind="trainable", path="0", value=False)
    ask(kind="mode", path="4", value="eval")
    assert panel.trainable["0"] is False and panel.modes == {"3": "train", "4": "eval"}
    ask(kind="from", path="5")
    assert panel.trainable == {"0": False, "2": False, "3": False, "5": True}
    ask(kind="forward")
    assert panel.data["stale"] == ""
    ask(kind="preset", name="All")
    ask(kind="trainable", path="gone", value=True)
    assert panel.data["error"].startswith("TraitError: there is no layer 'gone'") and set(
        panel.trainable.values()
    ) == {True}


def test_a_switch_waits_for_the_step_that_is_being_trained():
    """Kernels with subshells handle messages in another thread while this one trains."""
    model = small(autolab)

    async def scene():
        panel = FreezePanel(model)
        message = ({"kind": "preset", "name": "None"}, [])
        clicked = threading.Thread(target=panel._on_message, args=(panel, *message))
        clicked.start()
        clicked.join()
        assert all(p.requires_grad for p in model.parameters()), (
            "not before this thread has a moment"
        )
        await asyncio.sleep(0.05)
        assert (
            not any(p.requires_grad for p in model.parameters()) and panel.trainable["0"] is False
        )

    asyncio.run(scene())


def test_a_saved_notebook_and_an_exported_page(tmp_path):
    panel = FreezePanel(small(autolab))
    panel.trainable = ["5"]
    bundle = panel._repr_mimebundle_()[0]
    assert bundle["text/plain"] == (
        "FreezePanel(Sequential: 10 trainable, 52 frozen, 1 warning) is a panel with a switch for each layer: "
        "run this cell in Jupyter (Shift+Enter) to see it."
    )
    words = [
        e.text
        for e in ET.fromstring(bundle["image/svg+xml"]).iter("{http://www.w3.org/2000/svg}text")
    ]
    assert words[:3] == ["network: Sequential", "partly", "62"] and words.count("❄ frozen") == 3
    assert "Backward ends at layer 5, the last it reaches." in words
    page = panel.to_html(tmp_path / "freeze.html").read_text()
    assert '"live":false' in page and '"trainable":{"0":false,"2":false,"3":false,"5":true}' in page
    assert panel.live and len(page) < 75_000
    json.dumps(panel.data, allow_nan=False)


@pytest.mark.parametrize(
    ("trainable", "words"),
    [
        (2565, "2,565 parameters (0.02%"),
        (500_000, "500,000 parameters (4.5%"),
        (0, "0 parameters (0.0%"),
    ],
)
def test_a_small_share_is_not_nothing(trainable, words):
    cost = {
        "trainable": trainable,
        "frozen": 11_179_077 - trainable,
        "gradients": 0,
        "gradients_saved": 0,
    }
    assert facts.cost_words(cost)[0] == ["Trainable", f"{words} of 11,179,077)"]
