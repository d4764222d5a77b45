# %% [markdown]
# # Lesson 4: An engine, built and read
#
# In the last three lessons, one call did the hard part for you. `backward()` computed the gradient of each of 78,010 numbers, and you only had to use these gradients.
#
# **How would you build `backward()` yourself?**
#
# In this lesson you build it, in eight small steps and fewer than 100 lines of Python. You will step through *your* engine in the explorer, break it on purpose, and use it to train a network that reads digits.
#
# You need lesson 1, because here you build the things that you saw there: gradients, the chain rule, and graphs in which paths meet. The lesson takes about 90 minutes, and your answers are saved if you take a break.
#
# In each step you answer a question, write a few lines, check them, and look at the result. Later steps build on earlier steps. So if one of your parts isn't correct yet, the notebook uses the model solution in its place, and you can always go on. The notebook tells you when that happens. If you get stuck, `hint("04.1")` gives you hints, one at a time.

# %% tags=["setup", "colab"]

# %% tags=["setup"]
import matplotlib.pyplot as plt
import numpy as np

import autolab
from autolab.lessons import check, hint, plots, predict, progress, short_messages
from autolab.lessons.lesson04 import finish, use

short_messages()        # errors show your lines, not the inside of the kit
