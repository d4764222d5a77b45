"""The picture of a profile: a bar per name with its own and its whole time, and every call at its place in time."""

import matplotlib
import pytest

matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402 (after the backend is chosen)
from matplotlib.colors import to_hex  # noqa: E402

import autolab  # noqa: E402
from autolab.autograd import profiler  # noqa: E402
from autolab.viz import palette, plot_profile  # noqa: E402
from autolab.viz.profile import short  # noqa: E402


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def prof():
    x = autolab.ones(3, requires_grad=True)
    with profiler.profile() as prof:
        with profiler.record_function("my block"):
            y = (x.exp() * x).sum()
        y.backward()
    return prof


def bars(ax):
    """(left, width, row) of the pale and of the filled bars, in order."""
    found = [(p.get_x(), p.get_width(), round(p.get_y() + p.get_height() / 2)) for p in ax.patches]
    return found[0::2], found[1::2]


def test_bars_are_the_times_of_the_averages(prof):
    ax, _ = plot_profile(prof, row_limit=50)
    averages = sorted(prof.key_averages(), key=lambda a: a.self_cpu_time_total, reverse=True)
    whole, own = bars(ax)
    size = max(a.cpu_time_total for a in averages) / max(width for _, width, _ in whole)
    assert size in (pytest.approx(1.0), pytest.approx(1e3), pytest.approx(1e6))
    assert [w * size for _, w, _ in whole] == pytest.approx([a.cpu_time_total for a in averages])
    assert [w * size for _, w, _ in own] == pytest.approx([a.self_cpu_time_total for a in averages])
    assert [row for *_, row in own] == list(range(len(averages))) and {
        left for left, *_ in own
    } == {0}
    assert [t.get_text() for t in ax.get_yticklabels()] == [short(a.key) for a in averages]
    assert all(("1 call" in t.get_text()) == (a.count == 1) for t, a in zip(ax.texts, averages))


def test_kinds_have_colour_and_hatch(prof):
    ax, timeline = plot_profile(prof, row_limit=50)
    found = {
        label.get_text(): (to_hex(patch.get_facecolor()), patch.get_hatch() or "")
        for label, patch in zip(ax.get_yticklabels(), ax.patches[1::2])
    }
    assert found["exp"] == (palette.FORWARD.lower(), "")
    assert (
        found["ExpBackward0"] == found["engine: ExpBackward0"] == (palette.BACKWARD.lower(), "///")
    )
    assert found["my block"] == (palette.LEAF.lower(), "...")
    assert [t.get_text() for t in timeline.get_legend().get_texts()] == [
        "op",
        "backward",
        "your block",
    ]


def test_every_call_is_on_the_timeline_under_the_call_around_it(prof):
    _, ax = plot_profile(prof)
    boxes = [path.get_extents() for bars in ax.collections for path in bars.get_paths()]
    assert len(boxes) == len(prof.function_events)
    start = min(e.time_range.start for e in prof.function_events)
    end = max(e.time_range.end for e in prof.function_events)
    size = (end - start) / ax.get_xlim()[1]
    places = [(b.x0 * size, b.width * size, b.y0 - int(b.y0), int(b.y0)) for b in boxes]
    for e in prof.function_events:
        depth, around = 0, e.cpu_parent
        while around is not None:
            depth, around = depth + 1, around.cpu_parent
        expected = pytest.approx((e.time_range.start - start, e.cpu_time, 0.06, depth), abs=1e-6)
        assert any(place == expected for place in places)
    assert (
        ax.get_ylim() == (4, 0) and ax.get_title() == f"{len(prof.function_events)} calls in order"
    )


def test_the_other_profiler_events_and_given_axes():
    with autolab.profiler.profile() as prof:
        autolab.ones(3).exp()
    _, axes = plt.subplots(2, 1)
    for given in (prof, prof.events()):
        found = plot_profile(given, axes=axes, title="Mine")
        assert tuple(found) == tuple(axes) and axes[0].get_title() == "Mine"


def test_errors_name_the_argument(prof):
    with pytest.raises(TypeError, match="prof must be a profile or its events, got int"):
        plot_profile(3)
    with pytest.raises(TypeError, match=r"not its key_averages\(\)"):
        plot_profile(prof.key_averages())
    with pytest.raises(ValueError, match="prof has no events"):
        plot_profile(profiler.profile())
    for wrong in (0, -1, True, 1.5):
        with pytest.raises(ValueError, match="row_limit must be a positive integer"):
            plot_profile(prof, row_limit=wrong)
    with pytest.raises(TypeError, match="axes must be two matplotlib Axes"):
        plot_profile(prof, axes=plt.figure().add_subplot())
