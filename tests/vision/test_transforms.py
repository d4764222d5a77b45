"""Transforms: torchvision's pixels for the same seed, its reprs, its errors; arrays are treated as tensors are."""

import numpy as np
import pytest
from goldens.oracle import engine, error_of
from PIL import Image
from vision_oracle import check, vision

torch = engine()
if vision() is None:
    pytest.skip("torchvision is not installed", allow_module_level=True)
T = vision().transforms
ours = pytest.mark.skipif(torch.__name__ != "autolab", reason="what autolab adds to torchvision")


def rgb(h=8, w=10):
    """An RGB picture with edges and noise, as an array (h, w, 3)."""
    pixels = np.random.RandomState(0).randint(0, 256, (h, w, 3))
    pixels[2:6, 3:9] = [250, 30, 80]
    return pixels.astype(np.uint8)


def modes():
    """Pillow images of every mode in use."""
    colour = Image.fromarray(rgb())
    return {
        "RGB": colour,
        **{mode: colour.convert(mode) for mode in ("L", "1", "P", "LA", "RGBA", "CMYK", "F", "I")},
        "I;16": Image.fromarray(rgb()[:, :, 0].astype(np.uint16) * 100),
    }


def shown(img):
    """An image of any kind as data."""
    if isinstance(img, Image.Image):
        return [img.mode, np.array(img.convert("RGB") if img.mode == "P" else img)]
    return img


def tensors(t):
    return {
        "float": t.from_numpy(rgb().transpose(2, 0, 1) / np.float32(255)),
        "double batch": t.from_numpy(
            np.stack([rgb(), 255 - rgb()])[..., :1].transpose(0, 3, 1, 2) / 255
        ),
        "bytes": t.from_numpy(np.ascontiguousarray(rgb().transpose(2, 0, 1))),
        "grey": t.from_numpy(np.ascontiguousarray(rgb()[:, :, :1].transpose(2, 0, 1))),
    }


def images(t):
    pil = modes()
    return {**tensors(t), **{mode: pil[mode] for mode in ("RGB", "L")}}


FIXED = {
    "Compose": lambda T, t: T.Compose([T.CenterCrop(6), T.Pad(1)]),
    "Resize smaller": lambda T, t: T.Resize((5, 6)),
    "Resize larger": lambda T, t: T.Resize((20, 23)),
    "Resize shorter side": lambda T, t: T.Resize(7),
    "Resize no antialias": lambda T, t: T.Resize((5, 20), antialias=None),
    "Resize nearest": lambda T, t: T.Resize((5, 20), T.InterpolationMode.NEAREST),
    "Resize same": lambda T, t: T.Resize((8, 10)),
    "CenterCrop": lambda T, t: T.CenterCrop((5, 8)),
    "CenterCrop odd": lambda T, t: T.CenterCrop(6),
    "CenterCrop larger": lambda T, t: T.CenterCrop((20, 9)),
    "Pad": lambda T, t: T.Pad(2),
    "Pad two": lambda T, t: T.Pad((1, 3), fill=7),
    "Pad edge": lambda T, t: T.Pad((1, 2, 3, 4), padding_mode="edge"),
    "Pad reflect": lambda T, t: T.Pad(3, padding_mode="reflect"),
    "Pad symmetric": lambda T, t: T.Pad([4, 2], padding_mode="symmetric"),
    "Grayscale": lambda T, t: T.Grayscale(),
    "Grayscale 3": lambda T, t: T.Grayscale(3),
    "Lambda": lambda T, t: T.Lambda(lambda img: T.functional.vflip(img)),
}
RANDOM = {
    "RandomCrop": lambda T, t: T.RandomCrop(6),
    "RandomCrop padding": lambda T, t: T.RandomCrop((11, 9), padding=4, fill=9),
    "RandomCrop reflect": lambda T, t: T.RandomCrop(11, padding=2, padding_mode="reflect"),
    "RandomCrop if needed": lambda T, t: T.RandomCrop((16, 5), pad_if_needed=True),
    "RandomHorizontalFlip": lambda T, t: T.RandomHorizontalFlip(),
    "RandomVerticalFlip": lambda T, t: T.RandomVerticalFlip(p=0.7),
    "RandomGrayscale": lambda T, t: T.RandomGrayscale(p=0.5),
    "RandomRotation": lambda T, t: T.RandomRotation(40),
    "RandomRotation bilinear": lambda T, t: T.RandomRotation(
        (10, 80), T.InterpolationMode.BILINEAR, fill=3
    ),
    "ColorJitter": lambda T, t: T.ColorJitter(0.4, 0.5, 0.6),
    "ColorJitter ranges": lambda T, t: T.ColorJitter((0.5, 0.9), contrast=(1.2, 1.4)),
    "GaussianBlur": lambda T, t: T.GaussianBlur(3),
    "GaussianBlur fixed": lambda T, t: T.GaussianBlur((5, 3), sigma=1.3),
    "RandomResizedCrop": lambda T, t: T.RandomResizedCrop(8),
    "RandomResizedCrop fallback": lambda T, t: T.RandomResizedCrop(
        (4, 6), scale=(3.0, 4.0), ratio=(0.2, 0.5)
    ),
    "RandomApply": lambda T, t: T.RandomApply([T.CenterCrop(5), T.Pad(1)], p=0.4),
}
ON_TENSORS = {
    "Normalize": lambda T, t: T.Normalize((0.5, 0.4, 0.3), (0.5, 0.2, 0.25)),
}
AUGMENTS = {
    "RandAugment": lambda T, t: T.RandAugment(),
    "RandAugment strong": lambda T, t: T.RandAugment(4, 20, 25, fill=5),
    "TrivialAugmentWide": lambda T, t: T.TrivialAugmentWide(),
    "TrivialAugmentWide filled": lambda T, t: T.TrivialAugmentWide(num_magnitude_bins=11, fill=[9]),
}
ALL = {**FIXED, **RANDOM, **ON_TENSORS, **AUGMENTS}


@pytest.mark.parametrize("name", [name for name in FIXED if name != "Resize same"])
def test_fixed(name):
    def program(v, t):
        transform = FIXED[name](v.transforms, t)
        found = {kind: transform(img) for kind, img in images(t).items()}
        return {
            kind: [*map(shown, img)] if isinstance(img, tuple) else shown(img)
            for kind, img in found.items()
        }

    check(name, program)


@pytest.mark.parametrize("name", RANDOM)
def test_random(name):
    def program(v, t):
        t.manual_seed(4)
        transform = RANDOM[name](v.transforms, t)
        found = {kind: [shown(transform(img)) for _ in range(2)] for kind, img in images(t).items()}
        return [found, t.rand(1)]

    check(name, program, rtol=1e-5)


@pytest.mark.parametrize("name", AUGMENTS)
def test_augmentation(name):
    """Of Pillow images; torchvision takes tensors of bytes too."""

    def program(v, t):
        t.manual_seed(4)
        transform = AUGMENTS[name](v.transforms, t)
        pictures = {"big": Image.fromarray(rgb(20, 24)), "L": modes()["L"], "RGB": modes()["RGB"]}
        shots = {kind: [shown(transform(img)) for _ in range(16)] for kind, img in pictures.items()}
        return [shots, t.rand(1)]

    check(name, program)


def test_functions_of_colours():
    """What the random transforms do not reach."""

    def program(v, t):
        F, found = v.transforms.functional, []
        for img in images(t).values():
            found.append(shown(F.gaussian_blur(img, [3, 5])))
            found.append([shown(F.adjust_contrast(img, 0.0)), shown(F.adjust_saturation(img, 3.0))])
        jitter = v.transforms.ColorJitter(0.4, 0.5, 0.6, 0.2)
        for mode in ("L", "RGB", "RGBA", "I", "F"):
            found.append(shown(F.adjust_hue(modes()[mode], 0.2)))
        t.manual_seed(1)
        found += [shown(jitter(modes()["RGB"])) for _ in range(3)]
        return found

    check("colours", program, rtol=1e-5)


@pytest.mark.parametrize("name", ON_TENSORS)
def test_on_tensors(name):
    def program(v, t):
        t.manual_seed(4)
        transform = ON_TENSORS[name](v.transforms, t)
        return [[transform(tensors(t)["float"]) for _ in range(3)], t.rand(1)]

    check(name, program)


def test_reprs():
    def program(v, t):
        T = v.transforms
        shown = {name: repr(made(T, t)) for name, made in ALL.items()}
        shown["ToTensor"] = repr(T.ToTensor())
        shown["PILToTensor"] = repr(T.PILToTensor())
        shown["ToPILImage"] = repr([T.ToPILImage(), T.ToPILImage("RGB")])
        shown["Pillow's number"] = repr(T.Resize(3, 2))
        shown["nested"] = repr(T.Compose([T.Compose([T.ToTensor()]), T.Normalize([0.5], [0.5])]))
        shown["modes"] = [repr(mode) for mode in T.InterpolationMode]
        return shown

    check("reprs", program)


def test_between_the_kinds():
    def program(v, t):
        T, found = v.transforms, {}
        for mode, img in modes().items():
            found[mode] = [T.ToTensor()(img), T.functional.get_dimensions(img)]
            if mode not in ("P", "I;16"):
                found[mode].append(T.PILToTensor()(img))
        for name, array in {
            "array": rgb(),
            "grey array": rgb()[:, :, 0],
            "float array": rgb() / 255,
            "int array": rgb().astype(np.int32)[:, :, :1],
        }.items():
            found[name] = T.ToTensor()(array)
            if array.ndim == 2 or array.dtype != np.int64:
                found[name + " as picture"] = shown(T.ToPILImage()(array))
        for name, tensor in tensors(t).items():
            if tensor.ndim == 3:
                found[name + " as picture"] = shown(T.ToPILImage()(tensor))
        found["with mode"] = shown(T.ToPILImage("HSV")(rgb()))
        found["F"] = shown(T.ToPILImage("F")(t.rand(1, 2, 3) * 0 + 0.25))
        found["four"] = shown(T.ToPILImage()(np.dstack([rgb(), rgb()[:, :, :1]])))
        return found

    check("kinds", program)


def test_convert_image_dtype():
    def program(v, t):
        convert = v.transforms.functional.convert_image_dtype
        levels = [0.0, 0.3, 0.999, 1.0]
        floats = [t.tensor(levels), t.tensor(levels, dtype=t.float64)]
        integers = [t.tensor([0, 1, 127], dtype=dtype) for dtype in (t.uint8, t.int16, t.int32)]
        found = {}
        for value in floats + integers:
            for wanted in (t.float32, t.float64, t.uint8, t.int32, t.int64):
                if value.is_floating_point() or wanted.is_floating_point:
                    key = f"{value.dtype} to {wanted}"
                    found[key] = error_of(lambda: convert(value, wanted)) or convert(value, wanted)
        return found

    check("convert_image_dtype", program)


def test_errors():
    def program(v, t):
        T, F = v.transforms, v.transforms.functional
        pil, tensor = modes()["RGB"], tensors(t)["float"]
        return {
            name: error_of(action)
            for name, action in {
                "crop": lambda: T.RandomCrop(20)(pil),
                "size": lambda: T.Resize((1, 2, 3)),
                "size type": lambda: T.Resize("3"),
                "crop size": lambda: T.CenterCrop((1, 2, 3)),
                "interpolation": lambda: F.resize(pil, 3, "bilinear"),
                "lanczos": lambda: (
                    None if t is None else F.rotate(tensor, 3.0, T.InterpolationMode.BICUBIC)
                ),
                "padding": lambda: T.Pad("1"),
                "padding length": lambda: T.Pad((1, 2, 3)),
                "padding mode": lambda: T.Pad(1, padding_mode="zeros"),
                "fill": lambda: T.Pad(1, fill="red"),
                "grey": lambda: T.Grayscale(2)(pil),
                "channels": lambda: T.Grayscale()(t.ones(2, 3, 3)),
                "lambda": lambda: T.Lambda(3),
                "normalize PIL": lambda: T.Normalize([0.5], [0.5])(pil),
                "normalize bytes": lambda: T.Normalize([0.5], [0.5])(
                    t.ones(1, 2, 2, dtype=t.uint8)
                ),
                "normalize flat": lambda: T.Normalize([0.5], [0.5])(t.ones(2, 2)),
                "normalize by 0": lambda: T.Normalize([0.5], [0.0])(t.ones(1, 2, 2)),
                "degrees": lambda: T.RandomRotation(-3),
                "degrees length": lambda: T.RandomRotation([1, 2, 3]),
                "to_tensor list": lambda: T.ToTensor()([1, 2]),
                "to_tensor 4d": lambda: T.ToTensor()(np.zeros((1, 2, 3, 4))),
                "picture of list": lambda: T.ToPILImage()([1]),
                "picture of 5 channels": lambda: T.ToPILImage()(t.ones(5, 2, 2)),
                "picture of 4d": lambda: T.ToPILImage()(t.ones(1, 3, 2, 2)),
                "picture of int64": lambda: T.ToPILImage()(t.ones(3, 2, 2, dtype=t.int64)),
                "mode": lambda: T.ToPILImage("RGBA")(rgb()),
                "jitter": lambda: T.ColorJitter(-0.5),
                "jitter range": lambda: T.ColorJitter(hue=0.7),
                "jitter order": lambda: T.ColorJitter(contrast=(2, 1)),
                "jitter kind": lambda: T.ColorJitter("much"),
                "hue": lambda: F.adjust_hue(tensor, 0.7),
                "brightness": lambda: F.adjust_brightness(tensor, -1),
                "contrast": lambda: F.adjust_contrast(tensor, -1),
                "saturation": lambda: F.adjust_saturation(tensor, -0.5),
                "four channels": lambda: F.adjust_brightness(t.ones(4, 2, 2), 1.0),
                "even kernel": lambda: T.GaussianBlur(4),
                "kernel": lambda: T.GaussianBlur((3, 3, 3)),
                "sigma": lambda: T.GaussianBlur(3, -1),
                "sigma order": lambda: T.GaussianBlur(3, (2, 1)),
                "sigma length": lambda: T.GaussianBlur(3, (2, 1, 3)),
                "blur size": lambda: F.gaussian_blur(tensor, 2),
                "blur kind": lambda: F.gaussian_blur(tensor, "3"),
                "blur length": lambda: F.gaussian_blur(tensor, [3, 3, 3]),
                "blur sigma": lambda: F.gaussian_blur(tensor, 3, 0.0),
                "blur sigma length": lambda: F.gaussian_blur(tensor, 3, [1.0, 1.0, 1.0]),
                "blur sigma kind": lambda: F.gaussian_blur(tensor, 3, "1"),
                "vector": lambda: F.hflip(t.ones(3)),
                "dtype of PIL": lambda: F.convert_image_dtype(pil),
            }.items()
        }

    check("errors of transforms", program)


def test_an_image_that_fits_is_returned_as_it_is():
    pil = modes()["RGB"]
    assert T.Resize((8, 10))(pil) is pil and T.Resize(8)(pil) is pil


def test_normalize_in_place_changes_the_tensor():
    image = torch.ones(1, 2, 2)
    assert T.Normalize([0.5], [0.25])(image) is not image and image.tolist() == [
        [[1.0, 1.0], [1.0, 1.0]]
    ]
    assert T.Normalize([0.5], [0.25], inplace=True)(image) is image and image.tolist() == [
        [[2.0, 2.0], [2.0, 2.0]]
    ]


@ours
def test_options_and_images_that_are_refused():
    """torchvision takes the options; arrays it refuses too."""
    refused = {
        "expand": lambda: T.RandomRotation(3, expand=True),
        "center": lambda: T.RandomRotation(3, center=(2, 3)),
        "padding": lambda: T.Pad(-1)(torch.ones(1, 4, 4)),
        "before ToTensor": lambda: T.RandAugment()(torch.ones(3, 4, 4, dtype=torch.uint8)),
        "ToTensor": lambda: T.Resize(3)(rgb()),
        "put ColorJitter(hue": lambda: T.functional.adjust_hue(torch.ones(3, 4, 4), 0.1),
        "float32 first": lambda: T.functional.convert_image_dtype(
            torch.ones(2, dtype=torch.uint8), torch.int16
        ),
    }
    for part, action in refused.items():
        with pytest.raises((NotImplementedError, TypeError)) as error:
            action()
        assert part in "\n".join([str(error.value), *error.value.__notes__])


@ours
def test_pillow_is_needed_only_for_pillow_images(monkeypatch):
    import sys

    for name in [name for name in sys.modules if name.split(".")[0] == "PIL"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "PIL", None)
    chain = T.Compose(
        [T.ToTensor(), T.Resize(8), T.RandomCrop(6, padding=1), T.RandomHorizontalFlip()]
    )
    assert chain(rgb()).shape == (3, 6, 6)
    with pytest.raises(ImportError, match="this needs the package Pillow"):
        T.ToPILImage()(rgb())


ON_DEVICES = {
    "pad": lambda F, M, i: F.pad(i, [2, 1], fill=1),
    "pad, edge": lambda F, M, i: F.pad(i, 2, padding_mode="edge"),
    "crop": lambda F, M, i: F.crop(i, -1, -1, 4, 4),
    "center_crop": lambda F, M, i: F.center_crop(i, 12),
    "flips": lambda F, M, i: F.vflip(F.hflip(i)),
    "resize": lambda F, M, i: F.resize(i, [4, 5]),
    "rotate": lambda F, M, i: F.rotate(i, 30),
    "rotate, bilinear": lambda F, M, i: F.rotate(i, 30, M.BILINEAR, fill=1),
    "grey": lambda F, M, i: F.rgb_to_grayscale(i, 3),
    "colours": lambda F, M, i: F.adjust_saturation(
        F.adjust_contrast(F.adjust_brightness(i, 1.5), 1.5), 0.5
    ),
    "blur": lambda F, M, i: F.gaussian_blur(i, [3, 5]),
}


@pytest.mark.skipif(not hasattr(torch.cuda, "simulate"), reason="autolab's own devices")
@pytest.mark.parametrize("name", ON_DEVICES)
def test_images_on_a_device_stay_there(name):
    """And get the numbers that they get on the CPU."""
    F, M = T.functional, T.InterpolationMode
    image = torch.from_numpy(np.random.RandomState(0).rand(3, 9, 8).astype(np.float32))
    for img in (image, F.convert_image_dtype(image, torch.uint8)):
        here, there = ON_DEVICES[name](F, M, img), ON_DEVICES[name](F, M, img.to("sim"))
        assert str(there.device) == "sim:0" and there.dtype is here.dtype
        torch.testing.assert_close(there.cpu(), here)
