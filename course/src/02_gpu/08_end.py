# %% [markdown]
# ### Once more, in other clothes
#
# Two ideas of this lesson come back. The first needs no GPU:

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
# ## What you have, and a page to show
#
# This cell writes a page of its own: a training step of your digit with 31 others, on the GPU, to be stepped through in any browser,
# without Python. Send it to somebody who believes that GPUs are fast, and ask where the gaps come from.

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
# `progress("02")` counts what you solved. [Lesson 3](03_finetuning.ipynb) takes the 1,437 digits away again. You will have ten of each, as
# in real life, and teach the network your own hand. Or stay, and choose one of the notebooks below.

# %% tags=["progress"]
progress("02")
