"""Named results of ops with several outputs: `torch.return_types.max` and its kin.

Types are made on demand by `return_type("max", ("values", "indices"))`; each is then an attribute of this module.
"""

import operator

from ..core.errors import fail


class NamedResult(tuple):
    """A tuple whose items have names; printed one item a line, as PyTorch prints its structured results."""

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
    """Return the result type called `name` with the given field names; the same type at every call."""
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
