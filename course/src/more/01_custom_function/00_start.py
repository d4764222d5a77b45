# %% [markdown]
# # A backward function of your own
#
# This notebook belongs to [lesson 1](../01_graphs.ipynb) and takes about 35 minutes. You can teach PyTorch an operation that it doesn't have. For that, you write its forward and its backward yourself, and you have to make sure that they fit together.

# %% tags=["setup", "colab"]

# %% tags=["setup"]
import numpy as np

import autolab
import autolab as torch
from autolab.lessons import check, hint, in_words, predict, progress, short_messages

short_messages()        # errors show your lines, not the inside of the kit
