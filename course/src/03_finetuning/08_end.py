# %% [markdown] tags=["end"]
# ## Which of its 78,010 numbers was to blame
#
# That was the question of the course. Now ask it of the network that took your digit for another. The table names
# single numbers, with their gradient, and the share of each layer. Then compare with the one that learnt your hand.

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
# The last cell writes the training as a page of its own, curves, images and all. Send it to whoever owns the hand.

# %% tags=["code"]
page = dashboard.to_html("my_hand.html", title="A network learns my hand")
torch.save(model.state_dict(), "my_hand.pth")
print("written:", page.name, "and my_hand.pth, which PyTorch reads too")

# %% tags=["progress"]
progress("03")
