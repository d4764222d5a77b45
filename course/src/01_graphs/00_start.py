# %% [markdown]
# # Lesson 1: Graphs and gradients
#
# A network has learned to read the digits 0 to 4. You show it a 7, and it answers 1, because it has never seen a 7 before.
#
# **Which of the network's 78,010 numbers would you change so that it reads your 7, and by how much?**
#
# By hand you would need years for that, but one call, `loss.backward()`, answers it for all 78,010 numbers at once. In this lesson you find out how it does that, and at the end you teach the network your own digit with a few lines of code.
#
# You need Python, and the chain rule from school: the derivative of $f(g(x))$ is $f'(g(x)) \cdot g'(x)$. Everything else is explained when we need it, and the [glossary](glossary.md) collects the terms. The lesson takes about 90 minutes, which you don't have to spend in one sitting, because your answers are kept.
#
# In each section you first predict what will happen. Don't worry about wrong guesses, because they cost nothing, and people remember best what surprised them. Then you run the code, step through a picture, and explain in your own words what you saw. If an exercise isn't right yet, its checker tells you why, and `hint("01.1")` gives you a hint. You can also run the whole notebook at once, because questions stay open until you answer them.
#
# You will see two names for the same package. Whatever we write as `torch.…` in this lesson also runs in PyTorch, with the same numbers and the same error messages. Whatever we write as `autolab.…`, such as the pictures of graphs, comes from this kit.

# %% tags=["setup", "colab"]

# %% tags=["setup"]
import matplotlib.pyplot as plt
import numpy as np

import autolab
import autolab as torch
from autolab.lessons import check, hand, hint, in_words, plots, predict, progress
from autolab.lessons import short_messages, solved
from autolab.widgets import LossLandscape

F = torch.nn.functional
short_messages()        # errors show your lines, not the inside of the kit
