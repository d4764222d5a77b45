"""The device explorer: what happened on the CPU and each device, in memory and over time, step by step."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import traitlets as t

from ..trace.devices.model import DeviceTrace
from ..trace.devices.recording import DeviceRecording
from ..viz import html
from ..viz.mime import Bundle, instead
from . import assets
from .device_still import still
from .displayed import Displayed


class DeviceExplorer(Displayed):
    """Steps through what devices did: tensors as boxes as long as their memory, copies, queues of kernels, waits,
    memory over time.

    recording : the result of `autolab.record_devices()`, or a DeviceTrace.

    step     : index of the step shown, from 0; a number outside is moved to the nearest step.
    selected : id of the object that Details describes ("t0" a tensor, "c0" a copy, "k0" a kernel, "w0" a wait, "o0" out
        of
               memory), "" for the step's main object. A tensor's name may be assigned: the last tensor with that name.
    playing  : True while it steps on by itself.
    interval : milliseconds between two steps of playing, at least 50.

    Python and the page can both set these; nothing needs the kernel. `trace` is the DeviceTrace shown. A simulated GPU
    is
    always called simulated.

    Raises TypeError for anything but a recording of devices.
    """

    _esm = assets.loader("devices")
    _script = t.Unicode(assets.module("devices")).tag(sync=True)
    step = t.Int(0).tag(sync=True)
    selected = t.Unicode("").tag(sync=True)
    playing = t.Bool(False).tag(sync=True)
    interval = t.Int(1200).tag(sync=True)
    data = t.Dict().tag(sync=True)

    def __init__(
        self,
        recording: DeviceRecording | DeviceTrace,
        *,
        step: int = 0,
        selected: str = "",
        playing: bool = False,
        interval: int = 1200,
    ) -> None:
        if not isinstance(recording, DeviceRecording | DeviceTrace):
            raise TypeError(
                f"DeviceExplorer shows a recording of devices, not {type(recording).__name__}: "
                "use `with autolab.record_devices() as recording:`"
            )
        self.trace = recording if isinstance(recording, DeviceTrace) else recording.trace()
        data = self.trace.to_json()
        data["frames"] = data.pop("steps")
        super().__init__(
            data=data, step=step, selected=selected, playing=playing, interval=interval
        )

    @t.validate("step")
    def _step_within(self, proposal: Any) -> int:
        return max(0, min(proposal["value"], len(self.trace.steps) - 1))

    @t.validate("interval")
    def _interval_enough(self, proposal: Any) -> int:
        return max(50, proposal["value"])

    @t.validate("selected")
    def _selected_item(self, proposal: Any) -> str:
        name = proposal["value"]
        try:
            return name if name == "" else self.trace.item(name).id
        except KeyError:
            named = [tensor for tensor in self.trace.tensors if tensor.name == name]
        if not named:
            known = dict.fromkeys(tensor.name for tensor in self.trace.tensors if tensor.name)
            raise t.TraitError(
                f'there is no "{name}" in this recording; it has the tensors {", ".join(list(known)[:20])}'
            )
        return named[-1].id

    def to_html(self, path: str | os.PathLike[str], title: str = "autolab devices") -> Path:
        """Write the widget in its present state to one HTML file that needs no kernel or network; return the path."""
        return html.write(path, [self], title=title)

    def _repr_mimebundle_(self, **kwargs: Any) -> Bundle:
        return instead(
            super()._repr_mimebundle_(**kwargs),
            self,
            "a timeline of devices to step through",
            still(self.trace),
        )

    def __repr__(self) -> str:
        # Without an address, because a stored notebook must print the same on every run.
        used = [f"{d.name} ({d.title})" for d in self.trace.devices[1:]]
        steps = len(self.trace.steps)
        return f"DeviceExplorer({', '.join([*used, f'{steps} step' if steps == 1 else f'{steps} steps'])})"
