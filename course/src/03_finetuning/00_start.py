# %% [markdown]
# # Lesson 3: Fine-tuning, or your own hand
#
# In [lesson 2](02_gpu.ipynb) the network learned all ten digits from 1,237 images that other people had drawn and labelled. In practice you rarely have that many images. Instead you often have ten images of your own, and a network that was trained on a *similar* task. **Are ten images enough, and what else does the training change?**
#
# So in this lesson we go back to the network of lesson 1, whose 78,010 numbers know the digits 0 to 4. You will teach it the other five digits with ten images of each, and you will measure what this training changes. At the end the network learns to read your own handwriting.
#
# You need to know three things from lesson 1: leaves, `requires_grad` and the training loop. The lesson takes about 100 minutes, but you don't have to do it in one sitting, because your answers are saved. The notebooks listed at the end go further, and each of them answers one question. If you get stuck in an exercise, `hint("03.2")` gives you a hint, and the [glossary](glossary.md) explains the terms.
#
# All code that begins with `torch.…` also runs in PyTorch. Code that begins with `autolab.…`, and everything in `finetune` and `hand`, comes from this kit. One part of the kit, `autolab.vision`, uses the same names as torchvision, which is a separate package of PyTorch.

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
    """Return the percentage of the chosen images that the network reads correctly."""
    with finetune.evaluating(model), torch.no_grad():
        read = model(others[chosen]).argmax(1)
    return 100 * (read == other_labels[chosen]).float().mean().item()

old, new = other_labels < 5, other_labels >= 5
