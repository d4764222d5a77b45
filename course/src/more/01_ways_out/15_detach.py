# %% [markdown] tags=["section"]
# ## 1. One use of a tensor
#
# In lesson 1 you used `no_grad()` to keep a step out of the graph. Sometimes that is too much, because you only want to leave out a single use of a tensor. `t.detach()` does this. It returns a tensor with the same values but without a history, and `t` itself stays connected.

# %% tags=["predict"]
q8 = predict("01.q8")
q8

# %% tags=["run", "picture"]
w = torch.tensor(3.0, requires_grad=True)
y = w.detach() * w
explorer = autolab.explore(y)
y.backward()
print("w.grad =", w.grad)
explorer

# %% tags=["reveal"]
q8.reveal(w.grad)

# %% [markdown] tags=["explain"]
# **Why.** For the graph, the detached factor is a constant. So one of the two paths of $w \cdot w$ is gone, and $\bar w = 3$ remains instead of $6$.
