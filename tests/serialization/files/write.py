"""Writes the files in this folder with PyTorch 2.13: `python tests/serialization/files/write.py`. The tests read them
without it."""

import sys
from pathlib import Path

import torch

HERE = Path(__file__).parent


def values():
    """One of everything that a checkpoint may hold; the tests know these values."""
    x = torch.arange(12.0).reshape(3, 4)
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    with torch.no_grad():
        for number, p in enumerate(model.parameters()):
            p.fill_(number + 0.5)
    return {
        "x": x,
        "transposed": x.t(),
        "part": x[1:, 1:3],
        "parameter": torch.nn.Parameter(torch.tensor([1.5, -2.5])),
        "frozen": torch.nn.Parameter(torch.tensor([7.0]), requires_grad=False),
        "asking": torch.tensor([3.0], requires_grad=True),
        "half": torch.tensor([0.1, 65504.0], dtype=torch.float16),
        "bfloat16": torch.tensor([0.1, -3e38], dtype=torch.bfloat16),
        "double": torch.tensor([0.1], dtype=torch.float64),
        "ints": [
            torch.tensor([1, -1], dtype=d)
            for d in (torch.int8, torch.int16, torch.int32, torch.int64)
        ],
        "bytes": torch.tensor([0, 255], dtype=torch.uint8),
        "uint16": torch.tensor([0, 65535], dtype=torch.uint16),
        "bool": torch.tensor([True, False]),
        "scalar": torch.tensor(2.5),
        "empty": torch.empty(0, 3),
        "expanded": torch.tensor([4.0]).expand(3),
        "state": model.state_dict(),
        "plain": {
            "list": [1, 2.5, None, True, "text", (1, 2), b"bytes", {1, 2}, 1 + 2j, 2**70],
            3: "three",
        },
        "size": torch.Size([2, 3]),
        "dtype": torch.float16,
        "device": torch.device("cpu"),
    }


def optimizer_state():
    torch.manual_seed(0)
    p = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    optimizer = torch.optim.Adam([p], lr=0.1)
    for _ in range(3):
        p.grad = p.detach() * 2
        optimizer.step()
    return {"p": p, "optimizer": optimizer.state_dict()}


def main():
    torch.save(values(), HERE / "values.pth")
    torch.save(values(), HERE / "legacy.pth", _use_new_zipfile_serialization=False)
    torch.save(optimizer_state(), HERE / "optimizer.pth")
    torch.save(torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.Tanh()), HERE / "module.pth")
    torch.save({"x": torch.arange(3.0)}, HERE / "plain.pth")
    print(torch.__version__, {path.name: path.stat().st_size for path in HERE.glob("*.pth")})


if __name__ == "__main__":
    sys.exit(main())
