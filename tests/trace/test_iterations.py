"""The groups that a recording makes of a training loop's iterations."""

import re

import pytest

import autolab as torch
from autolab.trace.layers.folding import Folding

nn = torch.nn


def grouped(trace):
    """Return (path, type, labels of its operations) of each iteration."""
    return [
        (g.path, g.type, [trace.node(n).label for n in g.nodes])
        for g in trace.groups
        if g.kind == "iteration"
    ]


def sizes(trace):
    return [len(g.nodes) for g in trace.groups if g.kind == "iteration"]


@pytest.fixture
def world():
    w = torch.tensor(1.0, requires_grad=True)
    return w, torch.optim.SGD([w], lr=0.25)


@pytest.mark.parametrize("resets", ["first", "last"])
def test_what_comes_after_the_step_belongs_to_its_round(world, resets):
    w, optimizer = world
    with torch.record() as recording:
        start = w.detach() * 2
        for _ in range(3):
            if resets == "first":
                optimizer.zero_grad()
            loss = (w - 3) ** 2
            loss.backward()
            optimizer.step()
            size = loss.detach().sqrt()
            if resets == "last":
                optimizer.zero_grad()
        after = w * 10
    trace = recording.trace()
    rounds = grouped(trace)
    assert [(path, kind) for path, kind, _ in rounds] == [
        ("iteration 1", "loss = 4"),
        ("iteration 2", "loss = 1"),
        ("iteration 3", "loss = 0.25"),
    ]
    assert all(len(labels) == len(rounds[0][2]) for _, _, labels in rounds)
    assert not {"start", "after"} & {label for _, _, labels in rounds for label in labels}
    assert start is not None and size is not None and after is not None


def test_a_function_called_in_a_loop(world):
    w, optimizer = world

    def train(target):
        loss = (w - target) ** 2
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    with torch.record() as recording:
        for target in (3.0, 4.0):
            train(target)
    assert sizes(recording.trace()) == [3, 3]


def test_the_same_lines_written_out_are_no_loop(world):
    w, optimizer = world

    def train():
        ((w - 3) ** 2).backward()
        optimizer.step()

    with torch.record() as recording:
        train()
        train()
    assert grouped(recording.trace()) == []
    assert [g.label for g in recording.trace().groups] == [
        "optimizer.step()",
        "optimizer.step() (call 2)",
    ]


def test_one_round_and_loops_that_change_nothing_are_no_iterations(world):
    w, optimizer = world
    with torch.record() as recording:
        for _ in range(1):
            ((w - 3) ** 2).backward()
            optimizer.step()
    assert grouped(recording.trace()) == []
    with torch.record() as recording:
        for _ in range(3):
            ((w - 3) ** 2).backward()
    assert grouped(recording.trace()) == []


def test_gradients_that_are_accumulated_are_one_round(world):
    w, optimizer = world
    with torch.record() as recording:
        for batch in range(6):
            (w * batch).backward()
            if batch % 3 == 2:
                optimizer.step()
                optimizer.zero_grad()
    assert sizes(recording.trace()) == [4, 4]


def test_updates_by_hand_of_several_parameters_are_one_round():
    params = [torch.tensor(1.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)]
    with torch.record() as recording:
        for _ in range(3):
            loss = params[0] * params[1]
            loss.backward()
            with torch.no_grad():
                for p in params:
                    p -= 0.1 * p.grad
                    p.grad = None
    assert sizes(recording.trace()) == [3, 3, 3]


def test_two_networks_in_turns_are_one_round():
    a, b = torch.tensor(1.0, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    first, second = torch.optim.SGD([a], lr=0.1), torch.optim.Adam([b], lr=0.1)
    with torch.record() as recording:
        for _ in range(2):
            (a * a).backward()
            first.step()
            (b * a.detach()).backward()
            second.step()
    trace = recording.trace()
    assert len(grouped(trace)) == 2
    assert [g.label for g in trace.groups if g.kind == "step"] == [
        "first.step()",
        "second.step()",
    ] * 2


def test_a_closure_is_called_again_within_its_round():
    x = torch.tensor(3.0, requires_grad=True)
    newton = torch.optim.LBFGS([x], lr=0.5, max_iter=3)

    def closure():
        newton.zero_grad()
        loss = (x - 1) ** 2
        loss.backward()
        return loss

    with torch.record() as recording:
        for _ in range(2):
            newton.step(closure)
    trace = recording.trace()
    assert len(grouped(trace)) == 2 and [g.type for g in trace.groups if g.kind == "step"] == [
        "LBFGS",
        "LBFGS",
    ]


def test_one_loop_after_another_goes_on_counting(world):
    w, optimizer = world
    with torch.record() as recording:
        for _ in range(2):
            ((w - 3) ** 2).backward()
            optimizer.step()
        between = w * 7
        for _ in range(3):
            (w * 5 * w).backward()
            optimizer.step()
    trace = recording.trace()
    assert [path for path, _, _ in grouped(trace)] == [f"iteration {i}" for i in range(1, 6)]
    assert sizes(trace) == [3, 3, 3, 3, 3]
    assert (
        "between" not in {label for _, _, labels in grouped(trace) for label in labels}
        and between is not None
    )


def test_a_round_that_ends_early_is_one_too(world):
    w, optimizer = world
    with torch.record() as recording:
        for i in range(3):
            loss = (w - 3) ** 2
            if i == 2:
                break
            loss.backward()
            optimizer.step()
    assert sizes(recording.trace()) == [3, 3, 2]


def test_what_some_rounds_do_beside_is_in_them(world):
    w, optimizer = world
    with torch.record() as recording:
        for i in range(4):
            ((w - 3) ** 2).backward()
            optimizer.step()
            if i in (1, 2):
                print_me = w * 100
    trace = recording.trace()
    assert sizes(trace) == [3, 4, 4, 3] and print_me is not None


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.fc1, self.fc2 = nn.Conv2d(1, 4, 3), nn.Linear(36, 16), nn.Linear(16, 3)

    def forward(self, x):
        x = nn.functional.max_pool2d(nn.functional.relu(self.conv(x)), 2)
        return self.fc2(nn.functional.relu(self.fc1(x.flatten(1))))


@pytest.fixture(scope="module")
def trained():
    torch.manual_seed(0)
    model = Net()
    images, target = torch.randn(4, 1, 8, 8), torch.randint(0, 3, (4,))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    with torch.record() as recording:
        for _ in range(3):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(images), target)
            loss.backward()
            optimizer.step()
    return recording.trace()


def test_modules_and_steps_are_inside_their_iteration(trained):
    inside = {
        g.id: [inner.label for inner in trained.groups if inner.parent == g.id]
        for g in trained.groups
        if g.kind == "iteration"
    }
    assert list(inside.values()) == [["Net", "optimizer.step()"]] * 3
    places = [g.id for g in trained.groups]
    assert places == [f"g{i}" for i in range(len(places))]
    assert all(g.parent is None or places.index(g.parent) < i for i, g in enumerate(trained.groups))


def test_a_loop_opens_folded_and_only_updates_lead_from_one_round_to_the_next(trained):
    folding = Folding(trained)
    parts = folding.parts
    first = folding.first()
    assert [parts[p].label for p in first] == ["iteration 1"]
    rounds = [p.id for p in parts.values() if p.kind == "iteration"]
    assert [parts[r].amount for r in rounds] == ["11 ops · 6 updates"] * 3
    links = folding.fold([]).links
    between = [
        (link.start, link.end, link.update, link.differentiable, len(link.edges))
        for link in links
        if {link.start, link.end} <= set(rounds)
    ]
    assert between == [
        (rounds[0], rounds[1], True, False, 6),
        (rounds[1], rounds[2], True, False, 6),
    ]
    # The last step's result is beside it; parameters count once.
    (step,) = [p for p in parts.values() if p.kind == "step" and p.parent == rounds[2]]
    unused = [n.id for n in trained.nodes if n.kind == "leaf" and n.label.endswith("(4)")]
    assert len(unused) == 6 and all(folding.held[n] == [step.id] for n in unused)
    assert len({parts[r].parameters for r in rounds}) == 1


def test_states_are_each_rounds_own(trained):
    last = len(trained.frames) - 1
    states = trained.states(last)
    weights = [n for n in trained.nodes if n.kind == "leaf" and n.name == "conv.weight"]
    assert [n.label for n in weights] == [
        "conv.weight",
        "conv.weight(2)",
        "conv.weight(3)",
        "conv.weight(4)",
    ]
    assert [states[n.id] for n in weights] == [
        "accumulated"
    ] * 4  # the last iteration has the `.grad` that the step before left
    begin = next(f.index for f in trained.frames if f.run == 2 and f.phase == "backward")
    assert (
        trained.states(begin - 1)[weights[1].id] == "none"
        and trained.states(begin - 1)[weights[0].id] == "accumulated"
    )
    assert trained.frames[begin].receiver is not None
    freed = [n.id for n in trained.nodes if n.op == "relu"]
    assert len(freed) == 6 and all(states[n] == "freed" for n in freed)


def test_the_loss_of_a_round_is_not_said_to_be_what_it_was_rounded_to():
    w = torch.tensor(1.0, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    with torch.record() as recording:
        for _ in range(2):
            optimizer.zero_grad()
            loss = (w - 0.3) ** 2 * 1.23457
            loss.backward()
            optimizer.step()
    words = [group.type for group in recording.trace().groups if group.kind == "iteration"]
    assert len(words) == 2 and all(re.fullmatch(r"loss ≈ 0\.\d+", text) for text in words), words
