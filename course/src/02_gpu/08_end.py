# %% [markdown] tags=["section", "exercise"]
# ## 7. A network of your own, on the GPU
#
# So far, you have completed functions that were nearly finished. Now write a whole training program, starting from an empty cell: a network, the move to the device, an optimizer and a loop. The network is **LeNet**, which read the digits on bank cheques in the 1990s. These are its layers, for images of 32 by 32 pixels:
#
# | layer | what it does | shape of its result |
# |---|---|---|
# | convolution, 5 by 5 | from 1 channel to 6, then ReLU | 6, 28, 28 |
# | max pooling, 2 by 2 | keeps the largest of four numbers | 6, 14, 14 |
# | convolution, 5 by 5 | from 6 channels to 16, then ReLU | 16, 10, 10 |
# | max pooling, 2 by 2 | keeps the largest of four numbers | 16, 5, 5 |
# | linear | from 400 numbers to 120, then ReLU | 120 |
# | linear | from 120 numbers to 84, then ReLU | 84 |
# | linear | from 84 numbers to 10 scores | 10 |
#
# ### Exercise 02.14: a LeNet on the GPU
#
# Write `train_lenet(images, labels, device)`. This function should build the network and train it on the device until it reads at least nine out of ten images correctly. It should return a pair: the model, and a list with the loss of each step as a plain number. The checker tries it with 8 images, so it takes a few seconds. Then train your LeNet on the 1,237 images of section 5, and count how many of the 200 validation images it reads correctly.

# %% tags=["exercise"]
train_lenet = ...           # replace this line by your class and your function

check("02.14", train_lenet)

# %% [markdown] tags=["keep"]
# **Takeaway:** a training program consists of a model, an optimizer and a loop, and only two lines of it name the device.
# Read more: PyTorch's page on [building a network](https://docs.pytorch.org/tutorials/beginner/basics/buildmodel_tutorial.html).

# %% [markdown] tags=["end"]
# ## Your result, and a page to show
#
# The next cell writes a web page with one training step on the GPU, for a batch of your digit and 31 others. You can step through it in any browser, without Python. For example, send it to a friend who believes that GPUs are always fast, and ask where the gaps come from.

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
# `progress("02")` counts what you have solved. In [lesson 3](03_finetuning.ipynb) you will have only ten images of each digit, because in practice you often have so few, and you will teach the network your own handwriting. If you would rather stay with GPUs, choose one of the notebooks below.

# %% tags=["progress"]
progress("02")
