"""Devices: the host, real GPUs through CuPy and simulated GPUs; and the choice of the device that runs an operation."""
