# %% [markdown]
# # Ways to leave the graph
#
# This notebook belongs to [lesson 1](../01_graphs.ipynb) and takes about 40 minutes. Sometimes you want to keep something out of the graph, and sometimes something leaves the graph by mistake. In both cases PyTorch often gives no message, so it helps to know how it can happen.

# %% tags=["setup", "colab"]

# %% tags=["setup"]
import numpy as np

import autolab
import autolab as torch
from autolab.lessons import check, hint, in_words, predict, progress, short_messages

short_messages()        # errors show your lines, not the inside of the kit
