# %% [markdown]
# # Review
#
# This notebook belongs to [lesson 1](../01_graphs.ipynb) and takes about 15 minutes. The ideas are those of the lesson, but the situations are new. So it is a good way to find out what you have understood, for example a day later.

# %% tags=["setup", "colab"]

# %% tags=["setup"]
import autolab
import autolab as torch
from autolab.lessons import hand, predict, progress, short_messages

F = torch.nn.functional
short_messages()        # errors show your lines, not the inside of the kit
