# %% [markdown] tags=["section"]
# ## 1. Which number is to blame
#
# Draw a digit, best a 5, 6, 7, 8 or 9, and say which it is meant to be. Or keep the 7 that is there.

# %% tags=["draw"]
pad = autolab.DrawDigit(*hand.my_digit())
pad

# %% tags=["run"]
network = hand.network()                    # ten outputs, one for each digit
image, label = pad.image.unsqueeze(0), torch.tensor([pad.label])

shares = network(image).softmax(1)[0]
guess = shares.argmax().item()
print(f"meant to be a {pad.label}; the network says {guess}, {shares[guess]:.1%} sure")

loss = F.cross_entropy(network(image), label)
print("loss:", loss)
hand.save_digit(pad.image, pad.label);      # kept for the next lessons

# %% [markdown] tags=["explain"]
# A **tensor** is an array of numbers: a single one (a scalar), a row (a vector), a table (a matrix), or more dimensions. A **network** is a formula full of numbers that can
# be set, its **parameters**. This one has 78,010. It has learnt the digits 0 to 4, and never saw another. (It read yours rightly? Draw a sloppier one, and run the cell
# again.)
#
# **Softmax** turns the ten outputs into shares that add up to 1. The **loss** is one number that says how wrong it is: here minus the logarithm of the share of the right digit. It is 0 for
# certain and right. The shipped 7 got a share of 0.0015, so its loss is 6.5.
#
# Take one number, turn it a little up, then a little down, and see what the loss does. The change of the loss for each unit is its **slope**.

# %% tags=["run"]
def loss_if(change):
    with torch.no_grad():                   # section 8 says what this is
        network.fc.bias[pad.label] += change
        changed = F.cross_entropy(network(image), label).item()
        network.fc.bias[pad.label] -= change
    return changed

slope = (loss_if(0.01) - loss_if(-0.01)) / 0.02
print(f"slope of the loss for this number: {slope:.3f}")

# %% tags=["predict"]
q1 = predict("01.q1")
q1

# %% tags=["run"]
image.requires_grad_()
network.zero_grad()                         # section 7 says why
loss = F.cross_entropy(network(image), label)
loss.backward()
print(sum(p.grad.numel() for p in network.parameters()), "slopes, of one walk")
print(f"that number's: {network.fc.bias.grad[pad.label].item():.3f}")

# %% tags=["reveal"]
q1.reveal()

# %% tags=["picture"]
loss = F.cross_entropy(network(image), label)
everything = dict(network.named_parameters())
for found in autolab.blame(loss, everything, method="gradient", top=5).top:
    print(f"{found.name}{list(found.at)}: slope {found.gradient:.2f}")
autolab.blame(loss, {"image": image})

# %% [markdown] tags=["explain", "keep"]
# The slopes of a result with respect to all the numbers of a tensor are its **gradient**. Above are the five parameters to blame most, and the gradient on the pixels, times their ink: vermillion raised the loss. One walk found all of them, and took about as long as running the network a few times. How can that be?
#
# **Takeaway:** a gradient says of each number how much the loss changes with it.
# PyTorch on [`backward`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html).
