# %% [markdown]
# # Backward from a vector
#
# This notebook belongs to [lesson 1](../01_graphs.ipynb) and takes about 45 minutes. In the lesson, every graph ended in a single number, the loss. In the middle of a graph, however, there are vectors and matrices, so let's see what `backward()` does with them.

# %% tags=["setup", "colab"]

# %% tags=["setup"]
import matplotlib.pyplot as plt
import numpy as np

import autolab
import autolab as torch
from autolab.lessons import check, hint, in_words, predict, progress, short_messages

short_messages()        # errors show your lines, not the inside of the kit
