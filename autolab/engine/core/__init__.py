"""The engine, in plain Python. Read the files in this order; an afternoon will do.

Files about tensors:

1. `errors.py`: how the engine refuses, in PyTorch's words.
2. `dtype.py`, `device.py`: what kind of numbers a tensor has, and where they are.
3. `observe.py`: who watches, and what they are told. Everything that can be seen of a run is an event here.
4. `grad_mode.py`: what threads share; when history is recorded.
5. `tensor.py`: what a tensor holds, and its place in the graph.

The forward pass:

6. `record.py`, `namespaces.py`: how an operation is stated, once; the two kinds of numbers that its gradient rules
compute with.
7. `saving.py`: what is kept of an operation for backward.
8. `node.py`: the node that an operation leaves behind. **What backward is** stands here.
9. `apply.py`: how an operation runs.
10. `op.py`: how a record becomes an operation that can be called, and which engine runs it.

The backward pass:

11. `backward.py`: the order of the nodes, and the sums where paths meet.
12. `differentiate.py`: `backward()` and `grad()`.

Nothing here imports another room of the engine, and each file imports only files listed above it. Other rooms add to
the core in four ways. `tensor.attach` puts methods on Tensor, Node, View, device and Engine. `op.use` replaces the
plain engine with a faster one. `errors.ERROR_LISTENERS` holds objects that are called for each error.
`grad_mode.THREAD_INIT` holds functions that each new thread calls. The examples know `torch`, which is autolab, `np`,
`OPS` and `raw`.
"""
