# %% [markdown]
# # In-place changes
#
# This notebook belongs to [lesson 1](../01_graphs.ipynb) and takes about 30 minutes. An in-place change saves memory, but sometimes it makes `backward()` fail. In this notebook you find out when and why.

# %% tags=["setup", "colab"]

# %% tags=["setup"]
import numpy as np

import autolab
import autolab as torch
from autolab.lessons import check, hint, in_words, predict, progress, short_messages

short_messages()        # errors show your lines, not the inside of the kit
