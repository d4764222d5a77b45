# %% [markdown]
# # Loops, branches and a second backward pass
#
# This notebook belongs to [lesson 1](../01_graphs.ipynb) and takes about 40 minutes. Real programs contain loops and conditions, so you will find out what they leave in the graph. You also compare this kind of graph with graphs that are declared before anything runs, and you see how often you can use a graph.

# %% tags=["setup", "colab"]

# %% tags=["setup"]
import numpy as np

import autolab
import autolab as torch
from autolab.lessons import check, hint, in_words, predict, progress, short_messages

short_messages()        # errors show your lines, not the inside of the kit
