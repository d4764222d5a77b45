"""Pictures of networks: the numbers in the images, bars and cells, what is written on them, and errors by argument."""

import math

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402 (after the backend is chosen)
from matplotlib.colors import to_hex, to_rgb  # noqa: E402
from matplotlib.text import Text  # noqa: E402

import autolab  # noqa: E402
from autolab import viz  # noqa: E402
from autolab.viz import palette  # noqa: E402
from autolab.viz.confusion import confusion_matrix  # noqa: E402

try:
    import torch as pytorch
except ImportError:  # then the pictures of autolab's own tensors are tested
    pytorch = None

LIBRARIES = {"autolab": autolab} | ({} if pytorch is None else {"torch": pytorch})
BOTH = pytest.mark.parametrize("library", LIBRARIES.values(), ids=LIBRARIES)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def images(ax):
    return [np.asarray(image.get_array()) for image in ax.get_images()]


def labels(ax):
    return [text.get_text() for text in ax.texts]


def title(ax):
    return ax.get_title().replace("\n", " ")  # wrapped to the width of the figure


def bar(ax):
    """(label, smallest, largest) of the colour bar beside `ax`."""
    scale = ax.figure.axes[-1]
    return (scale.get_ylabel(), *scale.get_ylim())


# filters


@BOTH
def test_filters_of_a_module_are_its_weights_on_one_scale(library):
    conv = library.nn.Conv2d(2, 3, (2, 4))
    ax = viz.plot_filters(conv)
    weight = conv.weight.detach().numpy()
    assert np.array_equal(np.stack(images(ax)), weight.reshape(6, 2, 4))
    assert labels(ax) == ["0 ← 0", "0 ← 1", "1 ← 0", "1 ← 1", "2 ← 0", "2 ← 1"]
    top = float(abs(weight).max())
    assert bar(ax) == ("weight", -top, top)
    assert [image.get_clim() for image in ax.get_images()] == [(-top, top)] * 6
    assert title(ax) == "3 filters, 2 input channels each (filter ← channel)"


def test_colours_are_those_of_the_explorer():
    ax = viz.plot_filters(autolab.tensor([[[[-2.0, 0.0, 2.0, math.nan]]]]))
    (image,) = ax.get_images()
    assert [to_hex(c) for c in image.to_rgba(image.get_array())[0]] == [
        colour.lower()
        for colour in (palette.NEGATIVE, palette.PAPER, palette.POSITIVE, palette.NOT_A_NUMBER)
    ]
    assert title(ax) == "1 filter, 1 NaN or infinite"


def test_chosen_filters_and_channels():
    weight = np.arange(4 * 5 * 2 * 2).reshape(4, 5, 2, 2)
    ax = viz.plot_filters(weight, filters=[-1, 0], channels=autolab.tensor([4]), columns=2)
    assert [image.tolist() for image in images(ax)] == [
        weight[3, 4].tolist(),
        weight[0, 4].tolist(),
    ]
    assert labels(ax) == ["3 ← 4", "0 ← 4"]
    assert title(ax) == "2 of 4 filters, 1 of 5 input channels each (filter ← channel)"
    assert ax.get_images()[0].get_extent()[3] == ax.get_images()[1].get_extent()[3]  # one row


@BOTH
def test_groups_name_the_channels_they_read(library):
    conv = library.nn.Conv2d(4, 4, 3, groups=2)
    assert labels(viz.plot_filters(conv)) == [
        "0 ← 0",
        "0 ← 1",
        "1 ← 0",
        "1 ← 1",
        "2 ← 2",
        "2 ← 3",
        "3 ← 2",
        "3 ← 3",
    ]
    depthwise = library.nn.Conv2d(3, 3, 3, groups=3)
    assert labels(viz.plot_filters(depthwise)) == ["0 ← 0", "1 ← 1", "2 ← 2"]


@BOTH
def test_transposed_convolutions_are_drawn_by_output_channel(library):
    conv = library.nn.ConvTranspose2d(4, 6, 2, groups=2)  # weight: (4, 3, 2, 2)
    weight = conv.weight.detach().numpy()
    ax = viz.plot_filters(conv, filters=[4])
    assert labels(ax) == ["4 ← 2", "4 ← 3"]
    assert np.array_equal(images(ax)[0], weight[2, 1]) and np.array_equal(
        images(ax)[1], weight[3, 1]
    )


# feature maps


@BOTH
def test_feature_maps_of_one_image_of_a_batch(library):
    maps = library.zeros(2, 3, 2, 2)
    maps[1, 0, 0, 1], maps[1, 2, 1, 1] = 4.0, 1.5
    ax = viz.plot_feature_maps(maps.requires_grad_() * 1, image=1)
    assert [image.tolist() for image in images(ax)] == [
        [[0, 4], [0, 0]],
        [[0, 0], [0, 0]],
        [[0, 0], [0, 1.5]],
    ]
    assert labels(ax) == ["0", "1: all 0", "2"]
    assert bar(ax) == ("activation", 0.0, 4.0) and ax.get_title() == "3 channels of image 1"


# confusion matrix


@BOTH
def test_confusion_of_answers(library):
    targets, predictions = library.tensor([0, 0, 1, 2, 2, 2]), library.tensor([0, 1, 1, 2, 2, 0])
    ax = viz.plot_confusion((targets, predictions), classes=["cat", "dog", "cow"])
    assert images(ax)[0].tolist() == [[1, 1, 0], [0, 1, 0], [1, 0, 2]]
    cells = {
        tuple(reversed(text.get_position())): text.get_text() for text in ax.texts
    }  # (row, column)
    assert cells == {(0, 0): "1", (0, 1): "1", (1, 1): "1", (2, 0): "1", (2, 2): "2"}
    assert [t.get_text() for t in ax.get_xticklabels()] == [
        t.get_text() for t in ax.get_yticklabels()
    ]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["cat", "dog", "cow"]
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("true class", "predicted class")
    assert ax.get_title() == "accuracy 66.7% (4 of 6)" and bar(ax) == ("examples", 0.0, 2.0)


def test_confusion_from_scores_and_as_shares():
    scores = autolab.tensor([[2.0, 1.0, 0.0], [0.0, 3.0, 1.0], [5.0, 4.0, 1.0], [0.0, 1.0, 0.0]])
    ax = viz.plot_confusion((autolab.tensor([0, 0, 1, 1]), scores), normalize=True)
    assert images(ax)[0].tolist() == [
        [0.5, 0.5, 0],
        [0.5, 0.5, 0],
        [0, 0, 0],
    ]  # nothing is of class 2
    assert labels(ax) == ["0.50"] * 4 and bar(ax) == ("share of the true class", 0.0, 1.0)


def test_confusion_matrix_given():
    ax = viz.plot_confusion([[90, 10], [0, 1234567]], title="Mine")
    assert images(ax)[0].tolist() == [[90, 10], [0, 1234567]]
    assert labels(ax) == ["90", "10", "1234567"] and ax.get_title() == "Mine"
    assert [text.get_color() for text in ax.texts] == [palette.BLACK, palette.BLACK, palette.PAPER]
    assert labels(viz.plot_confusion(np.eye(21))) == []  # too many cells for numbers
    assert confusion_matrix([1], [1], classes=3).tolist() == [[0, 0, 0], [0, 1, 0], [0, 0, 0]]


@pytest.mark.parametrize("end", [palette.BLUE, palette.VERMILLION])
def test_numbers_in_cells_can_be_read(end):
    def luminance(colour):
        return float(
            np.dot(
                [0.2126, 0.7152, 0.0722],
                [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour],
            )
        )

    white, full = np.array(to_rgb(palette.PAPER)), np.array(to_rgb(end))
    for share in np.linspace(0, 1, 101):
        cell = white + share * (full - white)
        dark, light = sorted((luminance(cell), luminance(to_rgb(palette.ink(cell)))))
        assert (light + 0.05) / (dark + 0.05) >= 4.5


# misclassified


@BOTH
def test_misclassified_in_order_of_the_data(library):
    pictures = library.arange(4 * 6).reshape(4, 1, 2, 3)
    ax = viz.plot_misclassified(
        pictures,
        library.tensor([0, 1, 2, 1]),
        library.tensor([0, 2, 2, 0]),
        classes=["a", "b", "c"],
    )
    assert [image.tolist() for image in images(ax)] == [
        pictures[1, 0].tolist(),
        pictures[3, 0].tolist(),
    ]
    assert labels(ax) == ["true: b\npredicted: c", "true: b\npredicted: a"]
    assert ax.get_title() == "2 of 4 wrong" and bar(ax) == ("pixel", 0.0, 23.0)


def test_with_scores_the_surest_mistakes_come_first():
    scores = autolab.tensor(
        [[0.0, math.log(3)], [0.0, math.log(9)], [0.0, 5.0], [math.log(4), 0.0]]
    )
    ax = viz.plot_misclassified(autolab.arange(4).reshape(4, 1, 1), [0, 0, 1, 1], scores, n=2)
    assert labels(ax) == ["true: 0\npredicted: 1 (90%)", "true: 1\npredicted: 0 (80%)"]
    assert [image.item() for image in images(ax)] == [
        1,
        3,
    ] and ax.get_title() == "3 of 4 wrong, 2 drawn"


def test_colour_images():
    pictures = np.zeros((2, 3, 1, 2))
    pictures[1, :, 0, 1] = (1.0, 0.5, 0.25)
    ax = viz.plot_misclassified(pictures, [0, 0], [0, 1])
    assert (
        images(ax)[0].tolist() == [[[0, 0, 0], [1, 0.5, 0.25]]] and ax.get_title() == "1 of 2 wrong"
    )
    stretched = viz.plot_misclassified(pictures * 4 - 2, [0, 0], [1, 1], n=1)
    assert images(stretched)[0].tolist() == [[[0, 0, 0], [0, 0, 0]]]
    assert title(stretched) == "2 of 2 wrong, 1 drawn (colours stretched from -2..2)"
    integers = viz.plot_misclassified((pictures * 255).astype(np.uint8), [0, 0], [0, 1])
    assert images(integers)[0][0, 1].tolist() == [1.0, 127 / 255, 63 / 255]


def test_no_mistake_is_said():
    ax = viz.plot_misclassified(np.zeros((3, 2, 2)), [0, 1, 2], [0, 1, 2])
    assert labels(ax) == ["No mistake among 3 images"] and images(ax) == []


# histograms


def bars(ax):
    (stairs,) = ax.patches
    return stairs.get_data().values.tolist(), stairs.get_data().edges.tolist()


@BOTH
def test_weights_of_a_module_in_order(library):
    model = library.nn.Sequential(
        library.nn.Linear(2, 2), library.nn.ReLU(), library.nn.Linear(2, 1)
    )
    with library.no_grad():
        model[0].weight[:] = library.tensor([[0.0, 1.0], [1.0, 4.0]])
        model[2].weight[:] = 0.0
        model[2].bias[:] = math.nan
    panels = viz.plot_weight_histograms(model, bins=4)
    assert list(panels) == ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert bars(panels["0.weight"]) == ([1, 2, 0, 1], [0, 1, 2, 3, 4])
    assert panels["0.weight"].get_title() == "0.weight\nshape (2, 2)\nmean 1.5, std 1.5"
    assert bars(panels["2.weight"])[0] == [0, 0, 2, 0]
    assert panels["2.weight"].get_title() == "2.weight\nshape (1, 2)\nall 0"
    assert bars(panels["2.bias"])[0] == [0, 0, 0, 0]
    assert panels["2.bias"].get_title() == "2.bias\nshape (1,), no finite number"
    assert to_hex(panels["0.weight"].patches[0].get_facecolor()) == palette.FORWARD.lower()
    assert list(viz.plot_weight_histograms(model, only="weight")) == ["0.weight", "2.weight"]


def test_a_shared_range_and_a_logarithmic_axis():
    state = {"a": autolab.tensor([0.0, 1.0]), "b": autolab.tensor([-4.0, 4.0, math.inf])}
    panels = viz.plot_weight_histograms(state, bins=2, shared=True, log=True)
    assert bars(panels["a"]) == ([0, 2], [-4, 0, 4]) and bars(panels["b"]) == ([1, 1], [-4, 0, 4])
    assert panels["a"].get_yscale() == "log"
    assert panels["b"].get_title() == "b\nshape (3,)\nmean 0, std 4, 1 NaN or infinite"
    own = viz.plot_weight_histograms(state, bins=2)
    assert bars(own["a"]) == ([1, 1], [0, 0.5, 1]) and own["a"].get_yscale() == "linear"


@BOTH
def test_gradients_and_a_parameter_without_one(library):
    used, unused = library.nn.Linear(2, 1, bias=False), library.nn.Linear(1, 1, bias=False)
    used(library.tensor([[3.0, 5.0]])).sum().backward()
    panels = viz.plot_gradient_histograms(
        library.nn.ModuleDict({"used": used, "unused": unused}), bins=2
    )
    assert bars(panels["used.weight"]) == ([1, 1], [3, 4, 5])
    assert panels["used.weight"].get_title() == "used.weight\nshape (1, 2)\nmean 4, std 1"
    assert to_hex(panels["used.weight"].patches[0].get_facecolor()) == palette.BACKWARD.lower()
    assert (
        labels(panels["unused.weight"]) == ["no gradient"] and not panels["unused.weight"].patches
    )


# all of them


def test_draws_into_the_axes_given():
    _, row = plt.subplots(1, 4)
    scores = ([0, 1], [1, 1])
    assert viz.plot_filters(np.ones((1, 1, 2, 2)), ax=row[0]) is row[0]
    assert viz.plot_feature_maps(np.ones((1, 2, 2)), ax=row[1]) is row[1]
    assert viz.plot_confusion(scores, ax=row[2]) is row[2]
    assert viz.plot_misclassified(np.ones((2, 2, 2)), *scores, ax=row[3]) is row[3]
    assert [len(ax.get_images()) for ax in row] == [1, 1, 1, 1] and len(plt.get_fignums()) == 1


def pictures():
    conv = autolab.nn.Conv2d(3, 4, 3)
    conv(autolab.ones(1, 3, 5, 5)).sum().backward()
    names = ["a rather long name of a class", "b"]
    return {
        "filters": viz.plot_filters(conv).figure,
        "one filter": viz.plot_filters(autolab.ones(1, 1, 1, 1)).figure,
        "maps": viz.plot_feature_maps(autolab.randn(1, 5, 4, 6)).figure,
        "confusion": viz.plot_confusion(([0, 1, 1], [0, 1, 0]), classes=names).figure,
        "misclassified": viz.plot_misclassified(
            autolab.rand(3, 4, 4), [0, 1, 1], [1, 0, 0], classes=names
        ).figure,
        "weights": viz.plot_weight_histograms(conv)["bias"].figure,
        "gradients": viz.plot_gradient_histograms(conv)["bias"].figure,
    }


def test_text_is_large_enough_and_inside_the_figure():
    for name, figure in pictures().items():
        figure.canvas.draw()
        seen = [t for t in figure.findobj(Text) if t.get_visible() and t.get_text()]
        assert seen, name
        for text in seen:
            assert text.get_fontsize() * figure.dpi / 72 >= 11, (name, text)
        for ax in figure.axes:
            for text in [ax.title, ax.xaxis.label, ax.yaxis.label, *ax.texts]:
                box = text.get_window_extent()
                inside = (
                    box.x0 >= -1
                    and box.y0 >= -1
                    and box.x1 <= figure.bbox.x1 + 1
                    and box.y1 <= figure.bbox.y1 + 1
                )
                assert inside or not text.get_text(), (name, text, box)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: viz.plot_filters(autolab.nn.ReLU()),
            TypeError,
            "conv must be a convolution or its weight, got ReLU",
        ),
        (
            lambda: viz.plot_filters(autolab.nn.Linear(2, 2)),
            ValueError,
            r"conv must have a weight .* got \(2, 2\)",
        ),
        (
            lambda: viz.plot_filters("w"),
            TypeError,
            "conv must be a tensor or an array of real numbers, got str",
        ),
        (
            lambda: viz.plot_filters(np.ones((2, 1, 3, 3)), filters=[2]),
            IndexError,
            "filters has no index 2: there are 2",
        ),
        (
            lambda: viz.plot_filters(np.ones((2, 1, 3, 3)), filters=[]),
            TypeError,
            "filters must be indices",
        ),
        (
            lambda: viz.plot_filters(np.ones((2, 1, 3, 3)), filters=[0.5]),
            TypeError,
            "filters must be indices",
        ),
        (
            lambda: viz.plot_filters(np.ones((2, 1, 3, 3)), channels="a"),
            TypeError,
            "channels must be a tensor",
        ),
        (
            lambda: viz.plot_filters(np.ones((2, 1, 3)), channels=[0]),
            ValueError,
            "channels must be left out",
        ),
        (
            lambda: viz.plot_filters(np.ones((2, 1, 3, 3)), columns=0),
            ValueError,
            "columns must be an int, at least 1; got 0",
        ),
        (
            lambda: viz.plot_filters(np.ones((2, 1, 3, 3)), ax="here"),
            TypeError,
            "ax must be a matplotlib Axes, got str",
        ),
        (
            lambda: viz.plot_feature_maps(np.ones((2, 10))),
            ValueError,
            r"activations must have shape .* got \(2, 10\)",
        ),
        (
            lambda: viz.plot_feature_maps(np.ones((2, 1, 3, 3)), image=2),
            IndexError,
            "image has no index 2: there are 2",
        ),
        (
            lambda: viz.plot_feature_maps([[[1j]]]),
            TypeError,
            "activations must be a tensor or an array of real numbers",
        ),
        (
            lambda: viz.plot_confusion(np.ones((2, 3))),
            ValueError,
            r"matrix must have as many rows as columns, got shape \(2, 3\)",
        ),
        (lambda: viz.plot_confusion([[0, 0], [0, 0]]), ValueError, "matrix must hold counts"),
        (lambda: viz.plot_confusion([[1, -1], [0, 0]]), ValueError, "matrix must hold counts"),
        (
            lambda: viz.plot_confusion(([0], [0], [0])),
            ValueError,
            "matrix must be counts or .* got 3 items",
        ),
        (
            lambda: viz.plot_confusion(([0, 1], [0])),
            ValueError,
            "targets and predictions must be equally many, got 2 and 1",
        ),
        (
            lambda: viz.plot_confusion(([0.5], [0])),
            ValueError,
            r"targets must be class indices .* got float64 \(1,\)",
        ),
        (
            lambda: viz.plot_confusion(([0], [-1])),
            ValueError,
            r"predictions must be class indices .* with -1",
        ),
        (lambda: viz.plot_confusion(([], [])), ValueError, "targets must be class indices"),
        (
            lambda: viz.plot_confusion(([0, 2], [0, 1]), classes="ab"),
            ValueError,
            "classes has 2 names, but class 2 occurs",
        ),
        (
            lambda: viz.plot_confusion(([0, 1], [0, 1]), classes="ab"),
            ValueError,
            "classes must be a list of 2 names, got 'ab'",
        ),
        (
            lambda: viz.plot_confusion([[1]], classes=["a", "b"]),
            ValueError,
            "classes must be a list of 1 names",
        ),
        (
            lambda: viz.plot_misclassified(np.ones((2, 4)), [0, 0], [0, 1]),
            ValueError,
            r"images must have shape .* got \(2, 4\)",
        ),
        (
            lambda: viz.plot_misclassified(np.ones((1, 2, 2)), [0, 0], [0, 1]),
            ValueError,
            "images and targets must be equally many, got 1 and 2",
        ),
        (
            lambda: viz.plot_misclassified(np.ones((2, 2, 2)), [0, 0], [0, 1], n=0),
            ValueError,
            "n must be an int, at least 1; got 0",
        ),
        (
            lambda: viz.plot_misclassified(np.ones((2, 2, 2)), [0, 0], [0, 1], classes=["a"]),
            ValueError,
            "classes must be a list of 2 names at least",
        ),
        (
            lambda: viz.plot_weight_histograms(autolab.ones(3)),
            TypeError,
            "model must be a Module or a dict of name: tensor, got Tensor",
        ),
        (
            lambda: viz.plot_weight_histograms(autolab.nn.ReLU()),
            ValueError,
            "model has no parameters",
        ),
        (
            lambda: viz.plot_weight_histograms(autolab.nn.Linear(1, 1), only="conv"),
            ValueError,
            "no parameter with 'conv' in its name",
        ),
        (
            lambda: viz.plot_weight_histograms({"w": "a"}),
            TypeError,
            r"model\['w'\] must be a tensor or an array",
        ),
        (
            lambda: viz.plot_weight_histograms({"w": [1.0]}, bins=0),
            ValueError,
            "bins must be an int, at least 1; got 0",
        ),
        (
            lambda: viz.plot_weight_histograms({"w": [1.0]}, only=3),
            TypeError,
            "only must be a part of a parameter's name, got int",
        ),
        (
            lambda: viz.plot_gradient_histograms({"w": [1.0]}),
            TypeError,
            r"model\['w'\] must be a tensor with .grad, got list",
        ),
        (
            lambda: viz.plot_gradient_histograms(autolab.nn.Linear(1, 1)),
            ValueError,
            "model has no gradients",
        ),
    ],
)
def test_wrong_arguments_are_named_with_a_note_and_open_no_figure(call, error, message):
    with pytest.raises(error, match=message) as caught:
        call()
    assert caught.value.__notes__ and plt.get_fignums() == []
