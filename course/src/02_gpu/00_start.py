# %% [markdown]
# # Lesson 2: GPUs, or how to be fast
#
# In [lesson 1](01_graphs.ipynb), forty training steps changed all 78,010 numbers of a network a little, so that the network reads your digit better. But there are 1,437 more digits to learn from, and one pass over them is only the beginning. So now the training has to become fast, and that is why people buy GPUs.
#
# **How much faster is a GPU, and what does that depend on?** In this lesson, you measure this with the same network and the same digits. You also learn about the mistakes that you can only make with a GPU. At the end, you write a network and its training loop yourself, starting from an empty cell.
#
# **You don't need a GPU**, because this notebook simulates one if your computer has none. The lesson takes about 110 minutes, and the last section alone takes 20. After the lesson, there are shorter notebooks that go further. Each of them answers one question, so you can skip any of them. The exercises are numbered across all of these notebooks, so some numbers are missing here. If you get stuck in an exercise, `hint("02.2")` gives you a hint, and the [glossary](glossary.md) collects the terms.

# %% tags=["setup", "colab"]

# %% tags=["setup"]
import matplotlib.pyplot as plt
import numpy as np

import autolab
import autolab as torch
from autolab.lessons import (
    check, hand, hint, in_words, plots, predict, progress, short_messages
)
from autolab.lessons.notebook import threads_start
from autolab.widgets import DeviceExplorer

short_messages()        # errors show your lines, not the inside of the kit
nn, F = torch.nn, torch.nn.functional

# %% [markdown]
# The next cell looks for a GPU. PyTorch calls every NVIDIA GPU `cuda`, and so does this kit.

# %% tags=["setup"]
if not torch.cuda.is_available():
    autolab.cuda.simulate(devices=2, memory="96MiB", profile="T4")

device = torch.device("cuda")
clock = autolab.cuda.perf_counter    # with a real GPU it is time.perf_counter
print("This notebook runs on:", torch.cuda.get_device_name())

def seconds(work):
    """How long work() takes. Section 4 explains the two synchronize() lines."""
    torch.cuda.synchronize()
    start = clock()
    work()
    torch.cuda.synchronize()
    return clock() - start

# %% [markdown]
# **What is simulated.** If the cell printed `Simulated T4`, every *time* in this notebook comes from a model of NVIDIA's T4 and of a desktop CPU. Everything else is real: the numbers in your tensors are really computed, and the errors are the same as in PyTorch. Memory is counted as on a GPU, but the simulated GPU has only 96 MiB, so that you can fill it. The model leaves out caches, heat and other programs. So you can trust the model when it says which of two ways is faster, but not when it says by exactly how much.
