"""A room that runs in a thread, for tests/room and tests/browser."""

import asyncio
import http.client
import json
import threading

from autolab.room import server as serving
from autolab.room.questions import Asked
from tornado import netutil

ME = "0" * 16
OWN = (Asked("my.1", key="12"), Asked("my.2"))  # the instructor's questions


def answer(id="my.1", given="6"):
    return {"id": id, "given": given}


class Running:
    """A room that runs in a thread of this process."""

    def __init__(self, tally, **options):
        self.tally, self.loop, self.sockets = (
            tally,
            asyncio.new_event_loop(),
            netutil.bind_sockets(0, "127.0.0.1"),
        )
        self.port = self.sockets[0].getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self.options, started = options, threading.Event()
        self.thread = threading.Thread(target=self.run, args=(started,))
        self.thread.start()
        assert started.wait(30)

    def run(self, started):
        async def begin():
            self.server = serving.server(self.tally, self.address, **self.options)
            self.server.add_sockets(self.sockets)
            started.set()

        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(begin())
        self.loop.run_forever()

    def stop(self):
        async def end():
            self.server.stop()
            await self.server.close_all_connections()
            self.loop.stop()

        asyncio.run_coroutine_threadsafe(end(), self.loop)
        self.thread.join(30)
        self.loop.close()
        self.tally.close()

    def ask(self, path, said=None, headers=None, body=None):
        """Status and text of a request."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        body = json.dumps(said).encode() if said is not None else body
        try:
            line.request(
                "POST" if body is not None else "GET",
                path,
                body,
                {"Content-Type": "application/json"} | (headers or {}),
            )
            reply = line.getresponse()
            return reply.status, reply.read().decode()
        finally:
            line.close()

    def state(self):
        return json.loads(self.ask("/state")[1])

    def says(self, kind, who=ME, **said):
        return self.ask(f"/{kind}", {"code": self.tally.code, "who": who, **said})

    def release(self, id, shown=True):
        return self.ask("/release", {"id": id, "shown": shown}, {"X-Room-Key": self.tally.key})
