"""The engine, in plain Python. Read in this order:

`errors.py` (how it refuses), `dtype.py` (what numbers are), `observe.py` (who watches), `tensor.py` (what a tensor holds), `op.py` (how an
operation is stated), `apply.py` (how one runs), `node.py` (what it leaves behind), `backward.py` (the way back), `differentiate.py`
(`backward()` and `grad()`), `grad_mode.py` (when nothing is recorded).
"""
