# %% [markdown] tags=["section"]
# ## 1. What a pretrained network knows
#
# The network is **pretrained**, which means that it was trained before, on another task. It has seen the digits 0 to 4, but it has never seen a 7. It has ten outputs, but the weights of the outputs for 5 to 9 are still small random numbers. Let's show it the new digits anyway, and see what it answers.

# %% tags=["predict"]
q1 = predict("03.q1")
q1

# %% tags=["code"]
model = hand.network()
print(f"numbers in it: {sum(p.numel() for p in model.parameters()):,}")
print(f"0 to 4, read right: {share_right(model, old):.0f} %")
print(f"5 to 9, read right: {share_right(model, new):.0f} %")

with torch.no_grad():
    scores = model(others[new])
sure = scores.softmax(1).max(1).values.mean().item()
print(f"mean probability of what it answers to 5 to 9: {100 * sure:.0f} %")

# %% tags=["reveal"]
q1.reveal()

# %% tags=["picture"]
with torch.no_grad():
    at_first = model(image[None]).softmax(1)[0]
plots.chances({f"your {label}": at_first}, title="what it reads in your digit")
plt.show()

# %% tags=["picture"]
pixels = image[None].clone().requires_grad_()
loss = F.cross_entropy(model(pixels), torch.tensor([label]))
autolab.blame(loss, {"your digit": pixels}, top=3)

# %% [markdown] tags=["explain", "keep"]
# **Why.** Softmax turns the scores into probabilities that add up to 1, so the network can't answer "none of these". A high probability only says that one score is larger than the others. It doesn't say that the network knows the digit. The picture above shows which pixels of your digit raised the loss and which pixels lowered it, as in lesson 1.
#
# For the new digits the answers are useless, but the numbers behind these answers are useful. Most layers of the network are **convolutions**. A convolution slides a small window of weights over the image and records where it finds its pattern. Each picture that a convolution produces is a **channel**. The patterns are strokes and curves, and because every digit consists of strokes and curves, they also occur in the new digits. In the end, the last layer receives 64 numbers for each image, which are called the **features** of the image.
#
# **Takeaway:** the answers of a pretrained network only make sense for its old task, but its features are useful for many tasks.
# PyTorch has a [tutorial on transfer learning](https://docs.pytorch.org/tutorials/beginner/transfer_learning_tutorial.html).
