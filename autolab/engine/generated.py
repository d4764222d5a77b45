"""Functions compiled from text: what they are called in tracebacks, and their lines for whoever prints one."""

from __future__ import annotations

import linecache
import os

_HERE = os.path.dirname(__file__)


def function(name, source, environment, what):
    """The function `name` that `source` defines, with `environment` as its globals.

    what: "fast/<lane of mul>"; it becomes the name of a file of this package that does not exist, so that tracebacks
    show the generated lines, and whoever leaves out the engine's own frames leaves these out, too."""
    file = os.path.join(_HERE, *what.split("/"))
    exec(compile(source, file, "exec"), environment)
    # None: `checkcache` must not look for it on the disk
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    return environment[name]
