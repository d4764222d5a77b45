# %% [markdown]
# # Lesson 1: Graphs and gradients
#
# A network of 78,010 numbers reads a digit that you draw, and gets it wrong. **Which of its 78,010 numbers is to blame, and by how much?**
# At the end of this lesson you answer that with a few lines of your own, and mend the network with them.
#
# You need Python and the chain rule from school: the derivative of $f(g(x))$ is $f'(g(x)) \cdot g'(x)$. All else is
# explained when it comes up, and collected in the [glossary](glossary.md). The lesson takes about 90 minutes. The notebooks that go further stand alone.
#
# Each section asks before it shows. A wrong guess costs nothing, and you remember it. Then you run, change, step through the picture (buttons, or arrow
# keys), and say why. Exercises have a checker that tells you *why* an answer fails. `hint("01.1")` gives hints, one at a time.
#
# You may run the whole notebook at once: questions stay open until you answer, and errors shown on purpose are marked.
#
# The kit is imported under two names. What PyTorch has too runs unchanged after a plain `import torch`, with the same numbers and the same
# errors. Only this kit has `autolab`, which shows you the graph, `torch.specimens` and `torch.vision`.

# %% tags=["setup", "colab"]

# %% tags=["setup"]
import numpy as np

import autolab
import autolab as torch
from autolab.lessons import check, hand, hint, in_words, predict, progress, solved
from autolab.lessons import short_messages
from autolab.widgets import LossLandscape

F = torch.nn.functional
short_messages()        # errors show your lines, not the inside of the kit
