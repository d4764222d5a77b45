"""Reads pickles without running them: an interpreter of the few opcodes that PyTorch's files need.

Python's own unpickler imports and calls what a file names. This one knows only `names.allowed_globals()` and what the
user has allowed, and builds tensors, dicts, lists and numbers. It stops at every opcode beyond those that `torch.load`
with `weights_only=True` takes.
"""

import io
import pickle
import pickletools
import warnings
from collections import OrderedDict
from typing import Any

from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.serialization.errors import AGAIN, kind_note, refuse
from autolab.serialization.names import BLOCKED, allowed_globals, in_python3, user_globals

_MARK = object()


def load(stream, persistent_load):
    """The object that the pickle at the position of the binary file `stream` describes.

    persistent_load: gets the tuple that names a storage, returns the storage. Raises UnpicklingError for what is not
    allowed or not whole, EOFError when there is nothing.
    """
    return _Interpreter(stream, persistent_load).load()


def scan(stream):
    """(ids of the storages, full names of all globals) in the pickle at the position of `stream`; nothing is built or
    called."""
    scanner = _Scanner(stream)
    scanner.load()
    return scanner.ids, scanner.globals


class _Interpreter:
    def __init__(self, stream, persistent_load):
        self.stream, self.persistent_load = stream, persistent_load
        self.stack, self.memo = [], {}
        self.allowed = {**user_globals(), **allowed_globals()}

    def load(self):
        start = self.stream.tell()
        head = self.stream.read(64)
        self.stream.seek(start)
        while True:
            code = self.stream.read(1)
            if not code:
                raise fail(
                    EOFError, "Ran out of input", "The file is empty or ends too early. " + AGAIN
                )
            opcode = pickletools.code2op.get(code.decode("latin1"))  # type: ignore[attr-defined]
            action = getattr(self, f"_{opcode.name.lower()}", None) if opcode is not None else None
            if action is None:
                raise refuse(f"Unsupported operand {code[0]}", kind_note(head))
            try:
                argument = opcode.arg.reader(self.stream) if opcode.arg is not None else None
                if opcode.name == "STOP":
                    return self._pop()
                action(argument)
            except pickle.UnpicklingError:
                raise
            except (
                ValueError,
                TypeError,
                KeyError,
                IndexError,
                AttributeError,
                OverflowError,
            ) as error:
                if (
                    opcode.name == "BINPERSID"
                ):  # an error of the function that the user gave as map_location
                    raise
                kind = type(error).__name__
                raise refuse(f"the pickle is damaged at {opcode.name}: {kind}: {error}") from error

    # the stack -------------------------------------------------------------------------------------------------------

    def _pop(self):
        if not self.stack or self.stack[-1] is _MARK:
            raise refuse("the pickle takes more from its stack than is there")
        return self.stack.pop()

    def _top(self):
        if not self.stack or self.stack[-1] is _MARK:
            raise refuse("the pickle takes more from its stack than is there")
        return self.stack[-1]

    def _pop_mark(self):
        items: list[Any] = []
        while self.stack:
            item = self.stack.pop()
            if item is _MARK:
                return items[::-1]
            items.append(item)
        raise refuse("the pickle takes more from its stack than is there")

    def _push(self, value):
        self.stack.append(value)

    # plain values ----------------------------------------------------------------------------------------------------

    _binint = _binint1 = _binint2 = _binfloat = _binunicode = _long1 = _push

    def _short_binstring(self, text):
        self._push(
            text.encode("latin1").decode("utf-8")
        )  # a text of Python 2, which its bytes are read as by PyTorch

    def _proto(self, version):
        if version != 2:
            warnings.warn(
                f"Detected pickle protocol {version} in the checkpoint, which was not the default pickle protocol used by "
                "`torch.load` (2). The weights_only Unpickler might not support all instructions implemented by this protocol, "
                "please file an issue for adding support if you encounter this.",
                stacklevel=4,
            )

    def _stop(self, _):
        pass

    def _none(self, _):
        self._push(None)

    def _newtrue(self, _):
        self._push(True)

    def _newfalse(self, _):
        self._push(False)

    def _empty_tuple(self, _):
        self._push(())

    def _empty_list(self, _):
        self._push([])

    def _empty_dict(self, _):
        self._push({})

    def _empty_set(self, _):
        self._push(set())

    def _mark(self, _):
        self._push(_MARK)

    def _tuple(self, _):
        self._push(tuple(self._pop_mark()))

    def _tuple1(self, _):
        self._push((self._pop(),))

    def _tuple2(self, _):
        second, first = self._pop(), self._pop()
        self._push((first, second))

    def _tuple3(self, _):
        third, second, first = self._pop(), self._pop(), self._pop()
        self._push((first, second, third))

    def _binput(self, number):
        self.memo[number] = self._top()

    _long_binput = _binput

    def _binget(self, number):
        if number not in self.memo:
            raise refuse(f"the pickle asks for object {number}, which it has not stored")
        self._push(self.memo[number])

    _long_binget = _binget

    # containers ------------------------------------------------------------------------------------------------------

    def _append(self, _):
        item = self._pop()
        self._add(self._top(), [item], "append")

    def _appends(self, _):
        items = self._pop_mark()
        self._add(self._top(), items, "extend")

    def _add(self, target, items, verb):
        if type(target) is not list:
            raise refuse(
                f"Can only {verb}{' to' if verb == 'append' else ''} lists, but got {type(target)}"
            )
        target.extend(items)

    def _setitem(self, _):
        value, key = self._pop(), self._pop()
        self._set(self._top(), [key, value])

    def _setitems(self, _):
        items = self._pop_mark()
        self._set(self._top(), items)

    def _set(self, target, items):
        if not isinstance(target, dict):
            raise refuse(f"Can only set items of dicts, but got {type(target)}")
        if len(items) % 2:
            raise refuse("a dict in the pickle has a key without a value")
        for key, value in zip(items[::2], items[1::2]):
            target[key] = value

    # what could do harm ----------------------------------------------------------------------------------------------

    def _global(self, name):
        module, _, name = name.partition(" ")
        self._push(self._find(*in_python3(module, name)))

    def _find(self, module, name):
        full = f"{module}.{name}"
        if module in BLOCKED:
            raise refuse(
                f"Trying to load unsupported GLOBAL {full} whose module {module} is blocked.",
                "Weights need nothing of the operating system: this file was made to run a program on your computer. Delete it.",
            )
        if full in self.allowed:
            return self.allowed[full]
        full = full.removeprefix("builtins.")
        raise refuse(
            f"Unsupported global: GLOBAL {full} was not an allowed global by default. Please use "
            f"`torch.serialization.add_safe_globals([{full}])` or the `torch.serialization.safe_globals([{full}])` context "
            "manager to allowlist this global if you trust this class/function.",
            "The file names code that loading would run. A state_dict() needs none; ask for a file that has only that.",
        )

    def _reduce(self, _):
        arguments, function = self._pop(), self._pop()
        if type(arguments) is not tuple or not self._may_call(function):
            raise refuse(f"Trying to call reduce for unrecognized function {function}")
        self._push(function(*arguments))

    def _may_call(self, function):
        if function is Tensor or (isinstance(function, type) and issubclass(function, Tensor)):
            return False  # a tensor is only made of a storage: torch.Tensor(10 ** 12) would ask for that much memory
        return callable(function) and any(function is known for known in self.allowed.values())

    def _newobj(self, _):
        arguments, kind = self._pop(), self._pop()
        if not isinstance(kind, type) or type(arguments) is not tuple or not self._may_call(kind):
            raise refuse(
                "Can only create new object for nn.Parameter or classes allowlisted via `add_safe_globals` but got "
                f"{kind!r}"
            )
        self._push(kind.__new__(kind, *arguments))

    def _build(self, _):
        state = self._pop()
        target = self._top()
        if type(target) is OrderedDict:
            if type(state) is not dict or set(state) - {"_metadata"}:
                raise refuse("an OrderedDict in the pickle has attributes that it cannot have")
            target.__dict__.update(state)
        elif type(target) in user_globals().values():
            _set_state(target, state)
        else:
            raise refuse(
                "Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, but got "
                f"{type(target)}"
            )

    def _binpersid(self, _):
        pid = self._pop()
        if type(pid) is not tuple:
            raise refuse(f"persistent_load id must be tuple or int, but got {type(pid)}")
        if not pid or pid[0] != "storage":
            raise refuse(
                f"Only persistent_load of storage is allowed, but got {type(pid[0]) if pid else pid}"
            )
        self._push(self.persistent_load(pid))


def _set_state(target, state):
    """As Python's unpickler sets the state of an object whose class the user allows."""
    if hasattr(target, "__setstate__"):
        return target.__setstate__(state)
    slots = None
    if isinstance(state, tuple) and len(state) == 2:
        state, slots = state
    target.__dict__.update(state or {})
    for name, value in (slots or {}).items():
        setattr(target, name, value)


class Named:
    """Stands for an object of a pickle that is only looked at: `name` is what the file calls it, or None."""

    def __init__(self, name=None):
        self.name = name


class _Scanner(_Interpreter):
    """Goes through a pickle without building anything."""

    def __init__(self, stream):
        super().__init__(stream, None)
        self.ids, self.globals = [], set()

    def _short_binstring(self, text):
        self._push(text)  # in whatever encoding it is

    def _find(self, module, name):
        self.globals.add(f"{module}.{name}")
        return Named(f"{module}.{name}")

    def _reduce(self, _):
        self._tuple2(None)
        self._pop()
        self._push(Named())

    _newobj = _reduce

    def _build(self, _):
        self._pop()

    def _add(self, target, items, verb):
        pass

    def _set(self, target, items):
        pass

    def _binpersid(self, _):
        pid = self._pop()
        self.ids.append(pid)
        self._push(Named())


def of_bytes(content, persistent_load):
    """`load` from bytes."""
    return load(io.BytesIO(content), persistent_load)
