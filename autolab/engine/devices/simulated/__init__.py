"""The simulated GPU: arrays in a memory of their own, a clock, streams, and CuPy's rules, all on NumPy.

`array.py` (SimArray, in the place of `cupy.ndarray`), `module.py` (`xp`, in the place of `cupy`; `cupy_names.py` is
what it may offer), `memory.py` (the pool), `clock.py` (time and streams), `profiles.py` (which GPU), `device.py` (all
of them together).
"""
