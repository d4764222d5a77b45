"""A class on a hub: learners who log in at once, open lesson 1, run it, and step its explorers through the proxy.

    AUTOLAB_HUB_PASSWORD=… python deploy/hub/load.py http://127.0.0.1:8000 --learners 1 5 20

Each learner speaks what a browser speaks: pages and cookies of the hub, JupyterLab's REST interface, and the kernel's
messages on a websocket. What is measured of processes is read from /proc, so it is right only on the machine of the hub
(Linux). `make hub` starts a hub, `make hub-load` runs this.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import threading
import time
import uuid
from collections import defaultdict
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests
import websocket

LESSON = "autolab-course/01_graphs.ipynb"
WIDGET = "application/vnd.jupyter.widget-view+json"
EXPLORER = "Explorer"
STEPS = 20  # of the explorer, by each learner
PATIENCE = 300.0  # seconds


class Learner:
    """One learner's browser. times: what happened to the second of the log-in at which it did."""

    def __init__(self, hub: str, name: str, password: str) -> None:
        self.hub, self.name, self.password = hub.rstrip("/"), name, password
        self.here, self.session = f"{self.hub}/user/{name}", requests.Session()
        self.times: dict[str, float] = {}
        self.trips: list[float] = []  # seconds that a step took to the kernel and back
        self.failed: list[str] = []  # cells with an error that the lesson does not want
        self.trouble = ""

    def run(self, ready: threading.Barrier) -> None:
        """All of it; the first page together with everybody else."""
        ready.wait()
        self.begun = time.monotonic()
        try:
            self._log_in()
            self._open()
            self._read()
            self._step()
        except Exception as error:  # one learner's trouble is told at the end
            self.trouble = f"{type(error).__name__}: {error}"[:300]

    def _at(self, what: str) -> None:
        self.times.setdefault(what, time.monotonic() - self.begun)

    def _log_in(self) -> None:
        page = self.session.get(f"{self.hub}/hub/login", timeout=PATIENCE)
        xsrf = re.search(r'name="_xsrf" value="([^"]+)"', page.text)
        said = {"username": self.name, "password": self.password, "_xsrf": xsrf[1] if xsrf else ""}
        reply = self.session.post(f"{self.hub}/hub/login", said, timeout=PATIENCE)
        if "/hub/login" in reply.url:
            raise RuntimeError(f"the hub did not let {self.name} in: {reply.status_code}")
        self._at("logged in")
        self.session.get(f"{self.hub}/hub/spawn/{self.name}", timeout=PATIENCE)
        while time.monotonic() - self.begun < PATIENCE:
            reply = self.session.get(
                f"{self.here}/lab/tree/{LESSON}", timeout=PATIENCE
            )  # through the log-in of the server
            if reply.ok and "/hub/" not in urlsplit(reply.url).path:
                return self._at("server")
            time.sleep(1.0)
        raise TimeoutError("the server did not start")

    def _open(self) -> None:
        """The lesson, its kernel, and the line to it."""
        cells = self._api("GET", f"contents/{LESSON}").json()["content"]["cells"]
        self.cells = [cell for cell in cells if cell["cell_type"] == "code"]
        said = {
            "path": LESSON,
            "name": "01_graphs.ipynb",
            "type": "notebook",
            "kernel": {"name": "python3"},
        }
        kernel = self._api("POST", "sessions", json=said).json()["kernel"]["id"]
        cookies = self.session.cookies.get_dict(
            path=f"/user/{self.name}/"
        ) | self.session.cookies.get_dict(path="/")
        self.id = uuid.uuid4().hex
        self.line = websocket.create_connection(
            f"{self.here.replace('http', 'ws', 1)}/api/kernels/{kernel}/channels?session_id={self.id}",
            cookie="; ".join(f"{name}={value}" for name, value in cookies.items()), origin=self.hub, timeout=PATIENCE,
        )  # fmt: skip
        self._until_idle(self._send("shell", "kernel_info_request", {}))
        self._at("kernel")

    def _api(self, method: str, path: str, **more: Any) -> requests.Response:
        cookies = self.session.cookies.get_dict(path=f"/user/{self.name}/")
        head = {"X-XSRFToken": cookies.get("_xsrf", ""), "Referer": f"{self.here}/lab"}
        reply = self.session.request(
            method, f"{self.here}/api/{path}", headers=head, timeout=PATIENCE, **more
        )
        reply.raise_for_status()
        return reply

    def _send(self, channel: str, kind: str, content: dict[str, Any]) -> str:
        head = {
            "msg_id": uuid.uuid4().hex,
            "username": self.name,
            "session": self.id,
            "msg_type": kind,
            "version": "5.3",
        }
        message = {
            "channel": channel,
            "header": head,
            "parent_header": {},
            "metadata": {},
            "content": content,
            "buffers": [],
        }
        self.line.send(json.dumps(message))
        return head["msg_id"]

    def _until_idle(self, sent: str) -> list[dict[str, Any]]:
        """What the kernel says to a message, to its end."""
        said = []
        while True:
            text = self.line.recv()
            if isinstance(
                text, bytes
            ):  # a message with buffers: numbers of widgets; where its JSON lies is said first
                ends = [int.from_bytes(text[4 * n : 4 * n + 4], "big") for n in range(1, 3)]
                text = (
                    text[ends[0] : ends[1]].decode()
                    if int.from_bytes(text[:4], "big") > 1
                    else text[ends[0] :].decode()
                )
            message = json.loads(text)
            if message["parent_header"].get("msg_id") != sent:
                continue
            said.append(message)
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                return said

    def _read(self) -> None:
        """Runs every cell; what is shown first of an explorer is the first widget."""
        kinds: dict[str, str] = {}
        self.explorer = ""
        for number, cell in enumerate(self.cells):
            source = "".join(cell["source"])
            asked = {
                "code": source,
                "silent": False,
                "store_history": True,
                "allow_stdin": False,
                "stop_on_error": False,
            }
            for message in self._until_idle(self._send("shell", "execute_request", asked)):
                content = message["content"]
                if message["msg_type"] == "comm_open":
                    state = content["data"].get("state", {})
                    kinds[content["comm_id"]] = state.get("_anywidget_id", "").rpartition(".")[2]
                elif (
                    message["msg_type"] in ("display_data", "execute_result")
                    and WIDGET in content["data"]
                ):
                    self._at("first widget")
                    model = content["data"][WIDGET]["model_id"]
                    self.explorer = model if kinds.get(model) == EXPLORER else self.explorer
                elif message["msg_type"] == "error" and "raises-exception" not in cell[
                    "metadata"
                ].get("tags", ()):
                    self.failed.append(
                        f"cell {number}: {content['ename']}: {content['evalue'][:60]}"
                    )
        self._at("lesson")

    def _step(self) -> None:
        """As the explorer says its step to the kernel."""
        for step in range(1, STEPS + 1):
            sent = time.monotonic()
            data = {"method": "update", "state": {"step": step}, "buffer_paths": []}
            self._until_idle(
                self._send("shell", "comm_msg", {"comm_id": self.explorer, "data": data})
            )
            self.trips.append(time.monotonic() - sent)
        self._at("stepped")
        self.line.close()


def processes(prefix: str) -> dict[str, dict[str, float]]:
    """Of each learner the MB of server and kernel (PSS: what is shared is divided among those who share it), private
    MB, and seconds of CPU."""
    found: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environment = (folder / "environ").read_bytes().decode("utf-8", "replace")
            name = re.search(rf"JUPYTERHUB_USER=({prefix}\d+)\0", environment)
            if name is None:
                continue
            kind = "kernel" if b"ipykernel" in (folder / "cmdline").read_bytes() else "server"
            sizes = dict(re.findall(r"(\w+): +(\d+) kB", (folder / "smaps_rollup").read_text()))
            ticks = (folder / "stat").read_text().rpartition(")")[2].split()[11:13]
        except OSError:  # ended meanwhile, or not ours
            continue
        one = found[name[1]]
        one[kind] += int(sizes["Pss"]) / 1000
        one["private"] += (int(sizes["Private_Dirty"]) + int(sizes["Private_Clean"])) / 1000
        one["cpu"] += sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
    return found


def trial(hub: str, password: str, count: int) -> None:
    """A class of so many, and what it took."""
    prefix = f"learner{uuid.uuid4().hex[:4]}x"
    learners = [Learner(hub, f"{prefix}{n}", password) for n in range(count)]
    ready = threading.Barrier(count)
    threads = [threading.Thread(target=learner.run, args=(ready,)) for learner in learners]
    load, begun = os.getloadavg()[0], time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took, good = time.monotonic() - begun, [learner for learner in learners if not learner.trouble]
    print(
        f"\n{count} at once: {len(good)} to the end in {took:.0f} s; load of the machine {load:.1f} before, {os.getloadavg()[0]:.1f} after"
    )
    for learner in learners:
        if learner.trouble:
            print(f"    {learner.name}: {learner.trouble}")
    for line in sorted({line for learner in good for line in learner.failed}):
        print(f"    {line}")
    for what in ("logged in", "server", "kernel", "first widget", "lesson"):
        seconds = [learner.times[what] for learner in learners if what in learner.times]
        if seconds:
            print(
                f"    {what:14} s after the first page: median {statistics.median(seconds):6.1f}, worst {max(seconds):6.1f}"
            )
    trips = sorted(1000 * trip for learner in good for trip in learner.trips)
    if trips:
        most = trips[int(0.95 * len(trips))]
        print(
            f"    a step, to the kernel and back: median {statistics.median(trips):.0f} ms, 95 of 100 within {most:.0f} ms"
        )
    used = processes(prefix).values()
    for what in ("server", "kernel", "private", "cpu") if used else ():
        each = [one[what] for one in used]
        unit = "s" if what == "cpu" else "MB"
        print(
            f"    {what:8} {unit} a learner: median {statistics.median(each):6.1f}, most {max(each):6.1f}, all {sum(each):8.0f}"
        )
    for learner in learners:
        stop(learner)


def stop(learner: Learner) -> None:
    """Ends a learner's server, and waits for it."""
    xsrf = learner.session.cookies.get_dict(path="/hub/").get("_xsrf", "")
    head = {"X-XSRFToken": xsrf, "Referer": f"{learner.hub}/hub/home"}
    address = f"{learner.hub}/hub/api/users/{learner.name}/server"
    while learner.session.delete(address, headers=head, timeout=PATIENCE).status_code == 202:
        time.sleep(0.5)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        description="A class of learners on a JupyterHub, and what it takes."
    )
    parser.add_argument("hub", help="its address, such as http://127.0.0.1:8000")
    parser.add_argument(
        "--password",
        default=os.environ.get("AUTOLAB_HUB_PASSWORD", ""),
        help="of the class ($AUTOLAB_HUB_PASSWORD)",
    )
    parser.add_argument(
        "--learners",
        type=int,
        nargs="+",
        default=[1, 5, 20],
        help="how many at once, one class after the other",
    )
    chosen = parser.parse_args()
    for count in chosen.learners:
        trial(chosen.hub, chosen.password, count)


if __name__ == "__main__":
    main()
