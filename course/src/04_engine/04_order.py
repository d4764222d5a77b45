# %% [markdown] tags=["section"]
# ## 4. The order
#
# Backward walks from the result to the leaves. In the graph above `b` is used twice.

# %% tags=["predict"]
q2 = predict("04.q2")
q2

# %% tags=["code"]
children = {"b": ["y", "c"], "c": ["y"], "x": ["b", "c"], "a": ["b"]}
ready = [name for name, used_by in children.items() if used_by == ["y"]]
print("has heard from all its children once y has sent:", ready)

# %% tags=["reveal"]
q2.reveal()

# %% [markdown] tags=["exercise", "explain"]
# ### Exercise 04.4: the order
#
# Return a list of all Values behind a result, the result included: each once, and each *before* its parents. So nobody sends before having heard
# from all children. This is a **topological order**. Most graphs have several; any will do.

# %% tags=["exercise"]
def order(result):
    return ...

check("04.4", order)

# %% tags=["code"]
order = use("04.4", order)
print(" -> ".join(f"{v.op or 'leaf'} {v.data:g}" for v in order(y)))

# %% [markdown] tags=["keep"]
# **Takeaway:** first hear from all children, then send. PyTorch numbers its nodes when they are made, and goes
# [from the newest to the oldest](https://docs.pytorch.org/docs/stable/notes/autograd.html).
