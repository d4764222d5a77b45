"""Grad modes as decorators of functions and of generators."""

from __future__ import annotations

import functools
import inspect

from ..core.grad_mode import _Mode, per_thread, set_grad_enabled
from ..core.tensor import attach


@functools.partial(attach, to=_Mode)
class _Decorator:
    """The part of a grad mode that makes it a decorator."""

    def __call__(self, function):
        if inspect.isgeneratorfunction(function):
            return self._wrap_generator(function)
        if inspect.isclass(function):
            raise TypeError("Decorating classes with a grad mode is not supported; decorate its methods.")

        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with self._clone():
                return function(*args, **kwargs)

        return wrapped

    def _wrap_generator(self, function):
        """A generator in the mode while it runs; not while its consumer does."""

        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            generator = function(*args, **kwargs)
            try:
                with self._clone():
                    value = generator.send(None)
                while True:
                    try:
                        sent = yield value
                    except GeneratorExit:
                        with self._clone():
                            generator.close()
                        raise
                    except BaseException as error:  # thrown in by the consumer: the generator may handle it
                        with self._clone():
                            value = generator.throw(error)
                    else:
                        with self._clone():
                            value = generator.send(sent)
            except StopIteration as stop:
                return stop.value

        return wrapped

    def _clone(self):
        return self.__class__()


@functools.partial(attach, to=set_grad_enabled)
class _Setting:
    """The same of `set_grad_enabled`, which has set the mode when it turns out to be a decorator."""

    def __call__(self, function):
        per_thread.state.grad = self._before
        return _Mode.__call__(self, function)

    def __repr__(self):
        return f"{type(self).__module__}.{type(self).__name__}(mode={self.mode})"

    def _clone(self):
        return self.__class__(self.mode)
