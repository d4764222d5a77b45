# %% [markdown]
# # Lesson 3: Fine-tuning, or your own hand
#
# In [lesson 2](02_gpu.ipynb) the network learnt all ten digits, from 1,237 images that others had drawn and labelled. That is a luxury. In
# real life you find a network that somebody trained on something *like* your task, and you have ten images of your own.
#
# So here the network is back where lesson 1 left it: 78,010 numbers that know the digits 0 to 4. You will teach it the other five from
# ten images each, find out what it forgets while it learns, and cure that. At the end it learns to read **your hand**.
#
# You need lesson 1: leaves, `requires_grad`, the training loop. The lesson takes about 90 minutes. After it come notebooks that go further; each answers one question, and you may skip any. `hint("03.2")` gives hints for an exercise. New words are collected in the
# [glossary](glossary.md).
#
# `torch` stands for what PyTorch has too. `torch.vision` and `autolab.finetune` are only in this kit: a network, the task, and short forms of what you first
# write by hand.

# %% tags=["setup", "colab"]

# %% tags=["setup"]
import matplotlib.pyplot as plt

import autolab
import autolab as torch
from autolab import finetune
from autolab.lessons import (
    check, hand, hint, in_words, plots, predict, progress, short_messages
)
from autolab.widgets import FreezePanel, LossLandscape
from autolab.widgets import ReceptiveField, TrainingDashboard

nn, F = torch.nn, torch.nn.functional
short_messages()        # errors show your lines, not the inside of the kit

# %% tags=["setup"]
task = finetune.unseen_digits(per_class=10, seed=0, classes=range(10))
few, few_labels = task.train.tensors               # ten of each digit, to train on
others, other_labels = task.test.tensors           # 360 that no training has seen
first_7 = (other_labels == 7).nonzero()[0]         # the shipped digit is one of them:
rest = torch.arange(len(others)) != first_7        # it is left out
others, other_labels = others[rest], other_labels[rest]
image, label = hand.my_digit()

def share_right(model, chosen):
    """How many percent of the other images the network reads, of those chosen."""
    with finetune.evaluating(model), torch.no_grad():
        read = model(others[chosen]).argmax(1)
    return 100 * (read == other_labels[chosen]).float().mean().item()

old, new = other_labels < 5, other_labels >= 5
