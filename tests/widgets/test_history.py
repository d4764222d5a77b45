"""The training dashboard's data of a run: curves of bounded size, examples, a confusion matrix."""

import base64
import json
import math
import re

import numpy as np
import pytest
from training_records import records

import autolab
from autolab.widgets.history import History, Series, read_confusion, read_examples


# -- curves ------------------------------------------------------------------------------------------------------------
def test_a_short_curve_is_kept_point_by_point():
    series = Series(4)
    for i in range(4):
        series.add(i, i * 1.5)
    assert series.to_json() == {"x": [0, 1, 2, 3], "y": [0, 1.5, 3, 4.5], "bad": [], "last": 4.5}


def test_a_long_curve_keeps_means_and_extremes():
    series = Series(4)
    for i in range(9):
        series.add(i, 100.0 if i == 2 else float(i))
    assert series.width == 4, "merged twice"
    assert series.points == [[3, 26.0, 0, 100, 4], [7, 5.5, 4, 7, 4], [8, 8, 8, 8, 1]]
    assert series.to_json()["high"] == [100, 7, 8] and series.to_json()["last"] == 8


def test_a_million_points_cost_as_little_as_a_thousand():
    series = Series()
    for i in range(100_000):
        series.add(i, math.sin(i / 1000))
    assert 200 < len(series.points) <= 400 and series.points[-1][0] == 99_999
    assert sum(point[4] for point in series.points) == 100_000


def test_what_is_not_finite_is_marked_and_not_averaged():
    series = Series(4)
    for i, y in enumerate([1.0, math.nan, 3.0, math.inf]):
        series.add(i, y)
    assert series.to_json() == {"x": [0, 2], "y": [1, 3], "bad": [1, 3], "last": "inf"}


def test_history_reads_records():
    history = History()
    for record in records(6, epochs=2):
        history.add(record)
    data = history.to_json()
    assert (data["count"], data["x"], data["epoch"], data["epochs"]) == (6, 6, 1, [4])
    assert data["series"]["train_loss"]["y"] == [1, 0.5, 0.33333, 0.25, 0.2, 0.16667]
    assert data["series"]["val_loss"]["x"] == [3, 6] and "val_accuracy" not in data["series"]
    norms = dict(data["norms"])
    assert (
        list(norms) == ["fc1", "fc2"]
        and norms["fc1"]["y"][:2] == [10, 5]
        and norms["fc2"]["last"] == 0
    )
    assert data["table"] == [
        {"epoch": 0, "step": 3, "train_loss": 0.33333, "val_loss": 0.66667},
        {"epoch": 1, "step": 6, "train_loss": 0.16667, "val_loss": 0.33333},
    ]
    assert history.records[1] == {
        "epoch": 0,
        "step": 2,
        "train_loss": 0.5,
        "gradient_norms": {"fc1": 5, "fc2": 0},
    }


def test_steps_that_begin_again_or_are_missing_go_on_counting():
    history = History()
    for step in (5, 6, 6, 1, 2, None, 20):
        history.add({"step": step, "train_loss": autolab.tensor(0.5)})
    assert history.to_json()["series"]["train_loss"]["x"] == [5, 6, 6, 7, 8, 9, 20]


def test_rates_of_several_groups():
    history = History()
    history.add({"learning_rate": 0.1}, [0.3])
    history.add({}, [0.2])
    assert history.to_json()["rates"] == {
        "learning rate": {"x": [1, 2], "y": [0.1, 0.2], "bad": [], "last": 0.2}
    }
    history = History()
    history.add({"learning_rate": 0.3}, [0.1, 0.3])
    history.add({"learning_rate": [0.2, 0.4]})
    assert {name: s["y"] for name, s in history.to_json()["rates"].items()} == {
        "group 0": [0.1, 0.2],
        "group 1": [0.3, 0.4],
    }


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (
            [1, 2],
            "record 0 of the training must be a dict such as {'step': 1, 'train_loss': 0.5}, got [1, 2]",
        ),
        (
            {"train_loss": "low"},
            "record 0['train_loss'] must be a number or a one-element tensor, got 'low'",
        ),
        ({"val_loss": [1.0, 2.0]}, "record 0['val_loss'] must be a number"),
        (
            {"gradient_norms": [1.0]},
            "record 0['gradient_norms'] must be a dict of layer: norm, got list",
        ),
        ({"gradient_norms": {"fc": None}}, "record 0['gradient_norms']['fc'] must be a number"),
    ],
)
def test_a_record_that_says_nothing_is_refused_whole(record, words):
    history = History()
    with pytest.raises(TypeError, match=re.escape(words)):
        history.add(record)
    assert history.records == [] and history.series == {}


def test_what_the_browser_gets_is_bounded():
    history, long = History(), "a" * 10
    for i in range(5000):
        norms = {f"{long}.{k}": 0.123456 * i for k in range(20)}
        history.add(
            {
                "epoch": i // 10,
                "train_loss": i / 7,
                "val_loss": i / 3,
                "learning_rate": 0.1,
                "gradient_norms": norms,
            }
        )
    data = history.to_json()
    assert len(json.dumps(data)) < 120_000 and len(history.records) == 5000
    assert (
        len(data["table"]) <= 60 and data["table"][-1]["epoch"] == 499 and len(data["epochs"]) <= 40
    )


# -- pictures ----------------------------------------------------------------------------------------------------------
def test_examples_and_confusion():
    images = np.zeros((15, 1, 2, 3))
    images[0, 0, 1] = [0, 4, 2]
    scores = np.full((15, 3), -9.0)
    scores[:, 1] = 0
    targets = np.array([1, 2] + [1] * 13)
    examples, counts = read_examples(
        (images, autolab.tensor(targets), autolab.tensor(scores)), ["cat", "dog", "emu"]
    )
    assert len(examples) == 12 and counts == [[0, 0, 0], [0, 14, 0], [0, 1, 0]]
    first = examples[0]
    assert (first["height"], first["width"], first["colour"], first["probability"]) == (
        2,
        3,
        False,
        1.0,
    )
    assert list(base64.b64decode(first["pixels"])) == [0, 0, 0, 0, 255, 128]
    assert [(e["target"], e["prediction"], e["right"]) for e in examples[:2]] == [
        ("dog", "dog", True),
        ("emu", "dog", False),
    ]


def test_the_examples_are_spread_over_images_sorted_by_class():
    targets = np.repeat(np.arange(5), 20)
    examples, counts = read_examples((np.zeros((100, 4, 4)), targets, targets))
    assert [e["target"] for e in examples] == list("000112223344")
    assert all(e["right"] for e in examples) and sum(map(sum, counts)) == 100


def test_colour_images_and_large_ones():
    images = np.zeros((1, 3, 100, 130))
    images[0, 0] = 1.0
    (example,), counts = read_examples(
        {"images": images, "targets": [0], "predictions": [0], "confusion": [[5]]}
    )
    assert (example["height"], example["width"], example["colour"]) == (
        34,
        44,
        True,
    ) and counts == [[5]]
    assert list(base64.b64decode(example["pixels"])[:6]) == [255, 0, 0] * 2


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([1], "examples must be a tuple (images, targets, predictions)"),
        ({"images": [[[1]]]}, "there is no targets and no predictions"),
        ((np.zeros((2, 3, 3)), [1], [1]), "2 images, but 1 targets"),
        ((np.zeros((2, 3)), [1, 1], [1, 1]), "images must have shape"),
    ],
)
def test_examples_that_do_not_fit(given, words):
    with pytest.raises((TypeError, ValueError), match=re.escape(words)):
        read_examples(given)


def test_confusion_of_a_record():
    assert read_confusion(([0, 1, 1], [0, 1, 0])) == [[1, 0], [1, 1]]
    with pytest.raises(ValueError, match="as many rows as columns"):
        read_confusion([[1, 2]])
