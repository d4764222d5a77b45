# %% [markdown]
# # Read autolab's engine
#
# This notebook belongs to [lesson 4](../04_engine.ipynb) and takes about 38 minutes. You can skip it, because no other notebook needs it.

# %% tags=["setup", "colab"]

# %% tags=["setup"]
import numpy as np

import autolab
from autolab.lessons import hint, predict, progress, short_messages
from autolab.lessons.lesson04 import beside
from autolab.lessons.lesson04.engine import (
    Value, add, backward, multiply, order, share
)

Value.__add__, Value.__mul__, Value.backward = add, multiply, backward
short_messages()        # errors show your lines, not the inside of the kit
