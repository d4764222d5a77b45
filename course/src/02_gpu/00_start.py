# %% [markdown]
# # Lesson 2: GPUs
#
# A GPU can make training forty times faster. It can also make it slower, and it brings errors of its own. In this lesson you
# find out when and why: where a tensor is, what a copy costs, what your clock really measures, and where the memory goes.
#
# You need lesson 1: leaves, graphs, `backward()`, the training loop. **You need no GPU.** Where there is none, this notebook simulates one.
# New words are explained when they come up, and collected in the [glossary](glossary.md). Plan 75 to 90 minutes.
#
# Each section works as in lesson 1: a question first, then code, a picture, the explanation, an exercise with a checker, one line to take along.
# `hint("02.1")` gives you hints. You may run the whole notebook at once: questions stay open
# until you answer them, and nothing stops at an empty exercise.

# %% tags=["setup"]
# Only Google Colab needs this cell: it installs the kit there. Everywhere else it does nothing.
import sys

if "google.colab" in sys.modules:
    import subprocess
    subprocess.check_call([sys.executable, "-m", "pip", "install", "-q", "autolab-kit"])

# %% tags=["setup"]
import math

import matplotlib.pyplot as plt
import numpy as np

import autolab
import autolab as torch
from autolab.lessons import check, hint, predict, progress, short_messages

short_messages()
nn, F = torch.nn, torch.nn.functional

# %% [markdown]
# The next cell looks for a GPU. PyTorch calls every NVIDIA GPU `cuda`, and so does this kit.

# %% tags=["setup"]
if not torch.cuda.is_available():
    autolab.cuda.simulate(devices=2, memory="256MiB", profile="T4")

device = torch.device("cuda")
clock = autolab.cuda.perf_counter          # seconds; with a real GPU it is time.perf_counter
print("This notebook runs on:", torch.cuda.get_device_name(), "- simulated:", autolab.cuda.is_simulated())

# %% [markdown]
# **What is simulated, and what is not.** When it says `Simulated T4`, there is no GPU, and every number about *time* comes from a model. The
# numbers in your tensors are real: NumPy computes them. The memory is counted as on a GPU, the errors are PyTorch's. It has 256 MiB, so that you can fill it.
#
# The model is short. Its speeds are those of NVIDIA's data sheet of the T4, and a kernel (a program that runs on the GPU) reaches 70 % of them. What the model
# leaves out: caches, other programs, heat. It says which of two ways is faster and roughly why, not what you will measure on Monday. The CPU's times are modelled as well: a desktop
# computer with four cores.
#
# | | CPU (modelled) | T4 (modelled) |
# |---|---|---|
# | operations on numbers | 150 billion a second | 8,100 billion a second |
# | bytes to and from its own memory | 20 billion a second | 320 billion a second |
# | to start one operation | 2 µs (microseconds) | 5 µs of the CPU's time, and at least 2.5 µs on the GPU |
# | bytes between CPU and GPU | | 6 billion a second, or 12 billion from pinned memory (section 8); 10 µs to begin with |
#
# So the stored times are the same on every computer. With a real GPU you see your own.
