# %% [markdown] tags=["further"]
# ## Going further
#
# Each of these notebooks answers one question. You can read them in any order, because they don't depend on each other.
#
# | notebook | question |
# |---|---|
# | [What the features know](more/03_features.ipynb) | What do the features know, and what does "does not require grad" mean? |
# | [Frozen weights and the optimizer](more/03_frozen_weights.ipynb) | Can a frozen weight change, and can an unfrozen weight stay the same? |
# | [Ways to fine-tune, compared](more/03_methods.ipynb) | How do I change the body gently, and which way is best? |
# | [When to stop, and what to save](more/03_when_to_stop.ipynb) | When do I stop training, and what do I save? |
# | [Deep networks](more/03_deep_networks.ipynb) | Why do deep networks have shortcuts, and how do I use a large network? |
