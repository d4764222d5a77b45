# %% [markdown] tags=["optional"]
# ## What you need (optional, 5 minutes)
#
# Skip this if the words are old friends.
#
# | word | what it means here |
# |---|---|
# | batch | some examples that go through the network together, as one tensor; the loss is their mean |
# | epoch | one pass over all training examples, batch by batch |
# | learning rate | how far a step goes along the negative gradient |
# | momentum | a step also keeps a part of the step before, as a rolling ball does |
# | cross-entropy | the loss for classes: small when the right class got a high probability |
#
# The network is made of **convolutions**. A small window of weights slides over the image. At every place it multiplies what lies
# under it, number by number, and adds up. That sum is one number of the result. Step through it, then switch to *backward*.
# The window `edge` answers strongly where it is dark on its right and light on its left. Sixteen windows of 5 by 5 are the first
# layer of your network, and nobody wrote them: gradients did.

# %% tags=["picture"]
small_image = [[0, 0, 1, 0], [0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 1, 0]]
edge = [[-1, 1], [-1, 1]]
autolab.widgets.ConvExplorer(small_image, edge)
