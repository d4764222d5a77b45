# %% [markdown]
# # Ways to fine-tune, compared
#
# This notebook belongs to [lesson 3](../03_finetuning.ipynb) and takes about 34 minutes. You can train only the head, or you can train everything, and there are three well-known methods in between. Here you learn how these methods work, and then you compare all methods on the same images. The comparison runs for one to three minutes.

# %% tags=["setup", "colab"]

# %% tags=["setup"]
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

import autolab
import autolab as torch
from autolab import finetune
from autolab.lessons import (
    check, hint, in_words, plots, predict, progress, short_messages
)
from autolab.lessons.notebook import threads_start
from autolab.vision.models import resnet_digits
from autolab.widgets import FreezePanel, LossLandscape, TrainingDashboard

nn, F = torch.nn, torch.nn.functional
short_messages()        # errors show your lines, not the inside of the kit

# %% tags=["setup"]
task = finetune.unseen_digits(per_class=10, seed=0)     # the digits 5 to 9
images, labels = task.test.tensors
x, y = task.train.tensors
few_x, few_y = x[::10], y[::10]                         # one image of each digit
pretrained = resnet_digits(weights="DEFAULT").eval()

def with_new_head():
    model = resnet_digits(weights="DEFAULT")
    model.fc = nn.Linear(model.fc.in_features, 5)
    return model

def features_of(model, images):
    head, model.fc = model.fc, nn.Identity()       # Identity passes on what it gets
    with torch.no_grad():
        features = model(images)
    model.fc = head
    return features
