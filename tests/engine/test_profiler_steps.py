"""The profiler's options and their errors, steps and schedules, and the files it writes."""

import gzip
import json

import pytest
from engine_profiles import nothing_is_left_watching, of, step, warned  # noqa: F401 (a fixture)
from goldens.oracle import error_of, same_as_torch

import autolab
from autolab.autograd import profiler


# -- options and errors ---------------------------------------------------------------------------------------------
@same_as_torch
def test_cuda_without_cuda(torch):
    new, old = torch.profiler, torch.autograd.profiler
    activities = new.ProfilerActivity

    def run(**options):
        with new.profile(**options) as prof:
            torch.ones(2).exp()
        assert "aten::exp" in [e.key for e in prof.key_averages()]

    return [
        warned(action)
        for action in (
            lambda: old.profile(use_cuda=True),
            lambda: old.profile(use_device="cuda"),
            lambda: old.profile(use_device="cpu"),
            lambda: new.profile(use_cuda=False),
            lambda: run(activities=[activities.CPU, activities.CUDA]),
            lambda: run(use_cuda=True),
            lambda: run(activities=[activities.CUDA]),
            lambda: new.profile(activities=[]),
            lambda: new.profile(activities=["cpu"]),
        )
    ] + [str(new.supported_activities())]


@same_as_torch
def test_asked_too_early_or_twice(torch):
    new, old = torch.profiler.profile(), torch.autograd.profiler.profile()
    found = [
        repr(old),
        str(old.key_averages()),
        old.table(),
        error_of(lambda: old.export_chrome_trace("x")),
    ]
    found += [
        error_of(new.key_averages),
        error_of(new.events),
        error_of(lambda: new.export_chrome_trace("x")),
        error_of(new.stop),
    ]
    with old:
        pass

    def again():
        with old:
            pass

    return [*found, error_of(again), error_of(lambda: old.export_stacks("x"))]


@pytest.mark.parametrize("make", [profiler.profile, autolab.profiler.profile])
def test_what_is_not_supported_is_refused(make):
    with pytest.raises(NotImplementedError, match="experimental_config"):
        make(experimental_config=True)


# -- steps and schedules --------------------------------------------------------------------------------------------
@same_as_torch
def test_schedules(torch):
    make = torch.profiler.schedule
    found = []
    for options in (
        {"wait": 1, "warmup": 1, "active": 2},
        {"wait": 1, "warmup": 1, "active": 2, "repeat": 2, "skip_first": 3},
        {"wait": 2, "warmup": 1, "active": 1, "repeat": 2, "skip_first": 1, "skip_first_wait": 1},
        {"wait": 0, "warmup": 1, "active": 1},
    ):
        action = make(**options)
        found.append([action(i).name for i in range(14)])
    errors = [
        error_of(lambda: make(wait=1, warmup=1, active=1)(-1)),
        error_of(lambda: make(wait=-1, warmup=1, active=1)),
        error_of(lambda: make(wait=1, warmup=1, active=0)),
    ]
    return found, errors, warned(lambda: make(wait=0, warmup=0, active=1))


@same_as_torch
def test_steps(torch):
    action = torch.profiler.ProfilerAction
    letters = {
        "N": action.NONE,
        "W": action.WARMUP,
        "R": action.RECORD,
        "S": action.RECORD_AND_SAVE,
    }
    found = []
    for plan, accumulate in (
        ("NWRSNN", 0),
        ("RRS", 0),
        ("SSS", 0),
        ("SRS", 0),
        ("WRSWS", 0),
        ("RR", 0),
        ("SSNS", 1),
        ("RN", 0),
        ("NWN", 0),
    ):
        ready = []

        def run(plan=plan, accumulate=accumulate, ready=ready):
            with torch.profiler.profile(
                schedule=lambda step: letters[plan[step]] if step < len(plan) else action.NONE,
                on_trace_ready=lambda p: ready.append((p.step_num, steps(p))),
                acc_events=bool(accumulate),
            ) as prof:
                for _ in plan:
                    torch.ones(2).exp()
                    prof.step()
            ready.append(steps(prof))

        found.append((plan, warned(run), ready))
    return found


def steps(prof):
    events = prof.events()
    exps = [e.cpu_parent.trace_name for e in of(events, "aten::exp")]
    return [(e.name, e.trace_name) for e in events if e.name == "ProfilerStep*"], exps


@same_as_torch
def test_without_a_schedule(torch):
    ready = []
    with torch.profiler.profile(
        on_trace_ready=lambda p: ready.append(len(of(p.events(), "aten::exp")))
    ) as prof:
        for _ in range(3):
            torch.ones(2).exp()
            prof.step()
    return ready, prof.step_num, "ProfilerStep*" in [a.key for a in prof.key_averages()]


def test_a_schedule_may_not_stop_the_device():
    with autolab.profiler.profile(
        schedule=lambda step: list(autolab.profiler.ProfilerAction)[4 * step]
    ) as prof:
        with pytest.raises(ValueError, match="DEVICE_STOPPED is set internally"):
            prof.step()


# -- files ----------------------------------------------------------------------------------------------------------
def test_chrome_trace(tmp_path):
    prof = step(autolab, record_shapes=True, profile_memory=True)
    path = tmp_path / "trace.json"
    prof.export_chrome_trace(path)
    trace = json.loads(path.read_text())
    entries = trace["traceEvents"]
    complete = [e for e in entries if e["ph"] == "X"]
    assert trace["displayTimeUnit"] == "ms" and [e["name"] for e in complete] == [
        e.name for e in prof.function_events
    ]
    for entry, event in zip(complete, prof.function_events):
        assert (entry["ts"], entry["dur"]) == (event.time_range.start, event.cpu_time_total)
        assert entry["pid"] == entry["tid"] and isinstance(entry["pid"], int)
        assert entry["cat"] == ("user_annotation" if event.name == "mine" else "cpu_op")
    mm = next(e for e in complete if e["name"] == "aten::mm")
    assert mm["args"]["Input Dims"] == [[4, 4], [4, 4]] and mm["args"]["Bytes"] == 64
    assert {e["name"] for e in entries if e["ph"] == "M"} == {"process_name", "thread_name"}
    arrows = [[e for e in entries if e["ph"] == ph] for ph in "sf"]
    assert [e["id"] for e in arrows[0]] == [e["id"] for e in arrows[1]] and len(arrows[0]) == 6
    outer = [e for e in complete if not e["name"].startswith("autograd::engine")]
    starts = {
        e["ts"]: e["name"] for e in reversed(outer)
    }  # of several that begin together, the first is the outer
    assert [(starts[s["ts"]], starts[f["ts"]]) for s, f in zip(*arrows)][:2] == [
        ("aten::sum", "SumBackward0"),
        ("aten::relu", "ReluBackward0"),
    ]


def test_chrome_trace_gzipped_with_metadata(tmp_path):
    x = autolab.ones(2)
    with autolab.profiler.profile() as prof:
        x.exp()
    prof.add_metadata("lesson", "3")
    prof.export_chrome_trace(str(tmp_path / "t.json.gz"))
    with gzip.open(tmp_path / "t.json.gz", "rt") as file:
        trace = json.load(file)
    assert trace["lesson"] == "3" and [
        e["name"] for e in trace["traceEvents"] if e["ph"] == "X"
    ] == ["aten::exp"]


def test_tensorboard_trace_handler(tmp_path):
    handler = autolab.profiler.tensorboard_trace_handler(str(tmp_path / "log"), "worker")
    schedule = autolab.profiler.schedule(wait=0, warmup=1, active=1, repeat=2)
    x = autolab.ones(2)
    with autolab.profiler.profile(schedule=schedule, on_trace_ready=handler) as prof:
        for _ in range(5):
            x.exp()
            prof.step()
    paths = sorted((tmp_path / "log").iterdir())
    assert len(paths) == 2 and all(
        p.name.startswith("worker.") and p.name.endswith(".pt.trace.json") for p in paths
    )
    names = [
        [e["name"] for e in json.loads(p.read_text())["traceEvents"] if e["ph"] == "X"]
        for p in paths
    ]
    assert names == [["ProfilerStep#1", "aten::exp"], ["ProfilerStep#3", "aten::exp"]]


def test_tensorboard_trace_handler_without_a_folder(tmp_path):
    (tmp_path / "file").write_text("")
    handler = autolab.profiler.tensorboard_trace_handler(str(tmp_path / "file" / "log"))
    with pytest.raises(RuntimeError, match="Can't create directory"):
        with autolab.profiler.profile(on_trace_ready=handler):
            autolab.ones(2).exp()
