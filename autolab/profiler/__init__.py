"""`torch.profiler`: the profiler with activities. Source: https://docs.pytorch.org/docs/2.13/profiler.html"""

from .profile import ProfilerActivity, profile, record_function, supported_activities
from .events import DeviceType
from .. import optim  # noqa: F401  modules that load first inside a profile have functions that report nothing
from ..nn import functional  # noqa: F401

__all__ = ["DeviceType", "ProfilerActivity", "profile", "record_function", "supported_activities"]
