# %% [markdown]
# # Training on two GPUs
#
# This notebook belongs to [lesson 2](../02_gpu.ipynb) and takes about 28 minutes. Here you train one network on two GPUs by hand, with a copy of the network on each GPU. You check that the result is the same as on one GPU, and measure whether two GPUs are faster.

# %% tags=["setup", "colab"]

# %% tags=["setup"]
import matplotlib.pyplot as plt
import numpy as np

import autolab
import autolab as torch
from autolab.lessons import (
    check, hand, hint, in_words, plots, predict, progress, short_messages
)
from autolab.widgets import DeviceExplorer

short_messages()        # errors show your lines, not the inside of the kit
nn, F = torch.nn, torch.nn.functional

# %% tags=["setup"]
if not torch.cuda.is_available():       # no GPU here: simulate one
    autolab.cuda.simulate(devices=2, memory="96MiB", profile="T4")

device = torch.device("cuda")
clock = autolab.cuda.perf_counter       # with a real GPU this is time.perf_counter

def seconds(work):
    """Return how long work() takes, as in section 4 of lesson 2."""
    torch.cuda.synchronize()
    start = clock()
    work()
    torch.cuda.synchronize()
    return clock() - start
