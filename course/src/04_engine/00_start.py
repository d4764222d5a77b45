# %% [markdown]
# # Lesson 4: An engine, built and read
#
# In lesson 3 you taught a network your own digits. One call did the hard part: `backward()` said which of its 78,010 numbers was to blame, and
# by how much. Here you build what is behind that call, in eight steps and fewer than 100 lines. You step through *your* engine, break it on purpose, and train a
# network with it. Then you read autolab's own, and find each of your functions in it.
#
# You need lesson 1: gradients, the chain rule, forks. The lesson takes about 85 minutes.
#
# Each step is a question, a few lines of yours, a check, and a look. Later steps need the earlier ones. Where yours is not right yet, the model's part
# stands in, and says so. `hint("04.1")` helps, one hint at a time. You may run the whole notebook at once.

# %% tags=["setup", "colab"]

# %% tags=["setup"]
import numpy as np

import autolab
from autolab.lessons import check, hint, predict, progress, short_messages
from autolab.lessons.lesson04 import beside, finish, use

short_messages()        # errors show your lines, not the inside of the kit
