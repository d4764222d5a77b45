"""Train the weights of `resnet_digits` that autolab includes: `python tools/pretrain_digits.py` (half a minute on one
processor).

Training uses the digits 0 to 4 of `Digits(train=True)`, rotated and shifted differently in each epoch. It never uses
the digits 5 to 9 or `Digits(train=False)`, so that fine-tuning on them is a new task.

The file is the same on every machine, bit for bit. The random stream is PyTorch's, and all weights and statistics are
rounded to multiples of 2^-16 after each step. The rounding removes differences in the last digits of float64 sums,
which depend on processor, threads and BLAS, before they grow.

    --check     train, and compare with the shipped file instead of writing it
"""

import argparse
import hashlib
import json
import struct
import sys
from pathlib import Path

import numpy as np

import autolab as torch
from autolab.vision.datasets import Digits
from autolab.vision.models import resnet_digits
from autolab.vision.transforms import Compose, InterpolationMode, RandomCrop, RandomRotation

FILE = (
    Path(torch.__file__).parent
    / "vision"
    / "models"
    / "data"
    / "resnet_digits-zero_to_four.safetensors"
)
CLASSES, SEED, EPOCHS, BATCH, LEARNING_RATE = 5, 0, 30, 32, 0.05
GRID = 2.0**-16


def images_and_labels(train):
    """Return the digits 0 to 4 as float64 images (N, 1, 32, 32) from 0 to 1, and their labels."""
    digits = Digits(train=train, size=32)
    known = digits.targets < CLASSES
    return digits.data[known].unsqueeze(1).double() / 255, digits.targets[known]


def randomly_moved(images, shake):
    """Return the batch with each image moved differently."""
    return torch.stack([shake(image) for image in images])


def round_to_grid(model):
    """Round all parameters and statistics to multiples of 2^-16, in place."""
    with torch.no_grad():
        for value in model.state_dict().values():
            if value.is_floating_point():
                value.copy_((value / GRID).round() * GRID + 0.0)  # removes negative zeros


def pretrain(epochs=EPOCHS):
    """Return the trained network in evaluation mode and float64."""
    images, labels = images_and_labels(train=True)
    torch.manual_seed(SEED)
    shake = Compose([RandomRotation(30, InterpolationMode.BILINEAR), RandomCrop(32, padding=4)])
    model = resnet_digits(num_classes=CLASSES).double()
    round_to_grid(model)
    optimizer = torch.optim.SGD(
        model.parameters(), lr=LEARNING_RATE, momentum=0.9, weight_decay=5e-4
    )
    steps = len(images) // BATCH
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, LEARNING_RATE, total_steps=epochs * steps
    )
    for epoch in range(epochs):
        order, total = torch.randperm(len(images)), 0.0
        for batch in order[: steps * BATCH].split(BATCH):
            loss = torch.nn.functional.cross_entropy(
                model(randomly_moved(images[batch], shake)), labels[batch]
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            round_to_grid(model)
            total += loss.item()
        print(f"epoch {epoch + 1:2}: loss {total / steps:.4f}", flush=True)
    return model.eval()


def safetensors_bytes(state_dict):
    """Return the bytes of a .safetensors file with these tensors, floats as float32. Source:
    https://github.com/huggingface/safetensors"""
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, value in sorted(state_dict.items()):
        array = value.numpy()
        if array.dtype == np.float64:
            array = array.astype("<f4")  # exact: a multiple of 2^-16 below 256
            assert np.array_equal(array, value.numpy()), (
                f"{name} is too large for float32 on the grid"
            )
        raw = array.tobytes()
        kind = {"float32": "F32", "int64": "I64"}[array.dtype.name]
        header[name] = {
            "dtype": kind,
            "shape": list(array.shape),
            "data_offsets": [len(data), len(data) + len(raw)],
        }
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def main():
    """Train, print the test accuracy and the checksum, and write or compare the file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    model = pretrain()
    images, labels = images_and_labels(train=False)
    with torch.no_grad():
        right = int((model(images).argmax(1) == labels).sum())
    content = safetensors_bytes(model.state_dict())
    print(
        f"test accuracy on the digits 0 to 4: {right} of {len(labels)}, {100 * right / len(labels):.3f} %"
    )
    print(f"{len(content)} bytes, SHA-256 {hashlib.sha256(content).hexdigest()}")
    if not check:
        FILE.write_bytes(content)
        return 0
    same = FILE.read_bytes() == content
    print("the same as the shipped file" if same else f"NOT the same as {FILE}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
