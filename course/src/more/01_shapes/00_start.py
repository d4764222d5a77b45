# %% [markdown]
# # Tensors and their shapes
#
# This notebook belongs to [lesson 1](../01_graphs.ipynb) and takes about 25 minutes. Most errors that you will meet in practice are about shapes. The worst shape mistakes, however, raise no error at all.

# %% tags=["setup", "colab"]

# %% tags=["setup"]
import numpy as np

import autolab
import autolab as torch
from autolab.lessons import check, hint, in_words, predict, progress, short_messages

short_messages()        # errors show your lines, not the inside of the kit
