"""The learner's own digit: kept between lessons, and the shipped one where there is none."""

import pytest

import autolab as torch
from autolab.lessons import hand


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_drawn_digit_is_there_in_the_next_lesson(folder):
    drawn = torch.zeros(32, 32)
    drawn[8:24, 15:17] = 1
    assert hand.save_digit(drawn, 1) == folder / hand.FILE
    image, label = hand.my_digit()
    assert (
        label == 1
        and image.shape == (1, 32, 32)
        and image.dtype is torch.float32
        and torch.equal(image[0], drawn)
    )


def test_who_draws_none_gets_the_shipped_digit_and_no_file(folder):
    image, label = hand.my_digit()
    assert (
        label == 7
        and image.dtype is torch.float32
        and 0 <= image.min() < 0.1 < 0.9 < image.max() <= 1
    )
    hand.save_digit(image * 0.5, 3)
    assert hand.save_digit(image, label) is None and not list(folder.iterdir()), (
        "who goes back to it has it again"
    )


@pytest.mark.parametrize("content", [b"", b"no file of NumPy's", b"PK\x03\x04 broken"])
def test_a_file_that_cannot_be_read_is_told_and_the_lesson_goes_on(folder, content):
    (folder / hand.FILE).write_bytes(content)
    with pytest.warns(UserWarning, match="cannot be read .*; the shipped digit takes its place"):
        assert hand.my_digit()[1] == 7


@pytest.mark.parametrize(
    ("image", "label", "message"),
    [
        (torch.zeros(28, 28), 3, r"shape \(1, 32, 32\), but is of \(28, 28\)"),
        (torch.full((32, 32), 255.0), 3, "numbers from 0 to 1"),
        (torch.zeros(32, 32), 10, "a digit from 0 to 9, but is 10"),
        (torch.zeros(32, 32), "3", "a digit from 0 to 9, but is '3'"),
    ],
)
def test_what_is_no_digit_is_refused(image, label, message):
    with pytest.raises(ValueError, match=message):
        hand.save_digit(image, label)


def test_the_network_has_78010_numbers_and_takes_the_shipped_7_for_a_1():
    network = hand.network()
    assert sum(p.numel() for p in network.parameters()) == 78_010 and not network.training
    image, label = hand.shipped_digit()
    with torch.no_grad():
        chances = network(image.unsqueeze(0)).softmax(1)[0]
    assert label == 7 and chances.argmax() == 1 and chances[1] > 0.9 and chances[7] < 0.01
    before = torch.random.get_rng_state()
    hand.network()
    assert torch.equal(before, torch.random.get_rng_state())
