# %% [markdown]
# # A backward function of your own
#
# This notebook belongs to [lesson 1](../01_graphs.ipynb) and takes about 35 minutes. If PyTorch doesn't have the operation that you need, you can add the operation yourself. To do so, you write its forward and its backward, and you have to make sure that the two match.

# %% tags=["setup", "colab"]

# %% tags=["setup"]
import numpy as np

import autolab
import autolab as torch
from autolab.lessons import check, hint, in_words, predict, progress, short_messages

short_messages()        # errors show your lines, not the inside of the kit
