# %% [markdown]
# # Lesson 4: An engine, built and read
#
# In the last three lessons, one call did the hard part. `backward()` found the gradient for each of 78,010 numbers, and you only used it.
#
# **How would you build `backward()` yourself?**
#
# In this lesson you do. It takes eight small steps and fewer than 100 lines of Python. You will step through *your* engine in the explorer, break it on purpose, and train a network with it that reads digits.
#
# You need lesson 1, because you will build what you have seen there: gradients, the chain rule, and graphs in which paths meet. The lesson takes about 90 minutes.
#
# In each step you answer a question, write a few lines, check them, and look at the result. Later steps build on earlier ones. If one of your parts isn't right yet, the model solution takes its place, and the notebook tells you so. That way you can always go on. `hint("04.1")` gives you hints, one at a time.

# %% tags=["setup", "colab"]

# %% tags=["setup"]
import matplotlib.pyplot as plt
import numpy as np

import autolab
from autolab.lessons import check, hint, plots, predict, progress, short_messages
from autolab.lessons.lesson04 import finish, use

short_messages()        # errors show your lines, not the inside of the kit
