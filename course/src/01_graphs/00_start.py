# %% [markdown]
# # Lesson 1: Graphs and gradients
#
# A network has learned to read the digits 0 to 4. You show it a 7, and it answers 1, because it has never seen a 7 before.
#
# **Which of the network's 78,010 numbers would you change so that it reads your 7, and by how much?**
#
# Working this out by hand would take years, but a single call, `loss.backward()`, answers the question for all 78,010 numbers at once. In this lesson you find out how `backward()` does that. At the end, you teach the network your own digit with a few lines of code.
#
# You need to know Python and the chain rule from school: the derivative of $f(g(x))$ is $f'(g(x)) \cdot g'(x)$. Everything else is explained when we need it, and the [glossary](glossary.md) collects the terms. The lesson takes about 90 minutes. You don't have to finish it in one sitting, because your answers are saved.
#
# In each section you first predict what will happen. Don't worry about wrong guesses, because they cost nothing, and people remember surprises best. Then you run the code, step through a picture, and explain in your own words what you saw. If an exercise isn't right yet, its checker tells you why, and `hint("01.1")` gives you a hint. You can also run the whole notebook at once, because questions stay open until you answer them.
#
# You will see two names for the same package. In this lesson, code that starts with `torch.…` also runs in PyTorch, with the same numbers and the same error messages. Code that starts with `autolab.…`, such as the code that draws the graphs, comes from this kit.

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
