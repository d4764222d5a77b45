"""The fast engine: functions compiled from the records of operations, so that each call needs fewer checks than in
`core/`.

`installation.install()` replaces parts of the core with faster ones, and `remove()` restores the core. These parts
are the engine that runs operations (`core/op.py`), the backward step of each class of nodes, the pass through plain
graphs, and the operators. Only `engine.plain`, which switches between the two engines, imports this room.
"""
