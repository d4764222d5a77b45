# %% [markdown] tags=["section"]
# ## 1. What a pretrained network knows
#
# The network was **pretrained**: somebody trained it before, on another task. It has seen 0, 1, 2, 3, 4, and never a 7. It has ten outputs, but
# those for 5 to 9 are small random numbers still. Show it the new digits.

# %% tags=["predict"]
q1 = predict("03.q1")
q1

# %% tags=["code"]
model = hand.network()
print("numbers in it:", sum(p.numel() for p in model.parameters()))
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
# **Why.** Softmax makes probabilities of the scores, and they add up to 1. "None of these" is not among the answers. A high probability says
# only that one score is larger than the others; it is no knowledge. The last picture says which pixels of your digit misled it (lesson 1).
#
# So its answers are of no use for the new digits. But they are made from something. Most layers are **convolutions**: a small window of weights slides
# over the image, and writes down where it found its pattern. Each such picture is a **channel**. The patterns are strokes and bends, and those
# are in every digit. What goes into the last layer in the end are 64 numbers, the **features** of an image.
#
# **Takeaway:** the answers of a pretrained network are for its old task, its features are for many.
# PyTorch's [tutorial on transfer learning](https://docs.pytorch.org/tutorials/beginner/transfer_learning_tutorial.html).
