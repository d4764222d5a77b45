"""Who lays a graph out: the system's `dot`, else `pygraphviz`, else viz.js in the reader's browser.

DOT source goes in, a picture comes out. Both native routes run in a process of their own: Graphviz writes to stderr as
it pleases and overflows its stack on a chain of 300,000 nodes, and neither may reach the learner's kernel. Measured on
2 cores: 20 nodes take 15 ms by `dot` and 55 ms by pygraphviz (most of it Python starting), 2,000 nodes about 0.6 s.

The variable AUTOLAB_LAYOUT (`dot`, `pygraphviz` or `browser`) forces one route.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

ENGINES = ("dot", "pygraphviz", "browser")

# Reads DOT on stdin and writes the picture to stdout, as `dot` does.
_PYGRAPHVIZ = """
import sys
import pygraphviz
from pygraphviz import graphviz
graphviz.gvContextWithBuiltins()  # before parsing: it makes a node's name the label of nodes that have none
try:
    picture = pygraphviz.AGraph(string=sys.stdin.buffer.read().decode()).draw(format=sys.argv[1], prog="dot")
except (ValueError, TypeError, pygraphviz.DotError):  # TypeError: how pygraphviz fails on a format it does not know
    sys.exit(1)  # Graphviz itself has said why
sys.stdout.buffer.write(picture)
"""


class LayoutUnavailable(RuntimeError):
    """Nothing on this machine can lay a graph out; a widget draws in the browser instead."""


def which() -> str:
    """Name who draws here: "dot" (system Graphviz), "pygraphviz", or "browser" (viz.js, by the widget)."""
    forced = os.environ.get("AUTOLAB_LAYOUT")
    if forced:
        if forced not in ENGINES:
            raise ValueError(f"AUTOLAB_LAYOUT={forced!r} is not one of {', '.join(ENGINES)}")
        return forced
    if shutil.which("dot"):
        return "dot"
    return "browser" if _pygraphviz_problem() else "pygraphviz"


def svg(dot_source: str) -> str:
    """Lay DOT source out and return one `<svg>` element, safe to put beside others on a page.

    No XML prolog, comments, ids or `<a>` tooltips: mark what you want to find again with the DOT attribute `class`, or
    by its `<title>`. The same engine gives the same text for the same source.

    Raises LayoutUnavailable when only a browser can draw, ValueError when the source is not DOT.
    """
    return clean(render(dot_source, "svg").decode())


def render(dot_source: str, format: str = "svg") -> bytes:
    """Lay DOT source out and return the picture as Graphviz writes it (`format`: svg, pdf, png …).

    Raises LayoutUnavailable when only a browser can draw, ValueError when the source is not DOT or the format unknown.
    """
    engine = which()
    if engine == "dot":
        executable = shutil.which("dot")
        if executable is None:
            raise LayoutUnavailable(_advice("there is no `dot` program on the PATH"))
        command = [executable, f"-T{format}"]
    elif engine == "pygraphviz":
        problem = _pygraphviz_problem()
        if problem:
            raise LayoutUnavailable(_advice(f"pygraphviz cannot be loaded ({problem})"))
        command = [sys.executable, "-P", "-c", _PYGRAPHVIZ, format]
    else:
        raise LayoutUnavailable(_advice(_pygraphviz_problem() or "AUTOLAB_LAYOUT=browser is set"))
    done = subprocess.run(command, input=dot_source.encode(), capture_output=True)
    # `dot` may exit with 1 after a mere warning: what counts is a picture.
    if done.stdout and (format != "svg" or done.stdout.rstrip().endswith(b"</svg>")):
        return done.stdout
    raise _failure(engine, done.returncode, done.stderr.decode(errors="replace"))


def viz_js() -> str:
    """Return the source of viz.js (an ES module; `(await instance()).renderString(dot, {format: "svg"})`), 1.2 MB."""
    return (Path(__file__).parent / "static" / "viz.js").read_text(encoding="utf-8")


def clean(picture: str) -> str:
    """Strip from Graphviz's SVG what would clash or differ between pages: prolog, comments, ids, tooltips.

    Gradients keep an id, since shapes refer to it; it is derived from the picture's content.
    """
    picture = re.sub(r"<!--.*?-->\s*", "", picture[picture.index("<svg") :], flags=re.DOTALL)
    picture = picture.replace("<title>%3</title>\n", "")  # what Graphviz 2.43 calls a graph without a name
    picture = re.sub(r"<a\b[^>]*>\n?|</a>\n?", "", picture)
    used = set(re.findall(r"url\(#([^)]+)\)", picture))
    prefix = hashlib.sha1(picture.encode()).hexdigest()[:8]

    def without_id(tag: re.Match[str]) -> str:
        def replace(attribute: re.Match[str]) -> str:
            return f' id="{prefix}-{attribute[1]}"' if attribute[1] in used else ""

        # Graphviz 2.43 writes "transparent", which is no SVG colour, where newer ones write "none".
        return re.sub(r'\sid="([^"]*)"', replace, tag[0]).replace('"transparent"', '"none"')

    picture = re.sub(r"<[^/][^>]*>", without_id, picture)
    return re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", picture).strip()


@functools.cache
def _pygraphviz_problem() -> str:
    """Why pygraphviz cannot draw here, or "". Its wheels need glib and X11 libraries that bare servers lack."""
    try:
        import_module("pygraphviz")
    except ImportError as error:
        return str(error)
    return ""


def _advice(reason: str) -> str:
    return (
        f"no graph layout on this machine: {reason}. Install Graphviz (Debian and Ubuntu: `sudo apt install graphviz`; "
        "macOS: `brew install graphviz`; Windows: `winget install graphviz`). Without it, the explorer is drawn in the "
        "browser."
    )


def _failure(engine: str, code: int, stderr: str) -> Exception:
    if code < 0:
        return RuntimeError(f"Graphviz ({engine}) crashed on this graph (signal {-code}): too large: draw a part.")
    lines = [line for line in stderr.splitlines() if line.strip() and not line.startswith(("Fontconfig", "Warning"))]
    said = "; ".join(lines) or f"exit status {code}, no message"
    return ValueError(f"Graphviz ({engine}) could not draw this: {said}")
