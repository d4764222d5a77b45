"""Many images as one, as torchvision puts them together."""

import io

import numpy as np
import pytest
from goldens.oracle import engine, error_of
from PIL import Image
from vision_oracle import check, vision

torch = engine()
if vision() is None:
    pytest.skip("torchvision is not installed", allow_module_level=True)


def images(t, *shape):
    count = t.Size(shape).numel()
    return ((t.arange(count) * 7 % count) / count * 3 - 1).reshape(shape)


GRIDS = {
    "grey": lambda t: (images(t, 5, 1, 2, 3), {"nrow": 3}),
    "colours, no padding": lambda t: (images(t, 4, 3, 2, 2), {"padding": 0}),
    "two channels": lambda t: (images(t, 3, 2, 2, 2), {"pad_value": 0.5, "nrow": 2}),
    "normalized": lambda t: (images(t, 3, 1, 2, 2), {"normalize": True}),
    "a range": lambda t: (images(t, 3, 3, 2, 2), {"normalize": True, "value_range": (-0.5, 1)}),
    "a list": lambda t: ([*images(t, 3, 1, 2, 2)], {}),
    "one image": lambda t: (images(t, 1, 2, 3), {}),
    "a batch of one": lambda t: (images(t, 1, 1, 2, 3), {"padding": 4}),
    "a flat image": lambda t: (images(t, 2, 3), {}),
    "bytes": lambda t: (images(t, 3, 1, 2, 2).mul(50).clamp(0, 255).to(t.uint8), {"pad_value": 9}),
    "a plain image": lambda t: (t.ones(2, 1, 2, 2), {"normalize": True}),
}


@pytest.mark.parametrize("name", GRIDS)
def test_make_grid(name):
    def program(v, t):
        tensor, options = GRIDS[name](t)
        before = [image.clone() for image in tensor]
        grid = v.utils.make_grid(tensor, **options)
        return [grid, grid.requires_grad, all(t.equal(a, b) for a, b in zip(before, tensor))]

    check(f"grid: {name}", program)


def test_save_image():
    def program(v, t):
        file = io.BytesIO()
        v.utils.save_image(images(t, 3, 1, 4, 5), file, format="png", nrow=2)
        return np.array(Image.open(file))

    check("save_image", program)


def test_errors():
    def program(v, t):
        return [
            error_of(action)
            for action in (
                lambda: v.utils.make_grid(3),
                lambda: v.utils.make_grid([t.ones(1, 2, 2), 3]),
                lambda: v.utils.make_grid(t.ones(2, 1, 2, 2), normalize=True, value_range=[0, 1]),
                lambda: v.utils.make_grid([t.ones(1, 2, 2), t.ones(1, 2, 3)]),
            )
        ]

    check("grid: errors", program)
