"""Functions compiled from text: what they are called in tracebacks, and their lines for whoever prints one."""

from __future__ import annotations

import linecache
import os

_HERE = os.path.dirname(__file__)


def function(name, source, environment, what):
    """Return the function `name` that `source` defines, with `environment` as its globals.

    what: for example "fast/<fast path of mul>". It becomes the name of a file in this package, which does not exist, so
    tracebacks show the generated lines, and tools that hide the engine's own frames hide these, too."""
    file = os.path.join(_HERE, *what.split("/"))
    exec(compile(source, file, "exec"), environment)
    # None: `checkcache` must not look for it on the disk
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    return environment[name]
