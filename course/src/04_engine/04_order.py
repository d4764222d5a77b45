# %% [markdown] tags=["section"]
# ## 4. The order
#
# The backward pass goes from the result to the leaves. In the graph above, `b` is used twice, by `c` and by `y`, so the order matters. A Value that was computed from `b` is called a **child** of `b`.

# %% tags=["predict"]
q2 = predict("04.q2")
q2

# %% tags=["code"]
children = {"b": ["y", "c"], "c": ["y"], "x": ["b", "c"], "a": ["b"]}
ready = [name for name, used_by in children.items() if used_by == ["y"]]
print("complete as soon as y has sent its gradients:", ready)

# %% tags=["reveal"]
q2.reveal()

# %% [markdown] tags=["exercise", "explain"]
# ### Exercise 04.4: the order
#
# Return a list of all Values behind a result, including the result itself. Each Value should be in the list once, and *before* its parents. Then, if we go through the list from the beginning, no Value sends its gradient before all of its children have sent their gradients. Such a list is called a **topological order**. Most graphs have several topological orders, and your function may return any of them.

# %% tags=["exercise"]
def order(result):
    return ...

check("04.4", order)

# %% tags=["code"]
order = use("04.4", order)
print(" -> ".join(f"{v.op or 'leaf'} {v.data:g}" for v in order(y)))

# %% [markdown] tags=["keep"]
# **Takeaway:** a Value may send its gradient as soon as all of its children have sent their gradients.
# PyTorch numbers its nodes when they are made, and goes [from the newest to the oldest](https://docs.pytorch.org/docs/stable/notes/autograd.html).
