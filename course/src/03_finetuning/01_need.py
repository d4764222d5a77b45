# %% [markdown] tags=["optional"]
# ## What you need (optional, 5 minutes)
#
# You can skip this part if you already know these terms.
#
# | term | what it means here |
# |---|---|
# | softmax | It turns ten scores into ten probabilities that add up to 1. |
# | optimizer | It holds the parameters that you train. `step()` changes them, and `zero_grad()` clears their gradients. |
# | channel, feature map | A convolution makes several pictures from one picture. Each of these pictures is a channel, and it shows where the convolution found a certain pattern. |
# | batch normalisation | This layer shifts and scales each channel, so that its numbers have mean 0 and standard deviation 1. |
# | training mode, evaluation mode | After `train()`, batch normalisation measures mean and variance in the current batch. After `eval()`, it uses averages from earlier batches instead. |
# | validation images | The network is never trained on these images, so they show how well it reads new images. |
#
# How much of your digit does a single number in a feature map depend on? Here are the first layers of the network. Click a number in the last map to find out.

# %% tags=["picture"]
first_layers = hand.network()
ReceptiveField(image, [first_layers.conv1, first_layers.bn1, nn.ReLU(),
                       first_layers.layer1[0].conv1, first_layers.layer1[0].bn1])
