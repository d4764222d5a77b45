"""Functions compiled from generated source text: their names and lines in tracebacks."""

from __future__ import annotations

import linecache
import os

_HERE = os.path.dirname(__file__)


def function(name, source, environment, what):
    """Return the function `name` that `source` defines, with `environment` as its globals.

    what: a label such as "fast/<fast path of mul>". It becomes the name of a file in this package. The file does not
    exist, but tracebacks show the generated lines, and tools that hide the engine's own frames hide these frames
    too."""
    file = os.path.join(_HERE, *what.split("/"))
    exec(compile(source, file, "exec"), environment)
    # With None as the modification time, `checkcache` does not look for the file on the disk.
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    return environment[name]
