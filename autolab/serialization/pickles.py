"""Read pickles without running the code they name: Python's unpickler with only the opcodes that PyTorch's files need.

It knows only `names.allowed_globals()` and the names the user has allowed, calls nothing else, and stops at every
opcode that `torch.load` with `weights_only=True` does not accept.
"""

import pickle
from collections import OrderedDict
from typing import Any

from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.serialization.errors import AGAIN, Refused, kind_note, refuse
from autolab.serialization.names import BLOCKED, allowed_globals, in_python3, user_globals

_NAMES = (
    "APPEND APPENDS BINFLOAT BINGET BININT BININT1 BININT2 BINPERSID BINPUT BINUNICODE BUILD EMPTY_DICT EMPTY_LIST EMPTY_SET "
    "EMPTY_TUPLE GLOBAL LONG1 LONG_BINGET LONG_BINPUT MARK NEWFALSE NEWOBJ NEWTRUE NONE PROTO REDUCE SETITEM SETITEMS "
    "SHORT_BINSTRING STOP TUPLE TUPLE1 TUPLE2 TUPLE3"
)
_OPCODES = [getattr(pickle, name)[0] for name in _NAMES.split()]
_Python: Any = pickle._Unpickler  # the version written in Python: its opcodes can be replaced


def load(stream, persistent_load):
    """Return the object that the pickle at the position of the binary file `stream` describes.

    persistent_load: gets the tuple that names a storage, returns the storage. Raises UnpicklingError for forbidden or
        incomplete data, EOFError for an empty stream.
    """
    start = stream.tell()
    head = stream.read(64)
    stream.seek(start)
    unpickler = _Unpickler(stream, encoding="utf-8")
    unpickler.head, unpickler.storage = head, persistent_load
    unpickler.failed = None  # type: ignore[assignment]
    try:
        return unpickler.load()
    except (Refused, NotImplementedError):
        raise
    except EOFError:
        note = "The file is empty or ends too early. " + AGAIN
        raise fail(EOFError, "Ran out of input", note) from None
    except Exception as error:
        if unpickler.failed is error:  # raised by the function that the user gave as map_location
            raise
        raise refuse(f"the pickle is damaged: {type(error).__name__}: {error}") from error


class _Allowed(dict):
    def __missing__(self, code):
        return lambda unpickler: unpickler.refuse_opcode(code)


class _Unpickler(_Python):
    """Python's unpickler, restricted to allowed names."""

    dispatch = _Allowed((code, _Python.dispatch[code]) for code in _OPCODES)

    def refuse_opcode(self, code):
        raise refuse(f"Unsupported operand {code}", kind_note(self.head))

    def find_class(self, module, name):
        module, name = in_python3(module, name)
        full = f"{module}.{name}"
        if module in BLOCKED:
            message = f"Trying to load unsupported GLOBAL {full} whose module {module} is blocked."
            note = "Weights need nothing of the operating system: this file was made to run a program on your computer. Delete it."
            raise refuse(message, note)
        allowed = {**user_globals(), **allowed_globals()}
        if full in allowed:
            return allowed[full]
        full = full.removeprefix("builtins.")
        raise refuse(
            f"Unsupported global: GLOBAL {full} was not an allowed global by default. Please use "
            f"`torch.serialization.add_safe_globals([{full}])` or the `torch.serialization.safe_globals([{full}])` context "
            "manager to allowlist this global if you trust this class/function.",
            "The file names code that loading would run. A state_dict() needs none; ask for a file that has only that.",
        )

    def persistent_load(self, pid):
        if type(pid) is not tuple or not pid or pid[0] != "storage":
            raise refuse(f"Only persistent_load of storage is allowed, but got {type(pid)}")
        try:
            return self.storage(pid)
        except Exception as error:
            self.failed = error
            raise

    def _may_call(self, function):
        if isinstance(function, type) and issubclass(function, Tensor):
            # a tensor is made only from a storage: torch.Tensor(10 ** 12) would allocate that much memory
            return False
        known = (*user_globals().values(), *allowed_globals().values())
        return callable(function) and any(function is f for f in known)

    def load_reduce(self):
        arguments, function = self.stack.pop(), self.stack[-1]
        if type(arguments) is not tuple or not self._may_call(function):
            raise refuse(f"Trying to call reduce for unrecognized function {function}")
        self.stack[-1] = function(*arguments)

    def load_newobj(self):
        arguments, kind = self.stack.pop(), self.stack[-1]
        if not isinstance(kind, type) or type(arguments) is not tuple or not self._may_call(kind):
            message = f"Can only create new object for nn.Parameter or classes allowlisted via `add_safe_globals` but got {kind!r}"
            raise refuse(message)
        self.stack[-1] = kind.__new__(kind, *arguments)

    def load_build(self):
        state, target = self.stack[-1], self.stack[-2]
        if type(target) in user_globals().values():
            return _Python.load_build(self)
        if type(target) is not OrderedDict or type(state) is not dict or set(state) - {"_metadata"}:
            message = "Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, but got "
            raise refuse(message + str(type(target)))
        target.__dict__.update(self.stack.pop())

    dispatch[pickle.REDUCE[0]] = load_reduce
    dispatch[pickle.NEWOBJ[0]] = load_newobj
    dispatch[pickle.BUILD[0]] = load_build
