"""The engine of `core/`, with its questions answered beforehand: functions compiled from the records of operations.

`installation.install()` puts them over the core, and `remove()` takes them away: an engine that runs operations
(`core/op.py`), the steps that nodes take in backward (their class), a fast way through plain graphs, operators. Nothing
outside this room imports it but `engine.plain`, which switches.
"""
