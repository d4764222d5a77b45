# %% [markdown]
# # LeNet and pictures of clothes
#
# This notebook belongs to [lesson 2](../02_gpu.ipynb) and takes about 30 minutes. You build LeNet layer by layer and train it on pictures of clothes, first on the CPU and then on the GPU. Then you look at the pictures that it gets wrong. If you want to write LeNet yourself, solve exercise 02.14 of the lesson first.

# %% tags=["setup", "colab"]

# %% tags=["setup"]
import matplotlib.pyplot as plt
import numpy as np

import autolab
import autolab as torch
from autolab.lessons import plots, progress, short_messages
from autolab.lessons.clothes import KINDS, clothes

short_messages()        # errors show your lines, not the inside of the kit
nn, F = torch.nn, torch.nn.functional

# %% tags=["setup"]
if not torch.cuda.is_available():       # no GPU here: simulate one
    autolab.cuda.simulate(devices=2, memory="96MiB", profile="T4")

device = torch.device("cuda")
clock = autolab.cuda.perf_counter       # with a real GPU this is time.perf_counter
