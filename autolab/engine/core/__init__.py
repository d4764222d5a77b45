"""The engine, in plain Python. Read the files in this order; an afternoon will do.

Files about tensors:

1. `errors.py`: errors with PyTorch's messages.
2. `dtype.py`, `device.py`: the type of a tensor's numbers, and the device of its memory.
3. `observe.py`: observers of the engine. Everything that they can see of a run is an event here.
4. `grad_mode.py`: the state of each thread, such as whether it records history.
5. `tensor.py`: the data of a tensor, and its place in the graph.

The forward pass:

6. `record.py`, `namespaces.py`: the declaration of an operation; its gradient rules compute with arrays or with
Tensors.
7. `saving.py`: the arguments and results that an operation saves for backward.
8. `node.py`: the graph node of an operation. **What backward is** is explained here.
9. `apply.py`: how an operation runs.
10. `op.py`: a record becomes an operation that can be called, and an engine runs it.

The backward pass:

11. `backward.py`: the order of the nodes, and the sums where paths meet.
12. `differentiate.py`: `backward()` and `grad()`.

Nothing here imports another room of the engine, and each file imports only files listed above it. Other rooms add to
the core in four ways. `tensor.attach` puts methods on Tensor, Node, View, device and Engine. `op.use` replaces the
plain engine with a faster one. `errors.ERROR_LISTENERS` holds objects that are called for each error.
`grad_mode.THREAD_INIT` holds functions that each new thread calls. The examples know `torch`, which is autolab, `np`,
`OPS` and `raw`.
"""
