"""Named results of ops with several outputs: `torch.return_types.max` and similar types.

`return_type("max", ("values", "indices"))` makes a type on demand; it is then an attribute of this module.
"""

import operator

from ..core.errors import fail


class NamedResult(tuple):
    """A tuple with named items. It prints one item per line, as PyTorch's structured results do."""

    __slots__ = ()
    _fields = ()

    def __repr__(self):
        pairs = zip(self._fields, self, strict=True)
        body = ",\n".join(f"{name}={value!r}" for name, value in pairs)
        return f"torch.return_types.{type(self).__name__}(\n{body})"

    def __getattr__(self, name):
        kind = type(self).__name__
        message = f"'torch.return_types.{kind}' object has no attribute '{name}'"
        note = f"{kind}() along a dimension gives several tensors: take one, for example .{self._fields[0]}."
        raise fail(AttributeError, message, note)

    def __reduce__(self):
        return _rebuild, (type(self).__name__, self._fields, tuple(self))


def return_type(name, fields):
    """Return the result type `name` with the given field names; every call returns the same type."""
    made = globals().get(name)
    if made is None:
        fields = tuple(fields)
        members = {field: property(operator.itemgetter(i)) for i, field in enumerate(fields)}
        body = {"__slots__": (), "__module__": "torch.return_types", "_fields": fields, **members}
        body["__doc__"] = (
            f"The result of `{name.replace('linalg_', 'linalg.')}`: a tuple ({', '.join(fields)}). "
            f"Source: torch.return_types.{name}."
        )
        made = globals()[name] = type(name, (NamedResult,), body)
    return made


def _rebuild(name, fields, items):
    return return_type(name, fields)(items)
