# %% [markdown]
# # Ways to leave the graph
#
# This notebook belongs to [lesson 1](../01_graphs.ipynb) and takes about 36 minutes. You can skip it, because no other notebook needs it.

# %% tags=["setup", "colab"]

# %% tags=["setup"]
import numpy as np

import autolab
import autolab as torch
from autolab.lessons import check, hint, in_words, predict, progress, short_messages

short_messages()        # errors show your lines, not the inside of the kit
