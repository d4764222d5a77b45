"""The results as JSON and as a table for reading, with the machine they were measured on."""

from __future__ import annotations

import datetime
import json
import os
import platform
from pathlib import Path

from .works import OPS_IN_CHAIN, WORKS

RESULTS = Path(__file__).parent / "results"
TARGET = 0.6  # of PyTorch's time, for the scalar chain and the linear regression


def machine() -> dict:
    """What the numbers depend on."""
    import numpy

    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "load_before": [round(v, 2) for v in os.getloadavg()] if hasattr(os, "getloadavg") else None,
        "threads": 1,
    }


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def table(record: dict) -> str:
    """Markdown: one table of works, one of import times."""
    lines = [
        f"# Benchmark of {record['date']}",
        "",
        *(f"- {k}: {v}" for k, v in record["machine"].items()),
        "",
        "Medians over interleaved blocks, one process per backend, one thread; the ratio compares CPU times with "
        "PyTorch's, block by block.",
        "",
        "| work | backend | version | CPU µs | wall µs | ratio to PyTorch (CPU) | ratio (wall) |",
        "|---|---|---|---|---|---|---|",
    ]
    for work, backends in record["results"].items():
        for name, r in backends.items():
            if "failed" in r:
                lines.append(f"| {WORKS[work]} | {name} | {record['versions'][name]} | failed: {r['failed']} | | | |")
                continue
            per_op = f" ({r['cpu'] / OPS_IN_CHAIN:.2f} an op)" if "chain" in work else ""
            ratios = " | ".join(f"{r[k]:.2f}" if k in r else "–" for k in ("cpu_ratio", "wall_ratio"))
            lines.append(
                f"| {WORKS[work]} | {name} | {record['versions'][name]} | {r['cpu']:.1f}{per_op} | {r['wall']:.1f} "
                f"| {ratios} |"
            )
    lines += [
        f"\nNot measured: {name} ({version})"
        for name, version in record["versions"].items()
        if version.startswith("missing")
    ]
    i = record["imports"]
    lines += [
        "",
        f"Import: numpy {i['numpy_ms']} ms, autolab {i['autolab_ms']} ms, {i['over_numpy_ms']} ms more "
        f"(target {i['target_ms']} ms: {'met' if i['met'] else 'missed'}); heavy modules loaded: {', '.join(i['heavy_modules_loaded']) or 'none'}.",
        "",
    ]
    return "\n".join(lines)


def targets(record: dict) -> list[str]:
    """What is said at the end: each target and whether it is met."""
    lines = []
    for work in ("scalar_chain", "linear_regression"):
        ratio = record["results"].get(work, {}).get("autolab", {}).get("cpu_ratio")
        verdict = (
            "not comparable: PyTorch or autolab was not measured"
            if ratio is None
            else f"{ratio:.2f} of PyTorch's time, target {TARGET}: " + ("met" if ratio <= TARGET else "missed")
        )
        lines.append(f"{work}: {verdict}")
    lines.append(
        f"import: {record['imports']['over_numpy_ms']} ms over NumPy, target {record['imports']['target_ms']}: "
        f"{'met' if record['imports']['met'] else 'missed'}"
    )
    return lines


def write(record: dict, folder: Path = RESULTS) -> Path:
    """Writes `<date>-cpu.json` and `<date>-cpu.md`; returns the path of the JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{record['date']}-cpu.json"
    path.write_text(json.dumps(record, indent=1) + "\n")
    path.with_suffix(".md").write_text(table(record))
    return path


def today() -> str:
    return datetime.date.today().isoformat()
