"""The random stream: the same seed gives PyTorch's bits. A table has digests of the draws; PyTorch is asked too."""

import contextlib
import copy
import hashlib
import importlib
import pickle

import numpy as np
import pytest
from goldens import oracle
from goldens.oracle import error_of, same_as_torch

# draw after manual_seed(42) -> start of the SHA-256 of dtype, shape and bytes, as PyTorch 2.13 draws it (x86-64, AVX2)
DIGESTS = {
    "rand(10007)": "2675fde1be30",
    "rand(300, dtype=torch.float64)": "310a2049f554",
    "rand(300, dtype=torch.float16)": "16708fe27bae",
    "randn(1)": "fea95c4aa85e",
    "randn(15)": "d07bf4b30f9c",
    "randn(16)": "305f8f223b72",
    "randn(17)": "ea1a044b0e17",
    "randn(31, 33)": "f0982800b964",
    "randn(100, dtype=torch.float64)": "95f4037790b9",
    "randn(100, dtype=torch.float16)": "65ce7240f088",
    "randint(-5, 1000, (500,))": "23e70f07058a",
    "randint(0, 1 << 40, (50,))": "e77ceee70cb9",
    "randint(0, 1 << 28, (50,))": "46ae93ddf419",
    "randint(10, (5, 5), dtype=torch.int32)": "12d2a7e8f069",
    "randperm(5000)": "d1c57ce3b819",
    "normal(2., .5, (300,))": "19bcda0d2a99",
    "normal(torch.arange(40.), .3)": "20ab4ecf85c3",
    "normal(torch.zeros(3, 1), torch.arange(1., 21.))": "b6ab77a53ad8",
    "bernoulli(torch.linspace(0, 1, 500))": "3fd8a6f91e1f",
    "multinomial(torch.arange(1., 28), 500, replacement=True)": "3aef7225db36",
    "multinomial(torch.arange(1., 28), 1)": "a280e9001432",
    "multinomial(torch.arange(1., 61).view(3, 20), 5)": "52694c5d9ef1",
    "empty(500).uniform_(-.123, .777)": "159a83324bf2",
    "empty(500).normal_(.1, .02)": "9677c6b8658c",
    "empty(500).bernoulli_(.7)": "634e8e9d7324",
    "empty(500, dtype=torch.int64).random_()": "8f7d46bc0b4b",
    "empty(500, dtype=torch.uint8).random_()": "e4f8b4a3a1a6",
    "empty(500).random_(17)": "e5b4a090e771",
    "empty(30, 20).t().normal_()": "0227048d2758",
    "empty(4, 5, 6).permute(2, 0, 1).uniform_()": "45961d0c8909",
    "get_rng_state()": "3a1c85866cf8",
}


def digest(tensor):
    a = np.ascontiguousarray(tensor.numpy())
    return hashlib.sha256(f"{a.dtype}{a.shape}".encode() + a.tobytes()).hexdigest()[:12]


def bits(tensor):
    """A tensor as text that tells every bit."""
    layout = tensor.dtype, list(tensor.shape), list(tensor.stride())
    return f"{layout}{np.ascontiguousarray(tensor.numpy()).tobytes().hex()}"


def live_torch():
    """PyTorch, where it is asked live and draws with the vector kernels that the digests are of."""
    torch = importlib.import_module("torch") if oracle.LIVE and oracle.ENGINE != "torch" else None
    return (
        torch
        if torch is not None and torch.backends.cpu.get_cpu_capability() in ("AVX2", "AVX512")
        else None
    )


@pytest.mark.parametrize("draw", DIGESTS)
def test_every_bit(draw):
    for torch in filter(None, [oracle.engine(), live_torch()]):
        torch.manual_seed(42)
        assert digest(eval("torch." + draw, {"torch": torch})) == DIGESTS[draw], torch


@pytest.mark.skipif(live_torch() is None, reason="asks PyTorch itself; the digests hold without it")
@pytest.mark.parametrize("seed", [0, 1, 2**31 - 1, 2**32 + 5, -1, 123456789012])
def test_many_draws_in_a_row(seed):
    """Draws of all kinds, each starting where the last one stopped, and the position of the stream at the end."""
    engine, torch = oracle.engine(), live_torch()
    engine.manual_seed(seed)
    torch.manual_seed(seed)
    for draw in [*DIGESTS, "randn(1)", "rand(3)", "get_rng_state()"]:
        got, expected = (eval("torch." + draw, {"torch": module}) for module in (engine, torch))
        assert bits(got) == bits(expected), draw


@same_as_torch
def test_small_normal_draws_come_in_pairs(torch):
    """The sine of a pair is kept for the next draw of fewer than 16, whatever comes in between; a seed forgets it."""
    torch.manual_seed(3)
    first = torch.randn(1), torch.rand(2), torch.randn(40), torch.randn(1), torch.randn(1)
    torch.manual_seed(3)
    torch.randn(1)
    torch.manual_seed(3)
    again = torch.randn(1)
    return [bits(t) for t in (*first, again)], torch.equal(first[0], again)


@same_as_torch
def test_generators_are_apart(torch):
    torch.manual_seed(7)
    g = torch.Generator().manual_seed(7)
    mine = (
        torch.rand(3, generator=g),
        torch.randn(2, generator=g),
        torch.randint(9, (4,), generator=g),
    )
    mine += torch.randperm(5, generator=g), torch.normal(0.0, 1.0, (2,), generator=g)
    mine += (
        torch.bernoulli(torch.full((5,), 0.5), generator=g),
        torch.multinomial(torch.ones(4), 2, generator=g),
    )
    mine += torch.zeros(2).uniform_(generator=g), torch.rand_like(torch.ones(2), generator=g)
    return mine, torch.rand(3), g.initial_seed(), torch.initial_seed()


@same_as_torch
def test_seeds(torch):
    g = torch.Generator()
    accepted = [g.manual_seed(s).initial_seed() for s in (0, 5, -1, -5, -(2**63), 2**64 - 1)]
    refused = [
        error_of(lambda s=s: g.manual_seed(s))
        for s in (2**64, -(2**63) - 1, 1.5, "a", True, torch.tensor(3))
    ]
    globally = [torch.manual_seed(s).initial_seed() for s in (7, "8", 9.7, torch.tensor(3))]
    errors = error_of(lambda: torch.manual_seed("a")), error_of(lambda: torch.Generator("gpu"))
    same = torch.manual_seed(0) is torch.default_generator
    return (
        torch.Generator().initial_seed(),
        accepted,
        refused,
        globally,
        errors,
        same,
        repr(g),
        g.device,
    )


@same_as_torch
def test_state_is_saved_and_restored(torch):
    torch.manual_seed(11)
    torch.randn(3), torch.rand(700)
    state = torch.get_rng_state()
    first = torch.randn(2), torch.rand(2), torch.randperm(6)
    torch.set_rng_state(state)
    second = torch.randn(2), torch.rand(2), torch.randperm(6)
    g = torch.Generator()
    g.set_state(state)
    third = torch.randn(2, generator=g), torch.rand(2, generator=g)
    refused = error_of(lambda: g.set_state(torch.zeros(3)))
    return first, second, third, refused, state.shape, state.dtype, g.initial_seed()


@same_as_torch
def test_the_bytes_of_a_state(torch):
    """Any position: before the first word, inside a block, at its end, with a spare normal number."""
    states = []
    for words in (0, 1, 623, 624, 625, 1248):
        g = torch.Generator().manual_seed(9)
        torch.rand(words, generator=g)
        states.append(digest(g.get_state()))
        torch.randn(1, generator=g)
        states.append(digest(g.get_state()))
    return states


@same_as_torch
def test_fork_rng(torch):
    torch.manual_seed(1)
    seen = []
    for options in ({}, {"enabled": False}, {"devices": []}):
        with torch.random.fork_rng(**options):
            torch.manual_seed(5)
            seen.append(torch.randn(1))
        seen.append((torch.rand(2), torch.initial_seed()))
    with contextlib.suppress(KeyError), torch.random.fork_rng():
        torch.rand(100)
        raise KeyError
    return seen, torch.rand(2), torch.randn(1)


def test_generators_can_be_copied_and_pickled():
    torch = oracle.engine()
    g = torch.Generator().manual_seed(8)
    torch.randn(3, generator=g)
    twins = [g.clone_state(), pickle.loads(pickle.dumps(g))]
    if oracle.ENGINE == "autolab":
        twins.append(copy.deepcopy(g))
    expected = torch.randn(5, generator=g)
    for twin in twins:
        assert torch.equal(torch.randn(5, generator=twin), expected) and twin.initial_seed() == 8
