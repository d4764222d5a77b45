"""A GPU against the CPU, and against PyTorch on the same GPU: `python -m benchmarks.gpu [--device cuda|sim] [--quick]
[--no-save]`

Products of matrices and chains of elementwise ops over sizes, with the size from which the GPU is faster; a training
step of LeNet and of ResNet-18 over batch sizes with its peak memory; a step of SGD and of Adam. Results go to
benchmarks/results/<date>-<device>.{json,md}. `--device sim` runs the same on a simulated GPU: its times are computed
from the data sheet of the profile (`--profile`), not measured, and are never saved.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import re
import statistics
import sys
import time

import autolab

from . import networks, report

SIMULATED = "SIMULATED: computed from the data sheet of a {name}, not measured"


class Place:
    """Where a work runs: a library (`autolab` or `torch`), a device, and how time passes there."""

    def __init__(self, library, device, seconds):
        self.name, self.device, self.seconds = library, device, seconds
        self.torch = importlib.import_module(library)
        self.on_gpu = device != "cpu"
        self.simulated = (
            library == "autolab" and autolab.cuda.is_available() and autolab.cuda.is_simulated()
        )

    def now(self):
        """Seconds, with nothing left to do on the GPU."""
        if self.on_gpu:
            self.torch.cuda.synchronize()
        return autolab.cuda.perf_counter() if self.simulated else time.perf_counter()

    def measure(self, run):
        """Seconds that `run()` takes: the median of five blocks; on a simulated GPU of one call, for all are the
        same."""
        run()
        if self.simulated:
            began = self.now()
            run()
            return self.now() - began
        began, count = self.now(), 0
        while self.now() - began < self.seconds / 5:
            run()
            count += 1
        blocks = []
        for _ in range(5):
            began = self.now()
            for _ in range(count):
                run()
            blocks.append((self.now() - began) / count)
        return statistics.median(blocks)

    def peak(self, run):
        """The most bytes that tensors occupied on the GPU while `run()` ran; None for the CPU."""
        if not self.on_gpu:
            return None
        self.torch.cuda.reset_peak_memory_stats()
        run()
        return self.torch.cuda.max_memory_allocated()


# -- the works: each builds a function to be timed ---------------------------------------------------------------------
def matmul(place, n):
    a, b = (place.torch.ones(n, n, device=place.device) for _ in range(2))
    return lambda: a @ b


def chain(place, n):
    x = place.torch.ones(n, device=place.device)
    return lambda: ((x * 2 + 1).tanh() * x).relu()


def training_step(place, model, x, target):
    """One step of SGD with momentum, as a function without arguments."""
    torch = place.torch
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def step():
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), target).backward()
        optimizer.step()

    return step


def lenet(place, batch):
    return _step_of(place, 0, (batch, 1, 28, 28))


def resnet18(place, batch):
    return _step_of(place, 2, (batch, 3, 224, 224))


def _step_of(place, which, shape):
    torch = place.torch
    torch.manual_seed(0)
    model = networks.networks(torch)[which]().to(place.device)
    x = torch.randn(*shape).to(place.device)
    return training_step(place, model, x, (torch.arange(shape[0]) % 10).to(place.device))


def optimizer(place, kind):
    torch = place.torch
    model = networks.networks(torch)[0]().to(place.device)
    for p in model.parameters():
        p.grad = torch.ones_like(p)
    made = {"SGD": lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9), "Adam": torch.optim.Adam}[
        kind
    ](model.parameters())
    return made.step


SIZES = {
    matmul: (16, 64, 128, 256, 512, 1024, 2048, 4096),
    chain: (10**2, 10**3, 10**4, 10**5, 10**6, 10**7),
    lenet: (1, 8, 32, 128, 512),
    resnet18: (1, 8, 32),
    optimizer: ("SGD", "Adam"),
}
QUICK = {
    matmul: (16, 128, 512, 2048),
    chain: (10**2, 10**4, 10**6),
    lenet: (1, 32, 512),
    resnet18: (4,),
    optimizer: ("SGD", "Adam"),
}


def run(places, sizes, say=lambda text: None):
    """One result per work, size and place: {work, size, place, seconds, peak}."""
    results = []
    for work, values in sizes.items():
        for size in values:
            for place in places:
                if work is optimizer and place.simulated and not place.on_gpu:
                    continue  # the simulated clock counts no steps of optimizers on the CPU
                label = f"{place.name} {'gpu' if place.on_gpu else 'cpu'}"
                step = work(place, size)
                seconds, peak = (
                    place.measure(step),
                    place.peak(step) if work in (lenet, resnet18) else None,
                )
                results.append(
                    {
                        "work": work.__name__,
                        "size": size,
                        "place": label,
                        "seconds": seconds,
                        "peak": peak,
                    }
                )
                say(f"{work.__name__} {size} {label}: {_time(seconds)}")
                del step
    return results


def crossover(results, work, library="autolab"):
    """The smallest size from which the GPU is faster than the CPU for all bigger ones; None when there is none."""
    times = {(r["size"], r["place"]): r["seconds"] for r in results if r["work"] == work}
    sizes, found = sorted({size for size, _ in times}), None
    for size in reversed(sizes):
        if times[size, f"{library} gpu"] >= times[size, f"{library} cpu"]:
            break
        found = size
    return found


def describe():
    """The GPU that 'cuda' means, as plain data."""
    p = autolab.cuda.get_device_properties(0)
    found = {
        "name": p.name,
        "memory": p.total_memory,
        "capability": f"{p.major}.{p.minor}",
        "multiprocessors": p.multi_processor_count,
    }
    if not p.is_simulated:
        import cupy

        runtime = cupy.cuda.runtime
        found |= {
            "driver": runtime.driverGetVersion(),
            "cuda": runtime.runtimeGetVersion(),
            "cupy": cupy.__version__,
        }
    return found | {"simulated": p.is_simulated}


def measure(seconds=0.5, sizes=SIZES, say=lambda text: None):
    """The whole record, on what 'cuda' means now. PyTorch is measured where it has CUDA and the GPU is a real one."""
    places = [Place("autolab", "cpu", seconds), Place("autolab", "cuda", seconds)]
    device = describe()
    versions = {"autolab": autolab.__version__}
    if not device["simulated"] and importlib.util.find_spec("torch"):
        import torch

        if torch.cuda.is_available():
            places.append(Place("torch", "cuda", seconds))
            versions["torch"] = torch.__version__
    return {
        "date": report.today(), "device": device, "machine": report.machine(), "versions": versions, "results": run(places, sizes, say),
    }  # fmt: skip


# -- words -------------------------------------------------------------------------------------------------------------
def _time(seconds):
    return f"{seconds * 1e3:.3f} ms"


def text(record):
    """The record as Markdown."""
    device, results = record["device"], record["results"]
    title = (
        SIMULATED.format(name=device["name"].removeprefix("Simulated "))
        if device["simulated"]
        else device["name"]
    )
    about = {
        **device,
        **record["machine"],
        **{f"{k} version": v for k, v in record["versions"].items()},
    }
    lines = [f"# {title}", "", *(f"- {k}: {v}" for k, v in about.items()), ""]
    for work in dict.fromkeys(r["work"] for r in results):
        rows = [r for r in results if r["work"] == work]
        places = list(dict.fromkeys(r["place"] for r in rows))
        peaks = any(r["peak"] for r in rows)
        heads = [
            "size",
            *places,
            *([f"{p}, peak MiB" for p in places if p.endswith("gpu")] if peaks else []),
        ]
        lines += [f"## {work}", "", "| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
        for size in dict.fromkeys(r["size"] for r in rows):
            at = {r["place"]: r for r in rows if r["size"] == size}
            cells = [str(size), *(_time(at[p]["seconds"]) if p in at else "" for p in places)]
            cells += [
                f"{at[p]['peak'] / 2**20:.2f}"
                for p in places
                if peaks and at[p]["peak"] is not None
            ]
            lines.append("| " + " | ".join(cells) + " |")
        if work in ("matmul", "chain"):
            size = crossover(results, work)
            lines += [
                "",
                f"The GPU is faster from size {size} on."
                if size
                else "The GPU is not faster at any of these sizes.",
            ]
        lines.append("")
    return "\n".join(lines)


def write(record, folder=report.RESULTS):
    """Writes <date>-<device>.json and .md; returns the path of the second. Raises ValueError for a simulated GPU."""
    if record["device"]["simulated"]:
        raise ValueError("times of a simulated GPU are not measured and are not saved")
    folder.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^a-z0-9]+", "-", record["device"]["name"].lower()).strip("-")
    path = folder / f"{record['date']}-{name}"
    path.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n")
    path.with_suffix(".md").write_text(text(record))
    return path.with_suffix(".md")


def main(arguments=None):
    """Measure, print, and save what was measured; return the path of the report, or None where nothing was saved."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument(
        "--device", choices=("cuda", "sim"), help="default: cuda where there is one, else sim"
    )
    parser.add_argument("--profile", default="T4", help="of the simulated GPU (default T4)")
    parser.add_argument(
        "--seconds", type=float, default=0.5, help="for each measurement (default 0.5)"
    )
    parser.add_argument("--quick", action="store_true", help="fewer sizes")
    parser.add_argument("--no-save", action="store_true", help="print only")
    options = parser.parse_args(arguments)
    device = options.device or ("cuda" if autolab.cuda.is_available() else "sim")
    if device == "cuda" and not autolab.cuda.is_available():
        sys.exit('No GPU is usable here: install the extra "gpu", or take --device sim.')
    simulation = (
        autolab.cuda.simulate(memory=None, profile=options.profile) if device == "sim" else None
    )
    try:
        record = measure(
            options.seconds,
            QUICK if options.quick else SIZES,
            lambda line: print(line, file=sys.stderr),
        )
    finally:
        if simulation is not None:
            simulation.stop()
    print(text(record))
    if record["device"]["simulated"] or options.no_save:
        return None
    path = write(record)
    print("written:", path)
    return path


if __name__ == "__main__":
    main()
