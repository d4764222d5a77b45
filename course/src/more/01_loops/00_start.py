# %% [markdown]
# # Loops, branches and a second backward pass
#
# This notebook belongs to [lesson 1](../01_graphs.ipynb) and takes about 40 minutes. Real programs contain loops and conditions, so you will find out what these leave in the graph. You also compare this kind of graph with another one that is declared before anything runs, and see how often you can use a graph.

# %% tags=["setup", "colab"]

# %% tags=["setup"]
import numpy as np

import autolab
import autolab as torch
from autolab.lessons import check, hint, in_words, predict, progress, short_messages

short_messages()        # errors show your lines, not the inside of the kit
