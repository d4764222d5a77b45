# %% [markdown] tags=["section"]
# ## 2. A network and its 78,010 numbers
#
# Draw a digit from 5 to 9, and tell the pad which digit you meant. If you would rather not draw, keep the 7 that is already there. Then run the next cell, and the network reads your digit.

# %% tags=["draw"]
pad = autolab.DrawDigit(*hand.my_digit())
pad

# %% tags=["run", "cover"]
network = hand.network()                        # it has learned the digits 0 to 4
image = pad.image[None]                         # here it takes one image at a time
label = torch.tensor([pad.label])

probabilities = network(image).softmax(1)[0].detach()     # detach(): section 9
guess = probabilities.argmax().item()
loss = F.cross_entropy(network(image), label)
print(f"You meant {pad.label}. The network says {guess}.",
      f"Its loss is {loss.item():.1f}.")
axes = plots.digit(pad.image, probabilities, title=f"the network says {guess}")
hand.save_digit(pad.image, pad.label);          # the next lessons use it

# %% [markdown] tags=["explain"]
# A **tensor** is an array of numbers. It can be a single number, a row (a vector), a table (a matrix), or something with more dimensions, such as an image. A **network** is a formula that turns one tensor into another. Its **parameters** are the numbers in the formula that we can choose, and this network has 78,010 of them.
#
# The network's ten outputs go through **softmax**, which turns them into ten probabilities that add up to 1. The loss measures how wrong these probabilities are: it is minus the logarithm of the probability of the correct digit. This loss is called **cross-entropy**. If the network were certain and correct, the loss would be 0. The 7 that comes with the lesson got a probability of 0.0015, so its loss is 6.5. That is no surprise, because the network was never taught a 7. (If the network read your digit correctly, draw a messier one and run the cell again.)
#
# Now let's do to the network what we did to $w$. We choose one of its parameters, nudge it up and down, and measure the slope of the loss. The picture then shows the loss for larger changes of this one parameter, while all the others stay as they are.

# %% tags=["run"]
bias = network.fc.bias                          # ten parameters of the last layer

def loss_if(change):
    with torch.no_grad():                       # section 9 explains this line
        bias[pad.label] += change
        nudged = F.cross_entropy(network(image), label).item()
        bias[pad.label] -= change
    return nudged

slope = (loss_if(0.01) - loss_if(-0.01)) / 0.02
print(f"slope of the loss for this parameter: {slope:.3f}")
axes = plots.tangent(loss_if, at=0, slope=slope, span=(-6, 12),
                     xlabel="change of the parameter")

# %% tags=["predict"]
q1 = predict("01.q1")
q1

# %% tags=["run"]
network.zero_grad()                             # section 8 explains this line
loss = F.cross_entropy(network(image), label)
loss.backward()
slopes = sum(p.grad.numel() for p in network.parameters())
print(f"{slopes:,} slopes from one backward pass")
print(f"slope for the same parameter: {bias.grad[pad.label].item():.3f}")

# %% tags=["reveal"]
q1.reveal()

# %% tags=["picture"]
pixels = image.clone().requires_grad_()
autolab.blame(F.cross_entropy(network(pixels), label), {"your digit": pixels})

# %% [markdown] tags=["explain", "keep"]
# The slopes of a result with respect to all the numbers in a tensor form the **gradient** of the result with respect to that tensor. The gradient has the same shape as the tensor, with one slope for each number.
#
# We can also ask for the gradient with respect to the image instead of the parameters. The last picture shows that gradient, multiplied by the ink of each pixel. In the green areas, your ink raised the loss, so you can see which strokes misled the network.
#
# One call of `backward()` found 78,010 slopes, and it took about as long as running the network a few times. The next sections show step by step how that is possible.
#
# **Takeaway:** for every number, the gradient tells you how much the loss changes if you nudge that number.
# Read more: PyTorch's page on [`backward`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html).
