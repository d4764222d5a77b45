"""Recurrent networks: PyTorch's initial numbers, outputs, gradients, texts; packed and padded sequences."""

import warnings

import pytest
from goldens.oracle import check, error_of, same_as_torch

NETWORKS = {
    "RNN": lambda n: n.RNN(3, 4),
    "RNN relu": lambda n: n.RNN(3, 4, 2, "relu", bidirectional=True),
    "RNN no bias": lambda n: n.RNN(3, 4, bias=False, batch_first=True),
    "LSTM": lambda n: n.LSTM(3, 4),
    "LSTM deep": lambda n: n.LSTM(3, 4, num_layers=3, dropout=0.4),
    "LSTM both ways": lambda n: n.LSTM(3, 4, 2, bidirectional=True, batch_first=True),
    "GRU": lambda n: n.GRU(3, 4),
    "GRU deep": lambda n: n.GRU(3, 4, num_layers=2, bias=False, dropout=0.3, bidirectional=True),
    "GRU batch first": lambda n: n.GRU(3, 4, batch_first=True),
}


def flat(value):
    return [x for v in value for x in flat(v)] if isinstance(value, (tuple, list)) else [value]


def gradients(t, module, outputs, extra=()):
    weights = [t.linspace(-1, 1, max(x.numel(), 1)).reshape(x.shape) for x in outputs]
    sum((w * x).sum() for w, x in zip(weights, outputs)).backward()
    return [[p.grad for p in module.parameters()], [x.grad for x in extra]]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", NETWORKS)
def test_networks(name, training):
    def program(t):
        t.manual_seed(3)
        net = NETWORKS[name](t.nn).train(training)
        x = t.randn(5, 2, 3).requires_grad_()
        t.manual_seed(4)
        output, state = net(x)
        start = [t.randn(s.shape).requires_grad_() for s in flat(state)]
        again, last = net(x, tuple(start) if len(start) > 1 else start[0])
        found = [output, *flat(state), again, *flat(last)]
        shapes = {key: list(value.shape) for key, value in net.state_dict().items()}
        return [
            repr(net),
            shapes,
            list(net.parameters()),
            found,
            gradients(t, net, found, [x, *start]),
        ]

    check("test_nn_recurrent", f"{name} {training}", program, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", NETWORKS)
def test_packed_sequences(name):
    def program(t):
        t.manual_seed(3)
        net = NETWORKS[name](t.nn).eval()
        first = net.batch_first
        x = t.randn(4, 5, 3).requires_grad_()
        rnn, lengths = t.nn.utils.rnn, t.tensor([3, 5, 1, 3])
        packed = rnn.pack_padded_sequence(
            x if first else x.transpose(0, 1), lengths, first, enforce_sorted=False
        )
        output, state = net(packed)
        padded, found = rnn.pad_packed_sequence(output, first)
        sorted_too = rnn.pack_sequence([x[1], x[0, :3], x[2, :1]])
        start = tuple(t.randn(s.shape[0], 3, s.shape[2]) for s in flat(state))
        other, last = net(sorted_too, start if len(start) > 1 else start[0])
        values = [padded, *flat(state), other.data, *flat(last)]
        facts = [
            found,
            output.batch_sizes,
            output.sorted_indices,
            output.unsorted_indices,
            other.sorted_indices,
        ]
        return [values, facts, gradients(t, net, values, [x])]

    check("test_nn_recurrent", f"packed {name}", program, rtol=2e-5, atol=2e-6)


CELLS = {
    "RNNCell": lambda n: n.RNNCell(3, 4),
    "RNNCell relu": lambda n: n.RNNCell(3, 4, bias=False, nonlinearity="relu"),
    "LSTMCell": lambda n: n.LSTMCell(3, 4),
    "LSTMCell no bias": lambda n: n.LSTMCell(3, 4, bias=False),
    "GRUCell": lambda n: n.GRUCell(3, 4),
}


def operations(node):
    """Names of a graph's nodes, depth first. PyTorch splits gates by UnsafeSplit, which allows changes in place."""
    names, waiting, seen = [], [node], set()
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        names.append(node.name().replace("Unsafe", "").rpartition("::")[2])
        waiting += [n for n, _ in reversed(node.next_functions)]
    return names


@pytest.mark.parametrize("name", CELLS)
def test_cells(name):
    def program(t):
        t.manual_seed(3)
        cell = CELLS[name](t.nn)
        x, one = t.randn(2, 3).requires_grad_(), t.randn(3)
        state = cell(x)
        next_state = cell(x, state)
        single = cell(one)
        found = [*flat(state), *flat(next_state), *flat(single), *flat(cell(one, single))]
        graph = operations(flat(state)[0].grad_fn)
        return [
            repr(cell),
            list(cell.state_dict()),
            list(cell.parameters()),
            found,
            graph,
            gradients(t, cell, found, [x]),
        ]

    check("test_nn_recurrent", name, program, rtol=2e-5, atol=2e-6)


@same_as_torch(rtol=2e-5, atol=2e-6)
def test_one_sequence_without_a_batch(t):
    t.manual_seed(0)
    x = t.randn(4, 3)
    found = []
    for make in (t.nn.RNN, t.nn.LSTM, t.nn.GRU):
        for batch_first in (False, True):
            net = make(3, 2, batch_first=batch_first)
            output, state = net(x)
            found += [output, *flat(state), net(x, state)[0]]
    return found


@same_as_torch
def test_errors(t):
    n = t.nn
    x, pair = t.ones(5, 2, 3), lambda *s: (t.ones(s), t.ones(s))
    lstm, gru, rnn = n.LSTM(3, 4), n.GRU(3, 4), n.RNN(3, 4)
    return {
        "input": error_of(lambda: rnn(t.ones(3))),
        "input lstm": error_of(lambda: lstm(t.ones(3))),
        "input gru": error_of(lambda: gru(t.ones(1, 1, 1, 3))),
        "features": error_of(lambda: gru(t.ones(5, 2, 2))),
        "dtype": error_of(lambda: gru(x.double())),
        "no steps": error_of(lambda: gru(t.ones(0, 2, 3))),
        "hx size": error_of(lambda: gru(x, t.ones(1, 3, 4))),
        "lstm h": error_of(lambda: lstm(x, pair(1, 3, 4))),
        "lstm c": error_of(lambda: lstm(x, (t.ones(1, 2, 4), t.ones(1, 2, 5)))),
        "dropout": error_of(lambda: n.LSTM(3, 4, dropout=2)),
        "bias": error_of(lambda: n.GRU(3, 4, bias=1)),
        "batch_first": error_of(lambda: n.GRU(3, 4, batch_first="yes")),
        "size type": error_of(lambda: n.GRU(3.0, 4)),
        "size": error_of(lambda: n.GRU(0, 4)),
        "hidden": error_of(lambda: n.GRU(3, -1)),
        "layers": error_of(lambda: n.GRU(3, 4, 0)),
        "nonlinearity": error_of(lambda: n.RNN(3, 4, nonlinearity="sin")),
        "cell nonlinearity": error_of(lambda: n.RNNCell(3, 4, nonlinearity="sin")(t.ones(2, 3))),
        "cell input": error_of(lambda: n.RNNCell(3, 4)(t.ones(2, 5))),
        "cell input dim": error_of(lambda: n.GRUCell(3, 4)(t.ones(1, 2, 3))),
        "cell batch": error_of(lambda: n.LSTMCell(3, 4)(t.ones(2, 3), pair(3, 4))),
        "cell hidden": error_of(lambda: n.GRUCell(3, 4)(t.ones(2, 3), t.ones(2, 5))),
    }


@same_as_torch
def test_dropout_of_one_layer_warns(t):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        t.nn.LSTM(2, 2, dropout=0.5)
    return [str(w.message) for w in caught]


@same_as_torch
def test_padding_and_packing(t):
    rnn = t.nn.utils.rnn
    parts = [t.arange(6.0).reshape(3, 2).requires_grad_(), t.ones(1, 2), t.full((2, 2), 7.0)]
    padded = rnn.pad_sequence(parts)
    first = rnn.pad_sequence(parts, batch_first=True, padding_value=-1.0)
    packed = rnn.pack_sequence(parts, enforce_sorted=False)
    back, lengths = rnn.pad_packed_sequence(packed, padding_value=9.0)
    (back * t.arange(18.0).reshape(3, 3, 2)).sum().backward()
    wide = packed.to(t.float64)
    return {
        "padded": [padded, first, padded.grad_fn.name()],
        "packed": [packed.data, packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices],
        "back": [back, lengths, parts[0].grad],
        "cast": [wide.data.dtype, packed.to(t.float32) is packed, wide.batch_sizes],
        "inverse": [rnn.invert_permutation(t.tensor([2, 0, 1])), rnn.invert_permutation(None)],
    }


@same_as_torch
def test_errors_of_packing(t):
    rnn, x = t.nn.utils.rnn, t.ones(4, 3, 2)
    return {
        "sorted": error_of(lambda: rnn.pack_padded_sequence(x, [1, 2, 3])),
        "count": error_of(lambda: rnn.pack_padded_sequence(x, [3, 2])),
        "zero": error_of(lambda: rnn.pack_padded_sequence(x, [3, 2, 0])),
        "none": error_of(lambda: rnn.pad_sequence([])),
        "no list": error_of(lambda: rnn.pad_sequence(3)),
    }
