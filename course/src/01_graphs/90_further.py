# %% [markdown] tags=["further"]
# ## Going further
#
# Each of these notebooks answers one question. You can read them in any order, because they don't need one another.
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
