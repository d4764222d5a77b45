# %% [markdown]
# # What a node keeps
#
# This notebook belongs to [lesson 1](../01_graphs.ipynb) and takes about 25 minutes. You will look inside the nodes of a graph, because that explains why training needs so much memory. After that, you will watch the gradients while they pass through the graph.

# %% tags=["setup", "colab"]

# %% tags=["setup"]
import numpy as np

import autolab
import autolab as torch
from autolab.lessons import check, hint, in_words, predict, progress, short_messages

short_messages()        # errors show your lines, not the inside of the kit
