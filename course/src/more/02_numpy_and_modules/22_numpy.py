# %% [markdown] tags=["section"]
# ## 1. NumPy and the GPU
#
# Here is a part of a training loop from a course. Its author had no GPU, but the comment promises that the loop will run on a GPU if you remove the comment sign:
#
# ```
# # device = torch.device('cuda:0')
# ...
# batch_loss.append(loss.detach().numpy())
# ```
#
# What happens if you run this line on a GPU? And what happens if you plot a tensor that is on the GPU?

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
# **Why.** NumPy and matplotlib can only read the host's memory, and PyTorch doesn't copy the tensor there unless you ask for it. The next cell raises this error on purpose, so that you can read it in full:

# %% tags=["code", "raises-exception"]
t = torch.ones(3, device=device)
t.numpy()

# %% [markdown]
# The message tells you what to do: call `t.cpu()` first. Now let's use two short programs to find out which memory the arrays use:
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
# **Why.** `here.cpu()` returns `here` itself, because the tensor is already on the CPU. `numpy()` doesn't copy anything either, so the array and the tensor use the *same memory*. That is why `a += 1`, which writes into this memory, changes the tensor too. `a = a + 1` makes a new array instead, so the tensor stays as it is. From the GPU, however, `there.cpu()` has to make a copy, and if you change the copy, the original stays the same.
#
# So the same line shares memory on one machine and copies on another. If you always need a copy, ask for it with `.clone()` or `.copy()`.

# %% [markdown]
# Many people believe that `from_numpy` copies the array, or that NumPy can read a GPU. The next two cells contain an engine for each of these beliefs. In each program, change one line so that our engine and the other engine agree. For each line, ask yourself whether it copies the numbers or only gives them another name.

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
# ### Exercise 02.4: an array that shares nothing
#
# `to_array(t)` should return a NumPy array that doesn't share memory with the tensor. It should work for every tensor, that is, on either device and with or without `requires_grad`. At the moment it fails for some tensors, and for others it shares their memory. Fix it.

# %% tags=["exercise"]
def to_array(t):
    return t.numpy()

check("02.4", to_array)

# %% [markdown] tags=["keep"]
# **Takeaway:** to turn a tensor into an array, write `t.detach().cpu().numpy()`, and for a single number use `t.item()` instead.
# Read more: PyTorch's page on [`Tensor.numpy`](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.numpy.html).
