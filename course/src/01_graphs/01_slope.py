# %% [markdown] tags=["section"]
# ## 1. One number and its slope
#
# Training a network means changing its numbers until its answers are good. Let's begin with the smallest case, a single number $w$. A **loss** tells us how bad this number is. In our example the loss is $(w-1)^2$, so the best value is $w = 1$, but we start at $w = 3$.
#
# To find out which way to go, we nudge $w$ a little up and a little down, and compare the two losses.

# %% tags=["code"]
def loss_of(w):
    return (w - 1) ** 2

print("loss at 2.99:", round(loss_of(2.99), 4))
print("loss at 3.01:", round(loss_of(3.01), 4))
print("slope:", round((loss_of(3.01) - loss_of(2.99)) / 0.02, 4))

w = torch.tensor(3.0, requires_grad=True)
loss = loss_of(w)
loss.backward()
print("w.grad:", w.grad.item())

# %% tags=["picture"]
axes = plots.tangent(loss_of, at=3.0, slope=4.0, span=(-1.5, 4.5))

# %% [markdown] tags=["explain", "keep"]
# **Why.** The **slope** says how much the loss changes for each unit that $w$ changes. At $w = 3$ it is 4, so a nudge of 0.01 changes the loss by about 0.04. In the picture, the slope is the steepness of the tangent, that is, of the line that touches the curve at this point. Because the slope is positive, the loss grows to the right. So we step to the left, and the loss falls.
#
# The last lines of the cell find the same slope without nudging `w`. `requires_grad=True` tells PyTorch that we will ask for the slope with respect to `w`, and `backward()` computes it and stores it in `w.grad`. For one number this saves hardly any work. For a network it makes all the difference, as you will see next.
#
# **Takeaway:** the slope tells you in which direction to change a number, and how much that helps.
# Read more: PyTorch's tutorial [A gentle introduction to autograd](https://docs.pytorch.org/tutorials/beginner/blitz/autograd_tutorial.html).
