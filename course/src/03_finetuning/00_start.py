# %% [markdown]
# # Lesson 3: Fine-tuning
#
# You have a network that somebody trained on plenty of images. You have a task of your own, and few images of it. What do you keep, what do
# you train, and what goes wrong on the way? In this lesson you try it, on a network and on images that come with the kit.
#
# You need [lesson 1](01_graphs.ipynb): leaves, `requires_grad`, the training loop. Terms are collected in the [glossary](glossary.md).
# Plan 80 to 90 minutes. The whole notebook runs in one to three minutes on a laptop, most of it in section 9.
#
# **How each section works**
#
# 1. A question. Answer it before you run anything. A wrong guess costs nothing, and you remember it.
# 2. A few lines of code. Run them. Change them.
# 3. A picture: of filters, of the graph, of curves, or of the switches of a network.
# 4. Why it is so.
# 5. An exercise, with a checker that tells you *why* an answer fails. `hint("03.1")` gives you hints, one at a time.
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
# As before, `torch` stands for what PyTorch has too. `autolab.finetune` is a part that only this kit has: the task, and short forms of what you
# first write by hand. `torch.vision` has the names of the package `torchvision`.

# %% tags=["setup"]
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

import autolab
import autolab as torch
from autolab import finetune
from autolab.lessons import check, hint, predict, progress, short_messages
from autolab.widgets import FreezePanel, TrainingDashboard

nn, F = torch.nn, torch.nn.functional
short_messages()        # errors show your lines, not the inside of the kit
