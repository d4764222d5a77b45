# %% [markdown] tags=["optional"]
# ## What you need (optional, 5 minutes)
#
# You can skip this section if you know these five words.
#
# | word | what it means here |
# |---|---|
# | batch | A batch is a few examples that go through the network together, as one tensor. Its loss is the mean of the losses of these examples. |
# | epoch | An epoch is one pass over all training examples, batch by batch. |
# | learning rate | The learning rate says how far each step goes along the negative gradient. |
# | momentum | With momentum, each step also contains a part of the previous step, like a rolling ball that keeps its speed. |
# | cross-entropy | This loss for classes is small if the network gives the right class a high probability. |
#
# The network is made of **convolutions**, which slide a small window of weights over the image. At every place, the window multiplies each number under it by a weight and adds up the products, so each place gives one number of the result. Step through the example below, and then switch to *backward*. The window `edge` gives large results where the image is dark on the right and light on the left, that is, at a vertical edge. The first layer of your network has sixteen such windows of 5 by 5 weights. Gradient descent found these weights.

# %% tags=["picture"]
small_image = [[0, 0, 1, 0], [0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 1, 0]]
edge = [[-1, 1], [-1, 1]]
autolab.widgets.ConvExplorer(small_image, edge)
