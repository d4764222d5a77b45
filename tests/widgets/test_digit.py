"""The pad for drawing a digit."""

import pytest
import traitlets

import autolab as torch


def test_what_is_on_the_pad_is_a_tensor():
    image = torch.zeros(32, 32)
    image[4:28, 15] = 1
    pad = torch.DrawDigit(image, 1)
    assert torch.equal(pad.image, image.unsqueeze(0)) and pad.label == 1 and not pad.blank
    assert repr(pad) == "DrawDigit(meant to be a 1, 24 of 1,024 pixels have ink)"
    pad.image.zero_()
    assert not pad.blank, "a new tensor each time"
    pad.pixels, pad.label = "00" * 1024, 4
    assert pad.blank and pad.label == 4 and torch.DrawDigit().blank


def test_it_is_seen_without_a_kernel():
    data = torch.DrawDigit(torch.full((1, 32, 32), 0.5), 3)._repr_mimebundle_()[0]
    assert data["text/html"].count("<rect") == 1025 and "meant to be a 3" in data["text/html"]


def test_what_is_no_digit_is_refused():
    with pytest.raises(ValueError, match=r"shape \(1, 32, 32\), but is of \(28, 28\)"):
        torch.DrawDigit(torch.zeros(28, 28))
    with pytest.raises(ValueError, match="numbers from 0 to 1"):
        torch.DrawDigit(torch.full((32, 32), 255.0))
    with pytest.raises(ValueError, match="from 0 to 9, but is 10"):
        torch.DrawDigit(label=10)
    pad = torch.DrawDigit()
    with pytest.raises(traitlets.TraitError, match="2048 hexadecimal digits"):
        pad.pixels = "00"
    with pytest.raises(traitlets.TraitError, match="from 0 to 9, but is 12"):
        pad.label = 12


def test_a_network_sees_what_is_drawn_also_before_a_stroke_ends():
    def brightness(images):  # more ink, more of a 1
        ink = images.sum()
        return torch.stack([torch.zeros(()), ink / 10, *torch.zeros(8)]).unsqueeze(0)

    pad = torch.DrawDigit(network=brightness)
    assert pad.sees and pad.probabilities == [], "nothing is drawn"
    pad.pixels = "ff" * 100 + "00" * 924
    assert pad.probabilities[1] > 0.99 and sum(pad.probabilities) == pytest.approx(1, abs=1e-5)
    pad._handle_custom_msg({"kind": "look", "pixels": "ff" * 5 + "00" * 1019}, [])
    assert 0.1 < pad.probabilities[1] < 0.2 and pad.image.sum() == 100, "the pad is as it was"
    assert torch.DrawDigit().sees is False
