# %% [markdown]
# # Review
#
# This notebook belongs to [lesson 1](../01_graphs.ipynb) and takes about 15 minutes. You know the ideas from the lesson, but the situations are new, so this notebook is a good way to check what you have understood, for example a day later.

# %% tags=["setup", "colab"]

# %% tags=["setup"]
import autolab
import autolab as torch
from autolab.lessons import hand, in_words, predict, progress, short_messages

F = torch.nn.functional
short_messages()        # errors show your lines, not the inside of the kit
