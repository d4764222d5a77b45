# %% [markdown] tags=["end"]
# ## Which of its 78,010 numbers was to blame
#
# That was the question of the course. Now ask it of the network that took your digit for another. The table names
# single numbers, with their gradient; above stand the shares of the layers. Then write `after` in the last line: the one that learnt your hand.

# %% tags=["picture", "look"]
def to_blame(network):
    loss = F.cross_entropy(network(image[None]), torch.tensor([label]))
    return autolab.blame(loss, dict(network.named_parameters()), top=5)

def together(found):
    return sum(abs(scores).sum() for scores in found.scores.values())

before, after = to_blame(hand.network()), to_blame(model)
print("a tenth of the blame is left, or less:", together(after) < together(before) / 10)
before

# %% [markdown] tags=["explain"]
# No number is *the* one. The blame is spread over thousands of them, each a little. That is why nobody could have mended the network by hand, and why
# a gradient can. Once it reads your hand, there is little left to blame.
#
# One question more. Suppose that somebody froze all 78,010 numbers of the network that misread your digit, and you wanted to know which *pixels* misled it.

# %% tags=["predict"]
q26 = predict("03.q26")
q26

# %% tags=["code"]
frozen = hand.network().eval().requires_grad_(False)
pixels = image[None].clone().requires_grad_()
F.cross_entropy(frozen(pixels), torch.tensor([label])).backward()
arrived = pixels.grad is not None and pixels.grad.abs().max().item() > 0
given = any(p.grad is not None for p in frozen.parameters())
print("the pixels have a gradient:", arrived, "- any parameter:", given)

# %% tags=["reveal"]
q26.reveal(arrived)

# %% [markdown] tags=["explain"]
# **Why.** A frozen weight is still a factor on the way from the loss to the pixels: section 3 again, in other clothes. Evaluation mode changes the
# formula, and cuts nothing.
#
# The last cell writes the training as a page of its own, curves, images and all. Send it to whoever owns the hand.

# %% tags=["code"]
page = dashboard.to_html("my_hand.html", title="A network learns my hand")
torch.save(model.state_dict(), "my_hand.pth")
print("written:", page.name, "and my_hand.pth, which PyTorch reads too")

# %% tags=["progress"]
progress("03")
