# %% [markdown] tags=["section"]
# ## 1. NumPy and the GPU
#
# Here is a training loop from a course, written on a computer without a GPU. It is meant to run on one when the comment sign is taken away:
#
# ```
# # device = torch.device('cuda:0')
# ...
# batch_loss.append(loss.detach().numpy())
# ```
#
# What happens when it runs on a GPU, and when a tensor from there is plotted?

# %% tags=["predict"]
q27 = predict("02.q27")
q27

# %% tags=["code"]
x = torch.randn(4, 2, device=device)
loss = (x * torch.ones(2, device=device, requires_grad=True)).mean()
curve = [loss.detach(), loss.detach()]
attempts = [
    lambda: loss.detach().numpy(),
    lambda: np.array(curve[0]),
    lambda: plt.plot(x[:, 0]),
]
refused = 0
for attempt in attempts:
    try:
        attempt()
    except TypeError as error:
        refused += 1
        print("TypeError:", error)
print("a number:", f"{loss.item():.4f}")
print("an array:", x.cpu().numpy().shape)
plt.close()

# %% tags=["reveal"]
q27.reveal(refused)

# %% [markdown] tags=["explain"]
# **Why.** NumPy and matplotlib read the host's memory only. PyTorch does not copy for you. This error is on purpose:

# %% tags=["code", "raises-exception"]
t = torch.ones(3, device=device)
t.numpy()

# %% [markdown]
# The message says what to do: `t.cpu()` first. Now watch the memory.
#
# ```
# a = here.cpu().numpy();   a += 1        # here is on the CPU
# b = there.cpu().numpy();  b += 1        # there is on the GPU
# ```

# %% tags=["predict"]
q14 = predict("02.q14")
q14

# %% tags=["code"]
here, there = torch.ones(3), torch.ones(3, device=device)
a, b = here.cpu().numpy(), there.cpu().numpy()
a += 1
b += 1
print(here)
print(there)

a = a + 1                # a new array, under the same name
print(here)

# %% tags=["reveal"]
q14.reveal(here, there)

# %% tags=["picture"]
with autolab.record_devices() as to_numpy:
    b = there.cpu().numpy()
DeviceExplorer(to_numpy)

# %% [markdown] tags=["explain"]
# **Why.** `here.cpu()` is `here` itself, because it is there already. `numpy()` copies nothing either: the array and the tensor look at the *same memory*. So `a += 1`, which writes
# into the memory, changes the tensor. `a = a + 1` makes a new array and changes nothing. From the GPU there is no such view: `there.cpu()` must copy, and the copy goes its own way.
# So the same line shares memory on one machine and not on the other. When you want a copy for certain, say so: `.clone()` or `.copy()`.

# %% [markdown]
# Two beliefs, as engines: that `from_numpy` copies, and that NumPy reads a GPU. Change one line in each program, so that engine and
# belief agree.

# %% tags=["catch"]
def from_array():
    numbers = np.ones(2, dtype=np.float32)
    t = torch.from_numpy(numbers)
    numbers += 1
    return t.tolist()

belief = autolab.specimens[19]
print("The belief:", belief.belief)
autolab.specimens.Example(belief, from_array)

# %% tags=["catch"]
def to_numpy():
    t = torch.ones(2, device=device)
    return np.asarray(t).sum()

belief = autolab.specimens[21]
print("The belief:", belief.belief)
autolab.specimens.Example(belief, to_numpy)

# %% tags=["words"]
in_words("02.w5")

# %% [markdown] tags=["exercise"]
# ### Exercise 02.4: an array of one's own
#
# `to_array(t)` is meant to give a NumPy array that shares no memory with the tensor, for any tensor: on either device, with or without `requires_grad`. It works for some.
# Mend it.

# %% tags=["exercise"]
def to_array(t):
    return t.numpy()

check("02.4", to_array)

# %% [markdown] tags=["keep"]
# **Takeaway:** to NumPy it goes `t.detach().cpu().numpy()`; a single number is `t.item()`.
# PyTorch on [`Tensor.numpy`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.numpy.html).
