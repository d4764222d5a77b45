# %% [markdown]
# # Four ways to fit a line
#
# This notebook belongs to [lesson 1](../01_graphs.ipynb) and takes about 30 minutes. In the lesson you fitted a line with a loop and with an optimizer. Here you do it in four ways, from pencil and paper to a class of your own, and all four ways should find the same line.

# %% tags=["setup", "colab"]

# %% tags=["setup"]
import numpy as np

import autolab
import autolab as torch
from autolab.lessons import check, hint, in_words, predict, progress, short_messages

short_messages()        # errors show your lines, not the inside of the kit
