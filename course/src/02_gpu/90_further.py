# %% [markdown] tags=["further"]
# ## Going further
#
# Each of these notebooks answers one question. You can read them in any order, because they don't depend on one another.
#
# | notebook | question |
# |---|---|
# | [When a GPU is fast](more/02_speed.ipynb) | When is a GPU fast, and when is it slow? |
# | [NumPy, modules and devices](more/02_numpy_and_modules.ipynb) | When can NumPy read my tensor, and what moves with a module? |
# | [Loading data and profiling](more/02_loading_and_profiling.ipynb) | How do the data arrive in time, and where does the time go? |
# | [When the batch does not fit](more/02_large_batches.ipynb) | What can I do if the batch does not fit into memory? |
# | [LeNet and pictures of clothes](more/02_lenet.ipynb) | How do I build LeNet, and train it on either device? |
# | [Training on two GPUs](more/02_two_gpus.ipynb) | Are two GPUs twice as fast as one? |
