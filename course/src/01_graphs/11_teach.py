# %% [markdown] tags=["section", "exercise"]
# ## 11. Teach the network your digit
#
# Let's go back to your digit. You now know everything you need to teach it to the network.
#
# ### Exercise 01.5: teach a network one digit
#
# Complete the loop: take `steps` steps of gradient descent on all of `network.parameters()`.

# %% tags=["exercise"]
def teach(network, image, label, lr, steps):
    for _ in range(steps):
        loss = F.cross_entropy(network(image), label)
    return network

check("01.5", teach)

# %% [markdown]
# The next cell teaches the network the digit from section 2. If your loop isn't right yet, the cell uses the kit's loop instead. To see what the network loses, we also count how many of 180 other digits from 0 to 4 the network reads correctly, before and after the training.

# %% tags=["run"]
others, digits = hand.others()

def read(network):
    with torch.no_grad():
        right = (network(others).argmax(1) == digits).sum().item()
        return network(image).softmax(1)[0], right

network = hand.network()
before, right_before = read(network)
loop = teach if solved("01.5") else hand.teach
loop(network, image, label, lr=0.001, steps=40)
after, right_after = read(network)

print(f"your {pad.label}: {before[pad.label]:.1%} probability before, "
      f"{after[pad.label]:.1%} after")
print(f"other digits read correctly: {right_before} of 180 before, {right_after} after")

# %% tags=["picture"]
axes = plots.chances({"before": before, "after": after}, title=f"your {pad.label}")

# %% [markdown] tags=["explain"]
# After forty steps with one image, the probability of the shipped 7 has risen from 0.2 % to 21 %. No other digit has a higher probability, so the network now reads it as a 7. This is the answer to the question of this lesson: you change *all* 78,010 numbers, each a little, and the gradient says by how much. So no single number was to blame.
#
# But look at the other digits, too. Before the training, the network read 177 of the 180 correctly. Now that it has learned the shipped 7, it reads only 149. It has *forgotten* some of what it knew, because nothing in your loss asked it to remember the other digits. If you try `lr=0.01`, the steps are so long that the network forgets nearly everything. In lesson 3 you will prevent this.
#
# The last picture shows the whole graph, from the loss back to your pixels. The cell also writes `my_digit.html`, a page that you can send to a friend, because it works without Python.

# %% tags=["picture", "look"]
pixels = image.clone().requires_grad_()
explorer = autolab.explore(F.cross_entropy(network(pixels), label))
autolab.viz.html.write("my_digit.html", [pad, explorer],
                       title=f"A {pad.label}, and the 78,010 numbers that read it")
explorer

# %% tags=["progress"]
progress("01")

# %% [markdown] tags=["keep", "further"]
# **Takeaway:** networks learn by repeating a few simple steps: compute the loss, clear, call `backward()`, and take a small step down. [Lesson 2](02_gpu.ipynb) makes it fast, and [lesson 3](03_finetuning.ipynb) teaches the network your handwriting, without forgetting the other digits.
# Read more: PyTorch's tutorial on [training a model](https://docs.pytorch.org/tutorials/beginner/basics/optimization_tutorial.html).
#
# ## Going further
#
# Each of these notebooks answers one question. You can read them in any order, because none of them depends on another. The list above counts their exercises and questions too.
#
# | notebook | question |
# |---|---|
# | [Tensors and their shapes](more/01_shapes.ipynb) | How do I make tensors and change their shapes? |
# | [What a node keeps](more/01_saved_tensors.ipynb) | What does a node keep, and how do I see a gradient in the middle of a graph? |
# | [Ways to leave the graph](more/01_ways_out.ipynb) | How do I keep something out of the graph, and which attempts fail silently? |
# | [Backward from a vector](more/01_vectors.ipynb) | What does `backward()` do with more than one number? |
# | [Loops, branches and a second backward pass](more/01_loops.ipynb) | What do loops and branches leave in the graph, and can I call `backward()` twice? |
# | [In-place changes](more/01_in_place.ipynb) | When does an in-place change break `backward()`? |
# | [A backward function of your own](more/01_custom_function.ipynb) | How do I write a backward function of my own, and how do I check it? |
# | [Four ways to fit a line](more/01_fit_a_line.ipynb) | How do I fit a line by hand, with the graph, with an optimizer and with a module? |
# | [Review](more/01_review.ipynb) | Do I recognise the ideas of this lesson in a new setting? |
