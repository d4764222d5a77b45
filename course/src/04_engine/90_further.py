# %% [markdown] tags=["further"]
# ## Going further
#
# Where in autolab's engine are the functions that you have just written? Find out in [Read autolab's engine](more/04_read_autolab.ipynb).
