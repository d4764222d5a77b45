"""Loss curves: what the lines hold, how runs are told apart, and errors that name the argument."""

import math
import sys

import matplotlib
import pytest

matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402 (after the backend is chosen)

import autolab  # noqa: E402
from autolab.viz import palette, plot_losses  # noqa: E402
from autolab.viz.curves import smoothed  # noqa: E402


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def data(line):
    return list(line.get_ydata())


def test_one_run_without_a_label():
    ax = plot_losses([3.0, 2.0, 1.0])
    (line,) = ax.get_lines()
    assert data(line) == [3.0, 2.0, 1.0] and list(line.get_xdata()) == [0, 1, 2]
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("step", "loss", "Loss")
    assert ax.get_legend() is None and ax.get_yscale() == "linear"


def test_labelled_runs_differ_in_colour_and_line_style():
    ax = plot_losses({f"lr {i}": [1.0, 0.5] for i in range(7)}, title="Rates")
    lines = ax.get_lines()
    assert [t.get_text() for t in ax.get_legend().get_texts()] == [f"lr {i}" for i in range(7)]
    assert [line.get_color() for line in lines] == [colour for colour, _ in palette.LINES]
    assert len({line.get_color() for line in lines}) == 7
    assert len({str(line._unscaled_dash_pattern) for line in lines}) == 7
    assert ax.get_title() == "Rates"


def test_a_list_of_runs_is_numbered():
    ax = plot_losses([[1.0, 2.0], (3.0,)])
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["run 1", "run 2"]
    assert [data(line) for line in ax.get_lines()] == [[1.0, 2.0], [3.0]]
    assert ax.get_lines()[1].get_marker() == "o"  # one point makes no line


def test_losses_may_be_tensors():
    losses = [autolab.tensor(2.0, requires_grad=True) * k for k in (2, 1)]
    assert data(plot_losses(losses).get_lines()[0]) == [4.0, 2.0]
    assert data(plot_losses(autolab.tensor([3.0, 1.0])).get_lines()[0]) == [3.0, 1.0]
    assert data(plot_losses({"a": autolab.tensor([3.0, 1.0])}).get_lines()[0]) == [3.0, 1.0]


def test_smoothing_draws_the_average_over_the_faint_losses():
    ax = plot_losses({"a": [4.0, 0.0, 2.0]}, smooth=0.5)
    raw, mean = ax.get_lines()
    assert data(raw) == [4.0, 0.0, 2.0] and raw.get_alpha() == 0.3
    # m: 2, 1, 1.5; divided by 1 - 0.5^t: 1/2, 3/4, 7/8
    assert data(mean) == pytest.approx([4.0, 4 / 3, 12 / 7])
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["a"]
    assert ax.get_ylabel() == "loss (smoothed, weight 0.5)"


def test_smoothing_a_constant_changes_nothing_and_skips_what_is_not_finite():
    assert smoothed([5.0] * 4, 0.9) == pytest.approx([5.0] * 4)
    out = smoothed([1.0, math.nan, 1.0, math.inf], 0.9)
    assert out[0] == pytest.approx(1.0) and out[2] == pytest.approx(1.0)
    assert math.isnan(out[1]) and out[3] == math.inf


def test_nan_is_marked_not_hidden():
    ax = plot_losses({"a": [1.0, math.nan, 2.0, math.inf]})
    line, marks = ax.get_lines()
    assert math.isnan(data(line)[1]) and math.isnan(data(line)[3])
    assert (
        list(marks.get_xdata()) == [1, 3]
        and marks.get_color() == palette.BAD
        and marks.get_marker() == "X"
    )
    assert "a: NaN or infinite (first at step 1)" in [
        t.get_text() for t in ax.get_legend().get_texts()
    ]


@pytest.mark.parametrize(
    ("args", "kwargs", "error", "message"),
    [
        ((3.0,), {}, TypeError, "runs must be losses, a dict"),
        (("losses",), {}, TypeError, "runs must be losses, a dict"),
        ((autolab.tensor(1.0),), {}, TypeError, "runs must be losses, .* got a single number"),
        (([],), {}, ValueError, "runs is empty"),
        (({},), {}, ValueError, "runs is empty"),
        (({"a": []},), {}, ValueError, "runs is empty"),
        (
            ([1.0, [2.0]],),
            {},
            TypeError,
            r"runs mixes single losses and lists of losses \(position 1\)",
        ),
        (({"a": 3.0},), {}, TypeError, r"runs\['a'\] must be a sequence of losses, got float"),
        (
            ({"a": [1.0, "x"]},),
            {},
            TypeError,
            r"runs\['a'\]\[1\] must be a number or a one-element tensor, got 'x'",
        ),
        (
            ([autolab.ones(2)] * 2,),
            {"log": True, "smooth": 1},
            ValueError,
            "smooth must be a number from 0",
        ),
        (([1.0],), {"smooth": -0.1}, ValueError, "smooth must be"),
        (([1.0],), {"smooth": "a"}, ValueError, "smooth must be"),
        (([1.0],), {"smooth": True}, ValueError, "smooth must be"),
        (
            ([1.0, 0.0],),
            {"log": True},
            ValueError,
            "log=True needs positive losses, but the loss is 0 at step 1",
        ),
        (({"b": [1.0, -2.0]},), {"log": True}, ValueError, "the loss of 'b' is -2 at step 1"),
        (([1.0],), {"ax": "here"}, TypeError, "ax must be a matplotlib Axes, got str"),
    ],
)
def test_wrong_arguments_are_named(args, kwargs, error, message):
    with pytest.raises(error, match=message):
        plot_losses(*args, **kwargs)


def test_without_matplotlib_it_is_said_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ModuleNotFoundError) as raised:
        plot_losses([1.0])
    assert "-m pip install matplotlib" in raised.value.__notes__[0]
