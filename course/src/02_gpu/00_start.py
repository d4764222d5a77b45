# %% [markdown]
# # Lesson 2: GPUs, or how to be fast
#
# In [lesson 1](01_graphs.ipynb) your own gradient moved all 78,010 numbers of a network a little, for one digit. There are 1,437
# digits waiting, and one pass over them is only the beginning. So now it has to be fast.
#
# People buy a GPU for that. With the same network and the same digits it can be three times as fast as the CPU, or almost eight
# times *slower*, by the model that this lesson computes times with. In this lesson you find out what decides, and which mistakes only a GPU can teach you.
#
# **You need no GPU.** Where there is none, this notebook simulates one. The lesson takes about 90 minutes. After it come notebooks that go further; each answers one question, and you may skip any. `hint("02.2")` gives hints for an exercise. New words are
# collected in the [glossary](glossary.md).

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
simulated = autolab.cuda.is_simulated()
print("This notebook runs on:", torch.cuda.get_device_name(), "- simulated:", simulated)

def seconds(work):
    """How long work() takes. Section 4 explains the two synchronize() lines."""
    torch.cuda.synchronize()
    start = clock()
    work()
    torch.cuda.synchronize()
    return clock() - start

# %% [markdown]
# **What is simulated.** When it says `Simulated T4`, every number about *time* comes from a model of NVIDIA's T4 and of a desktop CPU.
# The numbers in your tensors are real, memory is counted as on a GPU (96 MiB here, so that you can fill it), and the errors
# are PyTorch's. The model leaves out caches, heat and other programs. Trust it for which of two ways is faster, not for the last digit.
