"""`python -m benchmarks.viewers`: what torchviz, torchview, torchvista, torchlens and this kit make of the same three
PyTorch networks.

LeNet, ResNet-18 and a Transformer's encoder; all that each viewer can open is open. Measured are the time from the
network and its input to the file on the disk (median), the file, the size of the picture in px, and how long a browser
takes to show it. A viewer that is not installed is left out, which is said. Needs torch, Graphviz's `dot` for the first
two and torchlens, and playwright with a Chromium
(AUTOLAB_CHROMIUM) for the pages.
Results go to benchmarks/results/<date>-viewers.{json,md}; a few minutes.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from . import report
from .networks import networks

MODELS = {"lenet": "LeNet", "resnet18": "ResNet-18", "transformer": "Transformer encoder, 2 layers"}
DISTRIBUTIONS = {
    "torchlens, both passes": "torchlens",
    "autolab": "autolab-kit",
}  # where they are not called as the viewer
BOXES = {"torchvista": "g[class^=node_]", "autolab": ".al-node"}  # on the viewers' pages
ROUNDS, SLOW = 7, 3.0  # rounds; a viewer that takes longer than so many seconds has three


def network(name):
    """(model, input, target class numbers), small and the same for all."""
    import torch

    torch.manual_seed(0)
    if name == "transformer":
        layer = torch.nn.TransformerEncoderLayer(
            d_model=32, nhead=4, dim_feedforward=64, batch_first=True
        )
        model = torch.nn.Sequential(
            torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False),
            torch.nn.Flatten(),
            torch.nn.Linear(160, 10),
        )
        return model, torch.randn(2, 5, 32), torch.arange(2)
    lenet, _, resnet = networks(torch)
    if name == "lenet":
        return lenet(), torch.randn(4, 1, 28, 28), torch.arange(4)
    return resnet(), torch.randn(2, 3, 64, 64), torch.arange(2)


# -- one function a viewer: draws the model into `stem` with an ending of its own, and returns the path ----------------
def torchviz(model, x, target, stem):
    import torch
    from torchviz import make_dot

    loss = torch.nn.functional.cross_entropy(model(x), target)
    return make_dot(
        loss, params=dict(model.named_parameters()), show_attrs=True, show_saved=True
    ).render(stem, format="svg")


def torchview(model, x, target, stem):
    from torchview import draw_graph

    return draw_graph(model, input_data=x, depth=10, expand_nested=True).visual_graph.render(
        stem, format="svg"
    )


def torchvista(model, x, target, stem):
    import torch
    from torchvista import trace_model

    # Modules of PyTorch's own are boxes unless it is told otherwise, and of a Transformer nothing would be seen.
    forced = (
        4
        if any(isinstance(module, torch.nn.TransformerEncoder) for module in model.modules())
        else None
    )
    with contextlib.redirect_stdout(None):  # it displays that the file has been written
        trace_model(
            model,
            x,
            collapse_modules_after_depth=10,
            forced_module_tracing_depth=forced,
            export_path=f"{stem}.html",
        )
    return f"{stem}.html"


def torchlens(model, x, target, stem):
    import torchlens

    torchlens.trace(model, x).draw(vis_outpath=str(stem), vis_save_only=True, vis_fileformat="svg")
    return f"{stem}.svg"


def torchlens_backward(model, x, target, stem):
    import torch
    import torchlens

    log = torchlens.trace(model, x, capture=torchlens.options.CaptureOptions(save_grads=True))
    log.log_backward(torch.nn.functional.cross_entropy(log[log.output_layers[0]].out, target))
    log.draw_combined(vis_outpath=str(stem), vis_save_only=True, vis_fileformat="svg")
    return f"{stem}.svg"


def autolab(model, x, target, stem):
    import torch

    import autolab as kit

    with kit.record() as recording:
        torch.nn.functional.cross_entropy(model(x), target).backward()
    trace = recording.trace()
    explorer = kit.explore(trace)
    explorer.expanded = [part["id"] for part in explorer.folding["parts"]]
    return explorer.to_html(f"{stem}.html")


VIEWERS = {
    function.__name__: function
    for function in (torchviz, torchview, torchvista, torchlens, autolab)
}
VIEWERS["torchlens, both passes"] = torchlens_backward


# -- measuring: each viewer and network in a process of its own, for some exchange PyTorch's functions -----------------
def work(viewer, name, rounds, folder):
    """In the process: draws once to get warm, then `rounds` times. Returns the seconds of each, and the path."""
    given, seconds, path = network(name), [], ""
    for i in range(rounds + 1):
        begin = time.perf_counter()
        path = VIEWERS[viewer](
            *given, Path(folder) / f"{viewer.replace(', ', '-').replace(' ', '-')}-{name}"
        )
        seconds.append(time.perf_counter() - begin)
        rounds = min(rounds, 3) if seconds[0] > SLOW else rounds
        if i == rounds:
            break
    return {"seconds": seconds[1:], "first": seconds[0], "path": str(path)}


def process(viewer, name, rounds, folder):
    """`work` in a new process; {"failed": its last line} where it failed."""
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "benchmarks.viewers",
        "--work",
        viewer,
        name,
        str(rounds),
        str(folder),
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"}
    )
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    return json.loads(done.stdout.splitlines()[-1])


SIZE = """boxes => {
    const all = [...document.querySelectorAll('*')].flatMap(e => [e, ...(e.shadowRoot?.querySelectorAll('*') ?? [])]);
    const svg = all.find(e => e.localName === 'svg' && e.querySelector(boxes)), box = svg.viewBox.baseVal;
    const { width, height } = box?.width ? box : svg.querySelector('g').getBBox(); // before it is made to fit
    return { boxes: svg.querySelectorAll(boxes).length, width, height };
}"""
PICTURE = re.compile(r'<svg width="([\d.]+)pt" height="([\d.]+)pt"')


def look(path, viewer, browser):
    """How a browser shows the file: px, boxes, seconds until they are there (median of 3). Of a page without a browser
    nothing."""
    found = {}
    if path.suffix == ".svg":
        text = path.read_text(encoding="utf-8")
        width, height = (float(points) * 4 / 3 for points in PICTURE.search(text).groups())
        found = {"boxes": text.count('class="node"'), "width": width, "height": height}
    times = []
    for _ in range(3 if browser else 0):
        page = browser.new_page(viewport={"width": 1366, "height": 768})
        begin = time.perf_counter()
        page.goto(path.resolve().as_uri())
        if path.suffix == ".html":
            page.locator(BOXES[viewer]).first.wait_for(state="attached", timeout=60_000)
        times.append(time.perf_counter() - begin)
        if path.suffix == ".html":
            found = page.evaluate(SIZE, BOXES[viewer])
        page.close()
    return found | ({"shown": statistics.median(times)} if times else {})


@contextlib.contextmanager
def chromium():
    """A browser, or None where there is none."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        print("playwright is not installed: pages are not opened", file=sys.stderr)
        yield None
        return
    executable = os.environ.get("AUTOLAB_CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield browser
        browser.close()


def installed(viewer):
    """The version, or None."""
    try:
        return importlib.metadata.version(DISTRIBUTIONS.get(viewer, viewer))
    except importlib.metadata.PackageNotFoundError:
        if viewer != "autolab":
            return None
        from autolab import __version__

        return f"{__version__} (source)"


def measure(viewers, models, rounds, folder):
    versions = {viewer: installed(viewer) for viewer in viewers}
    dot = (
        subprocess.run(["dot", "-V"], capture_output=True, text=True).stderr.strip()
        if shutil.which("dot")
        else "none"
    )
    results = []
    with chromium() as browser:
        for viewer in viewers:
            if versions[viewer] is None:
                print(
                    f"{viewer} is not installed: left out (pip install {DISTRIBUTIONS.get(viewer, viewer)})"
                )
                continue
            for name in models:
                print(f"{viewer}, {MODELS[name]} …", file=sys.stderr, flush=True)
                found = process(viewer, name, rounds, folder) | {
                    "load": round(os.getloadavg()[0], 1)
                }
                if "path" in found:
                    path = Path(found.pop("path"))
                    found |= {"file": path.name, "bytes": path.stat().st_size} | look(
                        path, viewer, browser
                    )
                results.append({"viewer": viewer, "model": name} | found)
    import torch

    about = report.machine() | {"torch": torch.__version__, "graphviz": dot}
    return {"date": report.today(), "machine": about, "versions": versions, "results": results}


def table(record):
    """Markdown: one line a viewer and network."""
    lines = [
        f"# Viewers of PyTorch networks, {record['date']}",
        "",
        *(f"- {key}: {value}" for key, value in record["machine"].items()),
        "",
    ]
    lines += [
        "| viewer | network | boxes | picture, px | file | to the file | shown in a browser | load |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for r in record["results"]:
        start = f"| {r['viewer']} {record['versions'][r['viewer']]} | {MODELS[r['model']]} |"
        if "failed" in r:
            lines.append(f"{start} failed: {r['failed']} | | | | | |")
            continue
        size = f"{r['width']:,.0f} x {r['height']:,.0f}" if "width" in r else "–"
        times = f"{statistics.median(r['seconds']):.2f} s (of {len(r['seconds'])})"
        shown = f"{r['shown']:.2f} s" if "shown" in r else "–"
        lines.append(
            f"{start} {r.get('boxes', '–')} | {size} | {r['bytes'] / 1000:,.0f} kB | {times} | {shown} | {r['load']} |"
        )
    return "\n".join(lines) + "\n"


def main(arguments=None):
    """Prints and saves the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.viewers", description=__doc__)
    parser.add_argument(
        "--only", nargs="+", default=list(VIEWERS), choices=VIEWERS, help="viewers (default all)"
    )
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--keep", metavar="FOLDER", help="where the files stay, to be looked at")
    parser.add_argument(
        "--no-save", action="store_true", help="print only; write nothing to benchmarks/results"
    )
    parser.add_argument("--work", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.work:
        viewer, name, rounds, folder = options.work
        print(json.dumps(work(viewer, name, int(rounds), folder)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        record = measure(options.only, options.models, options.rounds, options.keep or temporary)
    print(table(record))
    if not options.no_save:
        path = report.RESULTS / f"{record['date']}-viewers.json"
        path.write_text(json.dumps(record, indent=1) + "\n")
        path.with_suffix(".md").write_text(table(record))
        print(f"saved {path} and .md")


if __name__ == "__main__":
    main()
