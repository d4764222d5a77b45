"""The simulated GPU: arrays in their own memory, a clock, streams, and CuPy's rules, all built on NumPy.

`array.py` has SimArray, in place of `cupy.ndarray`; `module.py` has `xp`, in place of `cupy`, and `cupy_names.py` the
names that it offers. `memory.py` is the memory pool, `clock.py` time and streams, `profiles.py` the GPU models, and
`device.py` combines them all.
"""
