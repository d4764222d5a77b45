"""The engine, in plain Python. Read it in this order; an afternoon will do.

What a tensor stands on:

1. `errors.py`: how the engine refuses, in PyTorch's words.
2. `dtype.py`, `device.py`: what its numbers are, and where.
3. `observe.py`: who watches, and what they are told. Everything that can be seen of a run is an event here.
4. `grad_mode.py`: what threads share; when history is recorded.
5. `tensor.py`: what a tensor holds, and its place in the graph.

Forward:

6. `record.py`, `namespaces.py`: how an operation is stated, once; the two kinds of numbers that its gradient rules
compute with.
7. `node.py`: what an operation leaves behind. **What backward is** stands here.
8. `apply.py`: how an operation runs.
9. `op.py`: how a record becomes an operation that can be called, and which code runs it.

Backward:

10. `backward.py`: the order of the nodes, and the sums where paths meet.
11. `differentiate.py`: `backward()` and `grad()`.

Nothing here imports another room of the engine. What others add, they put into the places that are made for it: methods
on Tensor, Node, View and device by `tensor.attach`; ways to run operations into `op.LANES`, ways through graphs into
`differentiate.SHORTCUTS`; checks before a pass into `backward.CHECKS`; who is told of errors into `errors.WITNESSES`.
Every file imports only what stands above it. The examples know `torch`, which is autolab, `np`, `OPS` and `raw`.
"""
