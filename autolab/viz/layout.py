"""Choose the layout program: the system's `dot`, else `pygraphviz`, else none (then only the explorer draws, in the
browser).

DOT source goes in, a picture comes out. Both programs run in a separate process, because Graphviz writes to stderr and
overflows its stack on a chain of 300,000 nodes, and neither may affect the learner's kernel. `dot` is started for each
picture (15 ms); for pygraphviz one process is reused, because Python takes longer to start. 2,000 nodes take about 0.6
s.

The environment variable AUTOLAB_LAYOUT (`dot`, `pygraphviz` or `browser`) forces one choice.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import importlib.util
import os
import re
import shutil
import struct
import subprocess
import sys
import threading
from pathlib import Path

from .. import installation

ENGINES = ("dot", "pygraphviz", "browser")


class LayoutUnavailable(RuntimeError):
    """Raised if no program on this machine can lay out a graph; a widget draws in the browser instead."""


def install() -> str:
    """Return the command that installs Graphviz here, bundled with pygraphviz."""
    return installation.install("autolab-kit[graphviz]")


def which() -> str:
    """Return the program that draws here: "dot" (system Graphviz), "pygraphviz", or "browser" (only the explorer)."""
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

    It has no XML prolog, comments, ids or `<a>` tooltips; to find an element again, use the DOT attribute `class` or
    its `<title>`. The same engine gives the same text for the same source.

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
        return _pygraphviz.draw(dot_source, format)
    else:
        absent = f"no `dot` program on the PATH, and pygraphviz cannot be loaded ({_pygraphviz_problem()})"
        why = "AUTOLAB_LAYOUT=browser is set" if os.environ.get("AUTOLAB_LAYOUT") else absent
        raise LayoutUnavailable(_advice(why))
    done = subprocess.run(command, input=dot_source.encode(), capture_output=True)
    # `dot` may exit with 1 after a mere warning, so check for a picture instead.
    if done.stdout and (format != "svg" or done.stdout.rstrip().endswith(b"</svg>")):
        return done.stdout
    raise _failure(engine, done.returncode, done.stderr.decode(errors="replace"))


def clean(picture: str) -> str:
    """Remove parts of Graphviz's SVG that would clash or differ between pages: prolog, comments, ids, tooltips.

    Gradients keep an id, since shapes refer to it; it is derived from the picture's content.
    """
    picture = re.sub(r"<!--.*?-->\s*", "", picture[picture.index("<svg") :], flags=re.DOTALL)
    picture = picture.replace(
        "<title>%3</title>\n", ""
    )  # Graphviz 2.43's name for a graph without a name
    picture = re.sub(r"<a\b[^>]*>\n?|</a>\n?", "", picture)
    # Graphviz numbers gradients across all pictures of a process; renumber them from 0 for this picture.
    used = {
        name: number
        for number, name in enumerate(dict.fromkeys(re.findall(r"url\(#([^)]+)\)", picture)))
    }

    def numbered(tag: re.Match[str]) -> str:
        def replace(attribute: re.Match[str]) -> str:
            return f' id="{used[attribute[1]]}"' if attribute[1] in used else ""

        # Graphviz 2.43 writes "transparent", which is not an SVG colour; newer versions write "none".
        return re.sub(r'\sid="([^"]*)"', replace, tag[0]).replace('"transparent"', '"none"')

    picture = re.sub(r"<[^/][^>]*>", numbered, picture)
    picture = re.sub(r"url\(#([^)]+)\)", lambda found: f"url(#{used[found[1]]})", picture).strip()
    prefix = hashlib.sha1(picture.encode()).hexdigest()[:8]
    return re.sub(r'(\sid="|url\(#)(\d+)', rf"\g<1>{prefix}-\2", picture)


class _Process:
    """pygraphviz in a separate process, which is started when first needed and then reused."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None
        self.of = 0  # id of the process that started it: a forked process needs its own

    def begin(self) -> None:
        """Start it if it is not running. It initialises in the background; `problem` waits for it."""
        if self.process is not None and self.of == os.getpid():
            return
        program = Path(__file__).parent / "pygraphviz_process.py"
        # An interrupt of the kernel must not reach it, because it also draws the next picture.
        pipes = {
            "stdin": subprocess.PIPE,
            "stdout": subprocess.PIPE,
            "start_new_session": os.name == "posix",
        }
        self.process = subprocess.Popen([sys.executable, "-P", str(program)], **pipes)  # type: ignore[call-overload]
        self.of, self.greeted = os.getpid(), False
        atexit.register(self.end)

    def end(self) -> None:
        """Release the process: it ends when no more input can come."""
        process, self.process = self.process, None
        if process is not None and self.of == os.getpid():
            process.kill()
            process.communicate()
        atexit.unregister(self.end)

    def problem(self) -> str:
        """Return why pygraphviz cannot draw here, or ""."""
        with self.lock:
            return self._answer(b"")[1].decode() if self._new() else ""

    def draw(self, dot_source: str, format: str) -> bytes:
        """Return the picture. Raises ValueError if it cannot be drawn, RuntimeError if Graphviz crashed."""
        kind, source = format.encode(), dot_source.encode()
        with self.lock:
            if self._new():
                self._answer(b"")
            good, answer = self._answer(struct.pack(">QQ", len(kind), len(source)) + kind + source)
        if good:
            return answer
        raise _failure("pygraphviz", 1, answer.decode(errors="replace"))

    def _new(self) -> bool:
        """Return whether it has not yet reported that it is ready."""
        self.begin()
        before, self.greeted = self.greeted, True
        return not before

    def _answer(self, request: bytes) -> tuple[bool, bytes]:
        process = self.process
        assert process is not None and process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(request)
            process.stdin.flush()
            head = process.stdout.read(9)
            good, length = struct.unpack(">?Q", head)
            answer = process.stdout.read(length)
            if len(answer) < length:
                raise EOFError
            return good, answer
        except (OSError, EOFError, struct.error):
            code = process.wait()
            self.end()
            raise _failure("pygraphviz", code, "") from None
        except BaseException:  # interrupted: the pending answer does not belong to the next picture
            self.end()
            raise


_pygraphviz = _Process()


@functools.cache
def _pygraphviz_problem() -> str:
    """Return why pygraphviz cannot draw here, or "". If it is not installed, no process is started."""
    if importlib.util.find_spec("pygraphviz") is None:
        return "it is not installed"
    try:
        return _pygraphviz.problem()
    except OSError as error:  # no processes, as in a browser
        return str(error)


def begin() -> None:
    """Prepare the layout program in the background, because something will be drawn soon."""
    if os.environ.get("AUTOLAB_LAYOUT", "pygraphviz") == "pygraphviz" and not shutil.which("dot"):
        with contextlib.suppress(OSError):  # `which` reports the reason later
            if importlib.util.find_spec("pygraphviz"):
                _pygraphviz.begin()


def _advice(reason: str) -> str:
    if sys.platform == "emscripten":
        return (
            "Graphviz cannot run in a browser. `autolab.explore(...)` draws the graph there, and "
            "`autolab.viz.to_html(...)` writes a page that draws it."
        )
    return (
        f"no graph layout on this machine: {reason}. Install Graphviz: `{install()}`, or Debian and Ubuntu "
        "`sudo apt install graphviz`, macOS `brew install graphviz`, Windows `winget install graphviz`. Without it, the "
        "explorer is drawn in the browser."
    )


def _failure(engine: str, code: int, stderr: str) -> Exception:
    if code < 0:
        return RuntimeError(
            f"Graphviz ({engine}) crashed on this graph (signal {-code}): too large: draw a part."
        )
    lines = [
        line
        for line in stderr.splitlines()
        if line.strip() and not line.startswith(("Fontconfig", "Warning"))
    ]
    said = "; ".join(lines) or f"exit status {code}, no message"
    return ValueError(f"Graphviz ({engine}) could not draw this: {said}")
