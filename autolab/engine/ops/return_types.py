"""Named results of ops with several outputs: `torch.return_types.max` and its kin.

Types are made on demand by `return_type("max", ("values", "indices"))`; each is then an attribute of this module.
"""

import operator

from ..core.errors import fail

_made: dict[str, type] = {}


class NamedResult(tuple):
    """A tuple whose items have names; printed one item a line, as PyTorch prints its structured results."""

    __slots__ = ()
    _fields = ()
    n_fields = n_sequence_fields = 0
    n_unnamed_fields = 0

    def __new__(cls, items):
        items = tuple(items)
        if len(items) != len(cls._fields):
            raise TypeError(
                f"torch.return_types.{cls.__name__}() takes a {len(cls._fields)}-sequence ({len(items)}-sequence given)"
            )
        return tuple.__new__(cls, items)

    def __repr__(self):
        body = ",\n".join(
            f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True)
        )
        return f"torch.return_types.{type(self).__name__}(\n{body})"

    def __getattr__(self, name):
        kind = type(self).__name__
        message = f"'torch.return_types.{kind}' object has no attribute '{name}'"
        note = f"{kind}() along a dimension gives several tensors: take one, for example .{self._fields[0]}."
        raise fail(AttributeError, message, note)

    def __reduce__(self):
        return _rebuild, (type(self).__name__, self._fields, tuple(self))


def return_type(name, fields):
    """The result type called `name` with the given field names; the same type at every call."""
    made = _made.get(name)
    if made is None:
        fields = tuple(fields)
        members = {field: property(operator.itemgetter(i)) for i, field in enumerate(fields)}
        counts = {"n_fields": len(fields), "n_sequence_fields": len(fields)}
        body = {
            "__slots__": (),
            "__module__": "torch.return_types",
            "_fields": fields,
            **members,
            **counts,
        }
        body["__doc__"] = (
            f"What `{name.replace('linalg_', 'linalg.')}` gives: a tuple ({', '.join(fields)}). Source: torch.return_types.{name}."
        )
        made = _made[name] = globals()[name] = type(name, (NamedResult,), body)
    elif made._fields != tuple(fields):
        raise ValueError(
            f"torch.return_types.{name} has the fields {made._fields}, not {tuple(fields)}"
        )
    return made


def _rebuild(name, fields, items):
    return return_type(name, fields)(items)
