"""A server on this machine for the tests of downloads. It can break off, resume in the middle, or
be missing."""

import contextlib
import http.server
import re
import socket
import threading


class Server(http.server.ThreadingHTTPServer):
    """Serves `files` by name. breaks: after how many bytes the connection ends, once for each
    entry; ranges: whether downloads can resume; log: (name, requested range) of every request."""

    def __init__(self, files):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.breaks, self.ranges, self.log = files, [], True, []
        self.url = f"http://127.0.0.1:{self.server_port}/"


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_GET(self):
        name, server = self.path.strip("/").partition("?")[0], self.server
        asked = self.headers.get("Range")
        server.log.append((name, asked))
        if name not in server.files:
            return self.send_error(404)
        content, start = server.files[name], 0
        if asked and server.ranges:
            start = int(re.fullmatch(r"bytes=(\d+)-", asked)[1])
            if start >= len(content):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(content)}")
                self.send_header("Content-Length", "0")
                return self.end_headers()
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        content = content[start:][: server.breaks.pop(0) if server.breaks else None]
        self.wfile.write(content)


@contextlib.contextmanager
def serving(files, monkeypatch):
    """A running server, reached without a proxy."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with Server(files) as running:
        threading.Thread(
            target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        ).start()
        yield running
        running.shutdown()


def nowhere():
    """Return the address of a server that does not exist."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/"
