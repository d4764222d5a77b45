"""The profiler's options and their errors."""

import pytest
from engine_profiles import nothing_is_left_watching, warned  # noqa: F401 (a fixture)
from goldens.oracle import same_as_torch

import autolab
from autolab.autograd import profiler


@same_as_torch
def test_cuda_without_cuda(torch):
    new, old = torch.profiler, torch.autograd.profiler
    activities = new.ProfilerActivity

    def enter(profile, **options):
        with profile(**options):
            pass

    def run(**options):
        with new.profile(**options) as prof:
            torch.ones(2).exp()
        assert "aten::exp" in [e.key for e in prof.key_averages()]

    return [
        warned(action)
        for action in (
            lambda: enter(old.profile, use_cuda=True),
            lambda: enter(old.profile, use_device="cuda"),
            lambda: new.profile(use_cuda=False),
            lambda: run(activities=[activities.CPU, activities.CUDA]),
            lambda: run(use_cuda=True),
            lambda: run(activities=[activities.CUDA]),
            lambda: new.profile(activities=[]),
            lambda: new.profile(activities=["cpu"]),
        )
    ] + [str(new.supported_activities())]


@pytest.mark.parametrize("make", [profiler.profile, autolab.profiler.profile])
def test_what_is_not_supported_is_refused(make):
    for option in (
        "profile_memory",
        "experimental_config",
        "with_stack",
        "schedule",
        "on_trace_ready",
    ):
        with pytest.raises(NotImplementedError, match=f"argument '{option}' is not supported"):
            make(**{option: True})
    for option in ({"enabled": False}, {"use_device": "cpu"}):
        with pytest.raises(
            NotImplementedError, match=f"argument '{[*option][0]}' is not supported"
        ):
            profiler.profile(**option)
    with pytest.raises(TypeError, match="unexpected keyword argument 'with_everything'"):
        make(with_everything=True)
