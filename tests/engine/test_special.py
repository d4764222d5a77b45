"""Special functions: accuracy against exact values, against C's functions, and identities.

The exact values were computed with mpmath at 40 digits and are correctly rounded to float64."""

import math

import numpy as np
import pytest
from goldens import oracle
from hypothesis import given, settings
from hypothesis import strategies as st

import autolab
from autolab.engine.exact import special

EXACT = {
    "erf": [
        (1e-20, 1.1283791670955125e-20),
        (0.125, 0.1403162048013338),
        (0.5, 0.5204998778130465),
        (-0.75, -0.7111556336535151),
        (0.9375, 0.8151024010343998),
        (1.0, 0.8427007929497149),
        (1.25, 0.9229001282564583),
        (-2.5, -0.999593047982555),
        (3.75, 0.9999998862727434),
        (5.5, 0.9999999999999927),
    ],
    "erfc": [
        (-3.0, 1.9999779095030015),
        (-0.5, 1.5204998778130465),
        (0.25, 0.7236736098317631),
        (1.5, 0.033894853524689274),
        (3.0, 2.209049699858544e-05),
        (5.0, 1.537459794428035e-12),
        (8.5, 2.7623240713337716e-33),
        (12.0, 1.3562611692059042e-64),
        (20.0, 5.395865611607901e-176),
        (26.0, 5.663192408856143e-296),
    ],
    "erfinv": [
        (1e-12, 8.86226925452758e-13),
        (0.125, 0.11123545184094996),
        (-0.5, -0.4769362762044699),
        (0.75, 0.8134198475976185),
        (0.9375, 1.3171503349861307),
        (-0.9990234375, -2.331467773621948),
        (0.9999999999, 4.572824958544925),
    ],
    "lgamma": [
        (1e-10, 23.025850929882736),
        (0.125, 2.0194183575537963),
        (0.5, 0.5723649429247001),
        (1.5, -0.12078223763524522),
        (2.5, 0.2846828704729192),
        (3.75, 1.486815578593417),
        (10.5, 13.940625219403763),
        (12.96875, 19.90831622574989),
        (13.5, 21.2600761562447),
        (100.25, 360.28455963776423),
        (100000.0, 1051287.7089736569),
        (1e300, 6.897755278982137e302),
    ],
    "digamma": [
        (1e-10, -10000000000.577215),
        (0.125, -8.388492663295855),
        (0.5, -1.9635100260214235),
        (1.25, -0.22745353337626542),
        (2.5, 0.7031566406452432),
        (9.75, 2.225109535044576),
        (10.0, 2.251752589066721),
        (25.5, 3.2189424728839198),
        (1000000.0, 13.815510057964191),
        (-0.5, 0.03648997397857652),
        (-3.25, 4.46627587235028),
    ],
    "polygamma 1": [
        (0.125, 65.38813344498803),
        (0.5, 4.934802200544679),
        (1.5, 0.9348022005446793),
        (4.25, 0.26512373409656215),
        (30.5, 0.03333024811280161),
        (-1.5, 9.379246644989124),
    ],
    "polygamma 2": [
        (0.125, -1025.7533381181356),
        (0.75, -5.3026332163376395),
        (1.5, -0.82879664423432),
        (4.25, -0.06989568177725804),
        (30.5, -0.0011108026689359417),
    ],
    "polygamma 3": [
        (0.125, 24580.143419063566),
        (0.75, 19.7633125348506),
        (1.5, 1.4090910340024372),
        (4.25, 0.03665372575986459),
        (30.5, 7.403296175438848e-05),
    ],
}


def units(found, exact, floor=0.0):
    """The distance in units in the last place of the exact value, or of `floor` where that is larger.

    A function that crosses zero is exact there to a unit of 1, not of its tiny value."""
    return abs(found - exact) / np.spacing(max(abs(exact), floor))


FLOOR = {"digamma": 1.0}


@pytest.mark.parametrize("name", EXACT)
def test_exact_values(name):
    """float64 is right to a few units in the last place; float32 is the exact value rounded, but for one unit."""
    function, _, order = name.partition(" ")
    f = getattr(special, function)
    for x, exact in EXACT[name]:
        found = f(np, *([int(order)] if order else []), np.array([x]))[0]
        assert units(found, exact, FLOOR.get(function, 0)) <= 6, (x, found, exact)
        if abs(exact) < 1e38 and float(np.float32(x)) == x:
            single, rounded = (
                f(np, *([int(order)] if order else []), np.array([x], np.float32))[0],
                np.float32(exact),
            )
            assert single.dtype == np.float32 and abs(single - rounded) <= np.spacing(
                abs(rounded)
            ), (x, single, rounded)


@pytest.mark.parametrize(
    "name, c_function, low, high, allowed",
    [
        ("erf", math.erf, -7, 7, 3),
        ("erfc", math.erfc, -6, 0.5, 3),
        ("erfc", math.erfc, 0.5, 26, 9),
        ("lgamma", math.lgamma, 1e-9, 60, 6),
    ],
)
def test_agreement_with_the_c_library(name, c_function, low, high, allowed):
    x = np.random.default_rng(0).uniform(low, high, 3000)
    found = getattr(special, name)(np, x)
    floor = 1.0 if name == "lgamma" else 0.0
    assert max(units(f, c_function(v), floor) for f, v in zip(found, x)) <= allowed


@pytest.mark.parametrize(
    "x, exact",
    [
        (1.000000000001, -5.772669797094564e-13),
        (0.999999999999, 5.772028958989666e-13),
        (1.000001, -5.772148423874147e-07),
        (0.999999, 5.772164873855652e-07),
        (1.001, -0.0005763935982833062),
        (0.999, 0.0005780385328913802),
        (1.03, -0.016586853877569772),
        (0.97, 0.01806773312602201),
        (2.000000000001, 4.2282192087238456e-13),
        (1.999999999999, -4.2282192087173953e-13),
        (2.000001, 4.2278465762452923e-07),
        (1.999999, -4.227840125965854e-07),
        (2.001, 0.000423106734800117),
        (1.999, -0.0004224618006921073),
        (2.03, 0.012971948363974556),
        (1.97, -0.012391474358686564),
    ],
)
def test_lgamma_keeps_its_digits_at_its_zeros(x, exact):
    """log gamma vanishes at 1 and 2; right next to them it is still exact to a few units of its own small value."""
    assert units(special.lgamma(np, np.array([x]))[0], exact) <= 8


def test_lgamma_of_negative_numbers():
    x = np.random.default_rng(1).uniform(-30, -0.01, 2000)
    found = special.lgamma(np, x)
    np.testing.assert_allclose(found, [math.lgamma(v) for v in x], rtol=1e-13, atol=1e-13)


@settings(max_examples=200, deadline=None)
@given(st.floats(-0.999999, 0.999999))
def test_erfinv_inverts_erf(y):
    x = special.erfinv(np, np.array([y]))
    assert special.erf(np, x)[0] == pytest.approx(y, rel=4e-16 + 1e-15, abs=1e-300)
    assert np.signbit(x[0]) == np.signbit(y)


@settings(max_examples=200, deadline=None)
@given(st.floats(-20, 20).filter(lambda v: abs(v - round(v)) > 1e-3 or v > 0.5))
def test_recurrences(x):
    """f(x + 1) follows from f(x): for log gamma, digamma and its derivatives."""
    a, b = np.array([x]), np.array([x + 1])
    d = special.digamma(np, a)[0]
    assert special.digamma(np, b)[0] == pytest.approx(
        d + 1 / x, rel=1e-11, abs=1e-11 * (1 + abs(d))
    )
    if x > 0:
        assert special.lgamma(np, b)[0] == pytest.approx(
            special.lgamma(np, a)[0] + math.log(x), rel=1e-12, abs=1e-12
        )
    for n in (1, 2, 3):
        p = special.polygamma(np, n, a)[0]
        step = (-1) ** n * math.factorial(n) / x ** (n + 1)
        assert special.polygamma(np, n, b)[0] == pytest.approx(
            p + step, rel=1e-9, abs=1e-10 * (abs(p) + abs(step))
        )


@pytest.mark.parametrize("name", ["erf", "erfc", "erfinv", "lgamma", "digamma"])
def test_poles_and_limits(name):
    points = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 2.0, -2.0, 1e-320, 1e300]

    def ask(torch):
        x = torch.tensor(points, dtype=torch.float64)
        return list(getattr(torch, name)(x))

    oracle.check("test_special", name, ask)


def test_shapes_dtypes_and_blocks():
    """More elements than a block, any shape, 0-d, empty, float16: each element as if it were alone."""
    x = np.random.default_rng(2).normal(size=(3, special.BLOCK // 2 + 7))
    whole = special.erf(np, x)
    assert whole.shape == x.shape
    for k in (0, 1234, x.size - 1):
        assert whole.ravel()[k] == special.erf(np, x.ravel()[k : k + 1])[0]
    assert special.erf(np, np.float64(0.5)).shape == () and special.lgamma(
        np, np.empty((0, 2))
    ).shape == (0, 2)
    assert special.erf(np, np.array([0.5], np.float16)).dtype == np.float16
    assert (
        autolab.tensor(0.5).erf().shape == ()
        and autolab.tensor(0.5).lgamma().dtype is autolab.float32
    )


def test_derivatives_of_the_gamma_family_are_consistent():
    """d lgamma = digamma, d digamma = polygamma 1, and so on: by the engine's own gradients, against central
    differences."""
    x = autolab.tensor([0.3, 1.4, 3.7, 12.5], dtype=autolab.float64, requires_grad=True)
    for f in (
        autolab.lgamma,
        autolab.digamma,
        lambda t: autolab.polygamma(1, t),
        lambda t: autolab.polygamma(2, t),
    ):
        (g,) = autolab.autograd.grad(f(x).sum(), x)
        h = 1e-5
        with autolab.no_grad():
            slope = (f(x + h) - f(x - h)) / (2 * h)
        np.testing.assert_allclose(g.numpy(), slope.numpy(), rtol=2e-8)
