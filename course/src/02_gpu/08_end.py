# %% [markdown]
# ### Two ideas in a new setting
#
# Let's meet two ideas of this lesson again. You don't need a GPU for the first one, because it is about leaves:

# %% tags=["picture"]
rate = torch.tensor([0.5, 2.0], requires_grad=True).double()
again = autolab.explore((rate * rate).sum())
again.ask("rate", "state", id="02.a4")
again

# %% tags=["predict"]
q26 = predict("02.q26")
q26

# %% tags=["code"]
a = torch.ones(1000, 1000, device=device)
torch.cuda.synchronize()
ticks = [clock()]
h = a @ a
ticks.append(clock())
best = h.max()
ticks.append(clock())
number = best.item()
ticks.append(clock())
taken = np.diff(ticks)
for line, t in zip(("h = a @ a", "best = h.max()", "number = best.item()"), taken):
    print(f"{line:20} {1e6 * t:4.0f} µs")

# %% tags=["reveal"]
q26.reveal(taken)

# %% [markdown] tags=["end"]
# ## Your result, and a page to show
#
# The next cell writes a web page with one training step on the GPU, for a batch of your digit and 31 others. Anybody can step through it in a browser, without Python. For example, send it to a friend who believes that GPUs are always fast, and ask where the gaps come from.

# %% tags=["picture", "look"]
with autolab.record_devices() as my_step:
    x = torch.cat([image[None], images[:31]]).to(device)
    y = torch.cat([torch.tensor([label]), labels[:31]]).to(device)
    F.cross_entropy(model(x), y).backward()
    torch.cuda.synchronize()
shown = DeviceExplorer(my_step)
print("written:", shown.to_html("my_step.html", title="My training step").name)
shown

# %% [markdown]
# `progress("02")` counts what you have solved. In [lesson 3](03_finetuning.ipynb) you will have only ten images of each digit instead of 1,437 images, as is usual in practice, and you will teach the network your own handwriting. If you would rather stay with GPUs, choose one of the notebooks below.

# %% tags=["progress"]
progress("02")
