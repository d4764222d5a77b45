"""Run as a program: lays out with pygraphviz what comes in, one graph after the other, until nothing comes; see
`layout.py`.

First it says why pygraphviz cannot be loaded, or nothing. A request is the lengths of a format and of DOT source, then
both; an answer whether that was drawn, a length, and the picture or what Graphviz said about it. Wheels of pygraphviz
need glib and X11 libraries that bare servers lack.
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
    said = tempfile.TemporaryFile()  # Graphviz writes to stderr as it pleases
    for stream in (1, 2):
        os.dup2(said.fileno(), stream)

    def answer(good, words):
        answers.write(struct.pack(">?Q", good, len(words)) + words)
        answers.flush()

    try:
        import pygraphviz
        from pygraphviz import graphviz

        graphviz.gvContextWithBuiltins()  # before parsing: it makes a node's name the label of nodes that have none
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
        ):  # TypeError: how pygraphviz fails on a format it does not know
            picture = b""  # Graphviz itself has said why
        os.lseek(said.fileno(), 0, os.SEEK_SET)
        answer(bool(picture), picture or said.read())


if __name__ == "__main__":
    main()
