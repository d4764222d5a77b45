# %% [markdown] tags=["end"]
# ## Which of its 78,010 numbers was to blame
#
# The course began with this question, and now we ask it again about two networks. The first network misread your digit, and the second network has learned your handwriting. The chart below shows how the blame is distributed over the layers, and the table names single numbers with their gradients. The cell shows the first network. To see the second network, write `after` in the last line.

# %% tags=["picture", "look"]
def to_blame(network):
    loss = F.cross_entropy(network(image[None]), torch.tensor([label]))
    return autolab.blame(loss, dict(network.named_parameters()), top=5)

def together(found):
    return sum(abs(scores).sum() for scores in found.scores.values())

before, after = to_blame(hand.network()), to_blame(model)
print(f"blame of all numbers together: {together(before):.1f} before,",
      f"{together(after):.1f} after")
before

# %% [markdown] tags=["explain"]
# No single number is to blame. The blame is spread over thousands of numbers, and each of them contributes a little. That is why you couldn't fix the network by hand, but a gradient can. Once the network reads your handwriting, hardly any blame is left.
#
# The next cell saves the whole training as a separate page, with curves and images. You can send it to a friend, because it works without Python. The cell also saves your network in a file that PyTorch can read.

# %% tags=["code"]
page = dashboard.to_html("my_hand.html", title="A network learns my handwriting")
torch.save(model.state_dict(), "my_hand.pth")
print("written:", page.name, "and my_hand.pth, which PyTorch reads too")

# %% tags=["progress"]
progress("03")
