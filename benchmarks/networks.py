"""Convolutional networks against PyTorch: LeNet and ResNet-9 training steps, ResNet-18 inference and head-only step; time and memory.

`python -m benchmarks.networks [--rounds 7] [--seconds 0.4] [--threads 1 2] [--works …] [--no-save]`

One process per backend and work; blocks in turns, so that a disturbance hits both alike. Where OpenBLAS does not know the processor and
runs kernels without AVX-512, the engine is measured a second time with OPENBLAS_CORETYPE=SKYLAKEX, which a user can set too.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

WORKS = {
    "lenet_32": ("LeNet training step, 32 images 28 x 28", {1: None, 2: 1.0}),
    "lenet_256": ("LeNet training step, 256 images 28 x 28", {1: None, 2: 1.4}),
    "resnet9_32": ("ResNet-9 training step, 32 images 32 x 32", {1: None, 2: 1.2}),
    "resnet18": ("ResNet-18 inference, 5 images 224 x 224", {1: None, 2: 1.3}),
    "resnet18_head": ("ResNet-18, step of the last layer only, 5 images 224 x 224", {1: None, 2: 1.3}),
}
MEMORY_TARGET = 0.6
VARIANT = "autolab, AVX-512 BLAS"


# -- networks ------------------------------------------------------------------------------------------------------------
def networks(torch):
    """LeNet, ResNet-9 and ResNet-18 in the words of `torch` (PyTorch or the engine)."""
    nn, F = torch.nn, torch.nn.functional

    class LeNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.conv2 = nn.Conv2d(1, 6, 5), nn.Conv2d(6, 16, 5)
            self.fc1, self.fc2, self.fc3 = nn.Linear(256, 120), nn.Linear(120, 84), nn.Linear(84, 10)

        def forward(self, x):
            x = F.max_pool2d(F.relu(self.conv1(x)), 2)
            x = F.max_pool2d(F.relu(self.conv2(x)), 2)
            return self.fc3(F.relu(self.fc2(F.relu(self.fc1(torch.flatten(x, 1))))))

    def unit(inputs, outputs, pool=False):
        layers = [nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)]
        return nn.Sequential(*layers, *([nn.MaxPool2d(2)] if pool else []))

    class ResNet9(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Sequential(unit(3, 64), unit(64, 128, True))
            self.first = nn.Sequential(unit(128, 128), unit(128, 128))
            self.middle = nn.Sequential(unit(128, 256, True), unit(256, 256, True))
            self.second = nn.Sequential(unit(256, 256), unit(256, 256))
            self.head = nn.Sequential(nn.MaxPool2d(4), nn.Flatten(), nn.Linear(256, 10))

        def forward(self, x):
            x = self.stem(x)
            x = self.middle(self.first(x) + x)
            return self.head(self.second(x) + x)

    class Block(nn.Module):
        def __init__(self, inputs, outputs, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
            self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
            self.bn1, self.bn2, self.relu = nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)
            self.down = None
            if stride != 1 or inputs != outputs:
                self.down = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

        def forward(self, x):
            y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
            y += x if self.down is None else self.down(x)
            return self.relu(y)

    class ResNet18(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Sequential(
                nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
            )
            widths = [
                (64, 64, 1),
                (64, 64, 1),
                (64, 128, 2),
                (128, 128, 1),
                (128, 256, 2),
                (256, 256, 1),
                (256, 512, 2),
                (512, 512, 1),
            ]
            self.layers = nn.Sequential(*(Block(*width) for width in widths))
            self.pool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(512, 1000)

        def forward(self, x):
            return self.fc(torch.flatten(self.pool(self.layers(self.stem(x))), 1))

    return LeNet, ResNet9, ResNet18


def build(backend: str, work: str):
    """The work as a function without arguments that returns the loss, or a number of the output."""
    torch = importlib.import_module(backend)
    F = torch.nn.functional
    LeNet, ResNet9, ResNet18 = networks(torch)
    torch.manual_seed(0)
    kind, _, batch = work.partition("_")
    if kind == "resnet18":
        model, x, target = ResNet18().eval(), torch.randn(5, 3, 224, 224), torch.arange(5) % 2
        if batch == "head":
            for parameter in model.parameters():
                parameter.requires_grad_(False)
            model.fc = torch.nn.Linear(512, 2)
    else:
        model = LeNet() if kind == "lenet" else ResNet9()
        x = torch.randn(int(batch), *((1, 28, 28) if kind == "lenet" else (3, 32, 32)))
        target = torch.arange(int(batch)) % 10
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.01)

    def step():
        loss = F.cross_entropy(model(x), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    def infer():
        with torch.no_grad():
            return model(x)[0, 0].item()

    return infer if work == "resnet18" else step


# -- measuring -----------------------------------------------------------------------------------------------------------
def worker(backend: str, work: str, threads: int) -> None:
    """Answers each line "<seconds>" of the standard input with medians as JSON."""
    if backend == "torch":
        importlib.import_module("torch").set_num_threads(threads)
    once = build(backend, work)
    for _ in range(3):
        once()
    print("ready", flush=True)
    for line in sys.stdin:
        times, cpu, began = [], time.process_time(), time.perf_counter()
        while len(times) < 3 or time.perf_counter() - began < float(line):
            before = time.perf_counter()
            once()
            times.append(time.perf_counter() - before)
        answer = {
            "wall": statistics.median(times) * 1e3,
            "cpu": (time.process_time() - cpu) / len(times) * 1e3,
            "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }
        print(json.dumps(answer), flush=True)


def _start(backend, work, threads, environment):
    counts = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.networks", "--worker", backend, work, str(threads)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | counts | environment,
    )
    return process if process.stdout.readline().strip() == "ready" else None


def unknown_processor() -> bool:
    """Whether the processor has AVX-512 and OpenBLAS runs kernels without it."""
    info = Path("/proc/cpuinfo")
    if not info.exists() or "avx512f" not in info.read_text():
        return False
    code = (
        "import ctypes, numpy\nfrom pathlib import Path\n"
        "for p in (Path(numpy.__file__).parent.parent / 'numpy.libs').glob('*openblas*'):\n"
        "    f = ctypes.CDLL(str(p)).scipy_openblas_get_corename64_; f.restype = ctypes.c_char_p; print(f().decode())"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip()
    return found in ("Haswell", "Zen", "Prescott")


def run(works, threads, rounds, seconds, say=print) -> list[dict]:
    """One dict per work and number of threads: medians per backend, ratios of neighbouring blocks to PyTorch's."""
    backends = {"torch": ("torch", {}), "autolab": ("autolab", {})}
    if unknown_processor():
        backends[VARIANT] = ("autolab", {"OPENBLAS_CORETYPE": "SKYLAKEX"})
    found = []
    for work in works:
        for n in threads:
            processes = {name: _start(backend, work, n, env) for name, (backend, env) in backends.items()}
            blocks = {name: [] for name, p in processes.items() if p is not None}
            for _ in range(rounds):
                for name in blocks:
                    processes[name].stdin.write(f"{seconds}\n")
                    processes[name].stdin.flush()
                    blocks[name].append(json.loads(processes[name].stdout.readline()))
            for name in blocks:
                processes[name].stdin.close()
                processes[name].wait(timeout=10)
            found.append(
                {"work": work, "threads": n, "load": round(os.getloadavg()[0], 1), "backends": _summary(blocks)}
            )
            say(_line(found[-1]))
    return found


def _summary(blocks):
    reference, summary = blocks.get("torch"), {}
    for name, measured in blocks.items():
        summary[name] = {
            key: round(statistics.median(b[key] for b in measured), 3) for key in ("wall", "cpu", "memory")
        }
        if reference:
            for key in ("wall", "cpu", "memory"):
                ratio = statistics.median(a[key] / b[key] for a, b in zip(measured, reference))
                summary[name][f"{key}_ratio"] = round(ratio, 2)
    return summary


def _line(result):
    parts = [
        f"{name} {b['wall']:.1f} ms ({b.get('wall_ratio', '–')}, CPU {b.get('cpu_ratio', '–')})"
        for name, b in result["backends"].items()
    ]
    return f"{result['work']}, {result['threads']} thread(s): " + "; ".join(parts)


def table(record: dict) -> str:
    """Markdown: one row per work, threads and backend."""
    lines = [
        f"# Convolutional networks, {record['date']}",
        "",
        *(f"- {key}: {value}" for key, value in record["machine"].items()),
        "",
        "Medians over blocks in turns; a ratio is the median of the ratios of neighbouring blocks to PyTorch's. With other work on the "
        "machine (see load) wall times of two threads mean little: compare CPU times.",
        "",
        "| work | threads | backend | wall ms | ratio (wall) | ratio (CPU) | target | peak MB | ratio | load |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for result in record["results"]:
        text, targets = WORKS[result["work"]]
        for name, b in result["backends"].items():
            target = targets.get(result["threads"]) if name != "torch" else None
            cells = (
                text,
                result["threads"],
                name,
                f"{b['wall']:.2f}",
                b.get("wall_ratio", "–"),
                b.get("cpu_ratio", "–"),
            )
            lines.append(
                f"| {' | '.join(map(str, cells))} | {target or '–'} | {b['memory']:.0f} | {b.get('memory_ratio', '–')} | {result['load']} |"
            )
    return "\n".join(lines) + f"\n\nTarget for peak memory: {MEMORY_TARGET} of PyTorch's process.\n"


def main() -> None:
    from .report import RESULTS, machine

    parser = argparse.ArgumentParser(prog="python -m benchmarks.networks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.4)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--works", nargs="+", default=list(WORKS), choices=list(WORKS))
    parser.add_argument("--no-save", action="store_true")
    options = parser.parse_args()
    about = {key: value for key, value in machine().items() if key != "threads"}
    record = {"date": datetime.date.today().isoformat(), "machine": about}
    record["results"] = run(options.works, options.threads, options.rounds, options.seconds)
    print("\n" + table(record))
    if not options.no_save:
        path = RESULTS / f"{record['date']}-networks.json"
        path.write_text(json.dumps(record, indent=1) + "\n")
        path.with_suffix(".md").write_text(table(record))
        print("written:", path)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        main()
