# %% [markdown] tags=["optional"]
# ## What you need (optional, 5 minutes)
#
# Skip this if the words are old friends.
#
# | word | what it means here |
# |---|---|
# | softmax | turns ten scores into ten probabilities that add up to 1 |
# | optimizer | holds the parameters that are trained; `step()` moves them, `zero_grad()` clears their gradients |
# | channel, feature map | a convolution makes several pictures of one; each is a channel, and shows where it found its pattern |
# | batch normalisation | a layer that shifts and scales each channel, so that its numbers have mean 0 and spread 1 |
# | training mode, evaluation mode | `train()`: it measures mean and spread in the batch at hand; `eval()`: it uses averages from before |
# | validation images | images that are never trained on; what counts is how it does on those |
#
# How much of your digit does one number of a feature map see? Here are the first layers of the network. Click a number of the last map.

# %% tags=["picture"]
first_layers = hand.network()
ReceptiveField(image, [first_layers.conv1, first_layers.bn1, nn.ReLU(),
                       first_layers.layer1[0].conv1, first_layers.layer1[0].bn1])
