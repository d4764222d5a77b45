"""The results as JSON and as tables for reading, with the machine they were measured on."""

from __future__ import annotations

import datetime
import json
import os
import platform
from pathlib import Path

from .works import BATCHES, DEPTHS, NODES, WORKS

RESULTS = Path(__file__).parent / "results"
MEMORY_TARGET = 0.6  # of the peak memory of PyTorch's process
PEERS_TARGET = 0.25  # of the time of mygrad and tinygrad, for LeNet


def machine() -> dict:
    """What the numbers depend on."""
    import numpy

    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "blas": _blas(),
        "load_before": [round(v, 2) for v in os.getloadavg()]
        if hasattr(os, "getloadavg")
        else None,
    }


def _blas() -> str:
    """The kernels that OpenBLAS chooses in the workers."""
    import subprocess
    import sys

    from .interleave import environment

    code = "from autolab.engine.kernels import blas; print(blas.core())"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment(1)
    )
    return f"OpenBLAS, kernels for {done.stdout.strip()}" if done.stdout.strip() else "not OpenBLAS"


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        found = dict(line.split(":", 1) for line in info.read_text().splitlines() if ":" in line)
        found = {key.strip(): value.strip() for key, value in found.items()}
        if "model name" in found:
            return f"{found['model name']} (family {found.get('cpu family')}, model {found.get('model')})"
    return platform.processor() or platform.machine()


# -- tables ------------------------------------------------------------------------------------------------------------
def table(record: dict) -> str:
    """Markdown: works, growth, graphs of many nodes, import times."""
    head = [
        f"# Benchmark of {record['date']}",
        "",
        *(f"- {key}: {value}" for key, value in record["machine"].items()),
        *(f"- {name}: {version}" for name, version in record["versions"].items()),
        "",
        "Medians over blocks of the backends in turns. A ratio is the median of the ratios of neighbouring blocks to PyTorch's. With other "
        "work on the machine (see load) times of two threads mean little: compare CPU times.",
        "",
    ]
    return (
        "\n".join(head + _works(record) + _growth(record) + _nodes(record) + _imports(record))
        + "\n"
    )


def _works(record):
    rows = [r for r in record["results"] if WORKS[r["work"]].part not in ("growth", "nodes")]
    if not rows:
        return []
    lines = [
        "| work | threads | backend | wall | CPU | ratio (wall) | ratio (CPU) | target | peak MB | ratio | load |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for result in rows:
        work = WORKS[result["work"]]
        for name, r in result["backends"].items():
            start = f"| {work.text} | {result['threads']} | {name} |"
            if "cpu" not in r:
                why = f"cannot: {r['cannot']}" if "cannot" in r else f"failed: {r['failed']}"
                lines.append(f"{start} {why} | | | | | | | |")
                continue
            target = work.target.get(result["threads"], "–") if name == "autolab" else "–"
            memory = (
                (f"{r['memory']:.0f}", _number(r, "memory_ratio")) if work.memory else ("–", "–")
            )
            cells = (
                _time(r["wall"], work.ops),
                _time(r["cpu"], work.ops),
                _number(r, "wall_ratio"),
                _number(r, "cpu_ratio"),
                target,
                *memory,
            )
            lines.append(f"{start} {' | '.join(map(str, cells))} | {result['load']} |")
    return [*lines, ""]


def _time(microseconds, ops=0):
    text = f"{microseconds:.1f} µs" if microseconds < 1000 else f"{microseconds / 1000:.2f} ms"
    return text + (f" ({microseconds / ops:.2f} µs an op)" if ops else "")


def _number(r, key):
    return f"{r[key]:.2f}" if key in r else "–"


def _growth(record):
    found = {
        r["work"]: r["backends"] for r in record["results"] if WORKS[r["work"]].part == "growth"
    }
    if not found:
        return []
    lines = [
        "How the cost of a training step grows (layers of 64 with tanh): autolab's CPU time, and its ratio to PyTorch's.",
        "",
    ]
    lines += [
        "| layers | " + " | ".join(f"batch {b}" for b in BATCHES) + " |",
        "|---" * (len(BATCHES) + 1) + "|",
    ]
    for depth in DEPTHS:
        cells = []
        for batch in BATCHES:
            r = found.get(f"growth_{batch}_{depth}", {}).get("autolab", {})
            cells.append(f"{_time(r['cpu'])} ({_number(r, 'cpu_ratio')})" if "cpu" in r else "–")
        lines.append(f"| {depth} | {' | '.join(cells)} |")
    return [*lines, ""]


def _nodes(record):
    found = {
        r["work"]: r["backends"] for r in record["results"] if WORKS[r["work"]].part == "nodes"
    }
    if not found:
        return []
    lines = ["The backward pass alone, through graphs of many nodes: µs of CPU time per node.", ""]
    lines += ["| nodes | autolab | PyTorch | ratio |", "|---|---|---|---|"]
    for n in NODES:
        backends = found.get(f"nodes_{n}", {})
        each = [
            f"{backends[b]['cpu'] / n:.3f}" if "cpu" in backends.get(b, {}) else "–"
            for b in ("autolab", "torch")
        ]
        lines.append(
            f"| {n:,} | {' | '.join(each)} | {_number(backends.get('autolab', {}), 'cpu_ratio')} |"
        )
    return [*lines, ""]


def _imports(record):
    i = record.get("imports")
    if i is None:
        return []
    heavy = ", ".join(i["heavy_modules_loaded"]) or "none"
    return [
        f"Import: numpy {i['numpy_ms']} ms, autolab {i['autolab_ms']} ms, {i['over_numpy_ms']} ms more (target {i['target_ms']} ms: "
        f"{_verdict(i['met'])}); heavy modules loaded: {heavy}."
    ]


# -- targets -----------------------------------------------------------------------------------------------------------
def targets(record: dict) -> list[str]:
    """What is said at the end: each target and whether it is met."""
    lines = []
    for result in record["results"]:
        work, mine = WORKS[result["work"]], result["backends"].get("autolab", {})
        where = f"{result['work']}, {result['threads']} thread(s)"
        limit = work.target.get(result["threads"])
        kind = "cpu_ratio" if result["threads"] == 1 else "wall_ratio"
        if limit and kind in mine:
            lines.append(
                f"{where}: {mine[kind]:.2f} of PyTorch's time, target {limit}: {_verdict(mine[kind] <= limit)}"
            )
        if work.memory and "memory_ratio" in mine:
            share = mine["memory_ratio"]
            lines.append(
                f"{where}: {share:.2f} of PyTorch's peak memory, target {MEMORY_TARGET}: {_verdict(share <= MEMORY_TARGET)}"
            )
        for name in ("mygrad", "tinygrad"):
            other = result["backends"].get(name, {})
            if work.part == "lenet" and "wall" in other and "wall" in mine:
                share = mine["wall"] / other["wall"]
                lines.append(
                    f"{where}: {share:.2f} of {name}'s time, target {PEERS_TARGET}: {_verdict(share <= PEERS_TARGET)}"
                )
    if "imports" in record:
        i = record["imports"]
        lines.append(
            f"import: {i['over_numpy_ms']} ms over NumPy, target {i['target_ms']}: {_verdict(i['met'])}"
        )
    return lines


def _verdict(met: bool) -> str:
    return "met" if met else "missed"


def write(record: dict, folder: Path = RESULTS, name: str = "cpu") -> Path:
    """Writes `<date>-<name>.json` and `<date>-<name>.md`; returns the path of the JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{record['date']}-{name}.json"
    path.write_text(json.dumps(record, indent=1) + "\n")
    path.with_suffix(".md").write_text(
        table(record) + "\n" + "\n".join(f"- {line}" for line in targets(record)) + "\n"
    )
    return path


def today() -> str:
    return datetime.date.today().isoformat()
