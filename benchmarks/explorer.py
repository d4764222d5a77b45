"""`python -m benchmarks.explorer`: how soon the explorer answers, beside what is wanted of it.

Each work runs in a process of its own: `explore()` until the widget is there to be shown, the median of 7 calls (of 3
where one takes longer than 3 seconds) after one that is not counted. Then its page is written, and where there is
playwright with a Chromium (AUTOLAB_CHROMIUM) opened: until it is painted, how long a step takes until the next paint
could begin, the median of 60 steps all over the slider, and how much memory its script holds then. Other work on the
machine counts where wall times are said; CPU times are those of the process, without the layout process.
`--only` names works. Results go to benchmarks/results/<date>-explorer.{json,md}.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from . import report

ROUNDS, SLOW = 7, 3.0
STEP_MS = 16  # wanted of a step, on each page
WORKS = {  # name -> (what it is, wanted seconds, wanted MB of the page)
    "first": (
        "two operations, a fresh process: `import autolab`, the result, `explore()`",
        1.0,
        None,
    ),
    "small": ("two operations", 0.15, None),
    "resnet_autolab": (
        "ResNet-18 of autolab with its recorded forward, 2 images 64 x 64",
        1.0,
        None,
    ),
    "resnet_torch": ("ResNet-18 of PyTorch with its recorded forward, 2 images 64 x 64", 1.0, None),
    "resnet_graph": ("ResNet-18 of PyTorch, `explore(loss)` without a recording", 0.3, None),
    "scalars_2000": ("2,000 operations on scalars", 1.5, 3.0),
    "scalars_3900": ("3,900 operations on scalars", None, None),
    "scalars_4200": ("4,200 operations on scalars", None, None),
    "scalars_8000": ("8,000 operations on scalars", None, None),
    "scalars_20000": ("20,000 operations on scalars", None, None),
    "scalars_100000": ("100,000 operations on scalars", 8.0, None),
}
_STEPS = """async (slider, count) => {
    const last = Number(slider.max), times = [];
    for (let i = 0; i < count; i++) {
        const start = performance.now();
        slider.value = Math.round(last * ((i * 0.618034) % 1));
        slider.dispatchEvent(new Event("input", { bubbles: true }));
        document.body.getBoundingClientRect();  // the layout is part of it
        times.push(performance.now() - start);
        await new Promise(requestAnimationFrame);
    }
    return times.sort((a, b) => a - b)[count >> 1];
}"""


def prepared(name):
    """A function without arguments that makes the explorer of a work, and one that gets ready for it."""
    import importlib

    from autolab import explore

    kind, _, what = name.partition("_")
    if kind != "resnet":
        import autolab

        x, a = autolab.tensor(0.5, requires_grad=True), autolab.tensor(0.999)
        count = int(what or 2)

        def chain():
            y = x
            for i in range(count):
                y = y * a if i % 2 else y + 0.001
            return y

        return chain, explore
    library = importlib.import_module("autolab" if what == "autolab" else "torch")
    import autolab

    from .networks import networks

    library.manual_seed(0)
    model, images, classes = networks(library)[-1](), library.randn(2, 3, 64, 64), library.arange(2)

    def forward():
        if what == "graph":
            return library.nn.functional.cross_entropy(model(images), classes)
        with autolab.record() as recording:
            library.nn.functional.cross_entropy(model(images), classes)
        return recording

    return forward, explore


def work(name: str, page: str) -> dict:
    """Measures a work in this process, and writes its page."""
    if name == "first":
        began, cpu = time.perf_counter(), time.process_time()
        forward, explore = prepared(name)
        widget = explore(forward())
        found = {
            "seconds": time.perf_counter() - began,
            "cpu": time.process_time() - cpu,
            "rounds": 1,
        }
    else:
        forward, explore = prepared(name)
        walls, cpus = [], []
        while len(walls) < (ROUNDS if not walls or walls[-1] < SLOW else 3) + 1:
            source = forward()
            began, cpu = time.perf_counter(), time.process_time()
            widget = explore(source)
            walls.append(time.perf_counter() - began)
            cpus.append(time.process_time() - cpu)
        found = {
            "seconds": statistics.median(walls[1:]),
            "cpu": statistics.median(cpus[1:]),
            "rounds": len(walls) - 1,
        }
    path = widget.to_html(page)
    return found | {
        "nodes": len(widget.trace.nodes),
        "steps": len(widget.trace.frames),
        "mb": path.stat().st_size / 1e6,
    }


def alone(name: str, folder: Path) -> dict:
    """A work in a process of its own; of the first explorer of a process the median over several."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.explorer",
        "--work",
        name,
        "--page",
        str(folder / f"{name}.html"),
    ]
    runs = []
    for _ in range(ROUNDS + 1 if name == "first" else 1):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return {"failed": (done.stderr.strip().splitlines() or ["no answer"])[-1]}
        runs.append(json.loads(done.stdout.splitlines()[-1]))
    kept = runs[1:] or runs  # the first fills the disk's caches
    return (
        kept[0]
        | {key: statistics.median(r[key] for r in kept) for key in ("seconds", "cpu")}
        | {"rounds": max(len(kept), kept[0]["rounds"])}
    )


def browsed(folder: Path, names: list[str]) -> dict[str, dict]:
    """Seconds until a page is painted and milliseconds of a step, of each page in a folder; {} where there is no
    browser."""
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        return {}
    found = {}
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=os.environ.get("AUTOLAB_CHROMIUM"))
        except Error:
            return {}
        for name in names:
            page = browser.new_page(
                viewport={"width": 1366, "height": 768}, reduced_motion="reduce"
            )
            began = time.perf_counter()
            page.goto((folder / f"{name}.html").as_uri())
            page.get_by_role("group", name="Computation graph", exact=True).get_by_role(
                "button"
            ).first.wait_for(state="attached", timeout=60_000)
            page.evaluate("() => new Promise(requestAnimationFrame)")
            painted = time.perf_counter() - began
            step = page.locator("input[type=range]").first.evaluate(_STEPS, 60)
            session = page.context.new_cdp_session(page)
            session.send("HeapProfiler.collectGarbage")
            heap = session.send("Runtime.getHeapUsage")["usedSize"] / 1e6
            found[name] = {"page_seconds": painted, "page_mb": heap, "step_ms": step}
            page.close()
        browser.close()
    return found


def table(record: dict) -> str:
    """Markdown: measured beside what is wanted."""
    lines = [
        f"# The explorer's times, {record['date']}",
        "",
        *(f"- {key}: {value}" for key, value in record["machine"].items()),
        "",
        "Medians; wall times with whatever else ran on the machine (see load).",
        "",
        "| what | nodes | steps | explore(), s (CPU) | wanted | page, MB | wanted | page painted, s | in memory, MB | a step, ms | wanted |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, r in record["results"].items():
        text, seconds, mb = WORKS[name]
        if "failed" in r:
            lines.append(f"| {text} | failed: {r['failed']} | | | | | | | | | |")
            continue
        keys = (("page_seconds", 2), ("page_mb", 0), ("step_ms", 1))
        painted, memory, step = (
            f"{r[key]:.{digits}f}" if key in r else "–" for key, digits in keys
        )
        made = f"{r['nodes']:,} | {r['steps']:,} | {r['seconds']:.3g} ({r['cpu']:.3g}) | {seconds or '–'}"
        lines.append(
            f"| {text} | {made} | {r['mb']:.2f} | {mb or '–'} | {painted} | {memory} | {step} | {STEP_MS} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.explorer", description=__doc__)
    parser.add_argument(
        "--only",
        nargs="+",
        default=list(WORKS),
        choices=WORKS,
        help="works to measure (default all)",
    )
    parser.add_argument(
        "--no-save", action="store_true", help="print only; write nothing to benchmarks/results"
    )
    parser.add_argument("--work", help=argparse.SUPPRESS)
    parser.add_argument("--page", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        print(json.dumps(work(options.work, options.page)))
        return
    record = {"date": report.today(), "machine": report.machine()}
    print(record["machine"], flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        record["results"] = {}
        for name in options.only:
            record["results"][name] = alone(name, folder)
            print(name, record["results"][name], flush=True)
        pages = browsed(
            folder, [name for name, r in record["results"].items() if "failed" not in r]
        )
        record["results"] = {name: r | pages.get(name, {}) for name, r in record["results"].items()}
    print(table(record))
    if not options.no_save:
        stem = report.RESULTS / f"{record['date']}-explorer"
        stem.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n")
        stem.with_suffix(".md").write_text(table(record))
        print("written:", stem)


if __name__ == "__main__":
    main()
