# %% [markdown]
# # Ways to leave the graph
#
# This notebook belongs to [lesson 1](../01_graphs.ipynb) and takes about 40 minutes. Sometimes you want to keep something out of the graph, and sometimes something leaves it although you didn't want that. In both cases PyTorch often says nothing, so it pays to know the ways.

# %% tags=["setup", "colab"]

# %% tags=["setup"]
import numpy as np

import autolab
import autolab as torch
from autolab.lessons import check, hint, in_words, predict, progress, short_messages

short_messages()        # errors show your lines, not the inside of the kit
