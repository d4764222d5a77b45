"""A program that draws graphs with pygraphviz, one after the other, until its input ends; see `layout.py`.

It first writes why pygraphviz cannot be loaded, or nothing. A request consists of the lengths of a format and of DOT
source, then both; an answer of a success flag, a length, and the picture or Graphviz's message. Wheels of pygraphviz
need glib and X11 libraries, which minimal servers lack.
"""

import os
import struct
import sys
import tempfile


def draw(pygraphviz, source, kind):
    graph = pygraphviz.AGraph(string=source.decode())
    try:
        return graph.draw(format=kind, prog="dot") or b""
    finally:
        graph.close()


def main():
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    said = tempfile.TemporaryFile()  # Graphviz writes to stderr itself
    for stream in (1, 2):
        os.dup2(said.fileno(), stream)

    def answer(good, words):
        answers.write(struct.pack(">?Q", good, len(words)) + words)
        answers.flush()

    try:
        import pygraphviz
        from pygraphviz import graphviz

        # before parsing: it makes a node's name the label of nodes without one
        graphviz.gvContextWithBuiltins()
    except ImportError as error:
        return answer(False, str(error).encode())
    answer(True, b"")
    while lengths := requests.read(16):
        kind, source = (requests.read(length) for length in struct.unpack(">QQ", lengths))
        said.seek(0)
        said.truncate()
        try:
            picture = draw(pygraphviz, source, kind.decode())
        except (
            ValueError,
            TypeError,
            pygraphviz.DotError,
        ):  # TypeError: pygraphviz's error for an unknown format
            picture = b""  # Graphviz itself has written the reason
        os.lseek(said.fileno(), 0, os.SEEK_SET)
        answer(bool(picture), picture or said.read())


if __name__ == "__main__":
    main()
