# %% [markdown]
# # Lesson 1: Graphs and gradients
#
# You write a formula. You call `backward()`. Out come the gradients. In this lesson you see what happens in between,
# one step at a time, on your own code.
#
# You need Python and the chain rule from school: the derivative of $f(g(x))$ is $f'(g(x)) \cdot g'(x)$. Everything else is
# explained when it comes up, and collected in the [glossary](glossary.md). Plan 75 to 90 minutes.
#
# **How each section works**
#
# 1. A question. Answer it before you run anything. A wrong guess costs nothing, and you remember it.
# 2. A few lines of code. Run them. Change them.
# 3. A picture of your graph. Step through it with the buttons, or with the arrow keys.
# 4. Why it is so.
# 5. An exercise, with a checker that tells you *why* an answer fails. `hint("01.1")` gives you hints, one at a time.
# 6. One line to take along.
#
# You may run the whole notebook at once: your questions stay open until you answer them,
# nothing stops at an empty exercise, and errors shown on purpose are marked.

# %% tags=["setup"]
# Only Google Colab needs this cell: it installs the kit there. Everywhere else it does nothing.
import sys

if "google.colab" in sys.modules:
    import subprocess
    subprocess.check_call([sys.executable, "-m", "pip", "install", "-q", "autolab-kit"])

# %% [markdown]
# The next cell imports NumPy for arrays, Matplotlib for plots, and the kit twice, under two names.
#
# - `torch` is the part that PyTorch has too. The names are the same, and so are the numbers and the error messages. What you
#   write here runs unchanged after a plain `import torch`.
# - `autolab` is the part that only this kit has: it can show you the graph and step through it.

# %% tags=["setup"]
import matplotlib.pyplot as plt
import numpy as np

import autolab
import autolab as torch
from autolab.lessons import check, hint, predict, progress, short_messages

short_messages()        # errors show your lines, not the inside of the kit
