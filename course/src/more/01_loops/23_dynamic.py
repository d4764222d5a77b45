# %% [markdown] tags=["section"]
# ## 1. Loops and branches
#
# Here is a function with a loop. The input decides how often the loop runs.
#
# ```
# def grow(x):
#     y = x
#     while y < 10:
#         y = y * 2
#     return y
# ```

# %% tags=["predict"]
q20 = predict("01.q20")
q20

# %% tags=["code"]
def grow(x):
    y = x
    while y < 10:
        y = y * 2
    return y

for start in (3.0, 1.0, 20.0):
    x = torch.tensor(start, requires_grad=True)
    y = grow(x)
    y.backward()
    print(f"x = {start:4}: y = {y.item():4}, dy/dx = {x.grad.item()}")
    if start == 3.0:
        slope_at_3 = x.grad

# %% tags=["reveal"]
q20.reveal(slope_at_3)

# %% tags=["picture"]
x = torch.tensor(2.0, requires_grad=True)
y = grow(x)
explorer = autolab.explore(y)
explorer.ask("x", "grad", id="01.a8")
explorer

# %% [markdown] tags=["explain"]
# **Why.** The graph contains what was computed, not what was written. For $x = 3$ the loop ran twice, so there are two product nodes and $dy/dx = 2 \cdot 2 = 4$. For $x = 1$ it ran four times, so the derivative is $16$. For $x = 20$ it didn't run at all, and `y` is `x` itself. Each call records its own graph. The loop and its condition leave no trace, because the derivative only says what happens for a tiny change of $x$, and a tiny change doesn't alter how often the loop runs.
#
# Here is a second function with a branch. Depending on the numbers, a different graph is recorded, and you can look at each value while it is computed.

# %% tags=["picture"]
def bend(x):
    y = x * x if x > 1 else x + 3
    print(f"x = {x.item()}: y = {y.item()}, recorded by {y.grad_fn.name()}")
    return y

bend(torch.tensor(0.5, requires_grad=True))
autolab.explore(bend(torch.tensor(2.0, requires_grad=True)))

# %% [markdown]
# The function `torch.where` does the opposite. It looks like an `if`, but it computes *both* branches, and both are in the graph.

# %% tags=["predict"]
q21 = predict("01.q21")
q21

# %% tags=["code"]
x = torch.tensor(0.0, requires_grad=True)
y = torch.where(x > 0, torch.sqrt(x), 0 * x)
y.backward()
print("where, both branches recorded: y =", y.item(), " x.grad =", x.grad)
slope_with_where = x.grad

x = torch.tensor(0.0, requires_grad=True)
y = torch.sqrt(x) if x > 0 else 0 * x
y.backward()
print("if, one branch recorded:       y =", y.item(), " x.grad =", x.grad)

# %% tags=["reveal"]
q21.reveal(slope_with_where)

# %% [markdown]
# The picture shows both branches, so you can answer two questions. Which gradient reaches the root, although the root was not chosen? And what does the root pass on to `x`?

# %% tags=["picture"]
x = torch.tensor(0.0, requires_grad=True)
root = torch.sqrt(x)
explorer = autolab.explore(torch.where(x > 0, root, 0 * x))
explorer.ask("root", "grad", id="01.a14")
explorer

# %% [markdown] tags=["explain"]
# **Why.** `where` sends the gradient $1$ into the branch that was chosen and $0$ into the other one. The zero goes on to the root, whose local derivative $1 / (2 \sqrt{x})$ is infinite at $0$. The product $0 \cdot \infty$ is NaN, which means "not a number". This NaN is added to the other contributions, and a sum that contains a NaN is NaN. The fix is to keep the bad number out of the branch in the first place: write `torch.sqrt(torch.where(x > 0, x, 1))` inside the outer `where`.

# %% tags=["words"]
in_words("01.w8")

# %% [markdown] tags=["section"]
# ## 2. Static and dynamic graphs
#
# A graph that is recorded while you compute is called **dynamic**. Older systems, for example TensorFlow 1, used static graphs instead: first you declare the whole graph, and later you feed numbers into it. Let's build a tiny system of this kind, in which a `Later` is an expression that hasn't been computed yet. It only knows how to compute itself.

# %% tags=["code"]
class Later:
    def __init__(self, text, compute):
        self.text, self.compute = text, compute

    def __mul__(self, number):
        text = f"({self.text} * {number})"
        return Later(text, lambda feed: self.compute(feed) * number)

    def __lt__(self, number):
        text = f"({self.text} < {number})"
        return Later(text, lambda feed: self.compute(feed) < number)

    def run(self, **feed):
        return self.compute(feed)

x = Later("x", lambda feed: feed["x"])      # a placeholder
y = x * 2 * 2
print("declared:", y.text)
print("run with x = 3:", y.run(x=3.0))
print("run with x = 5:", y.run(x=5.0))

# %% [markdown]
# Now we would like to declare the loop of section 1, `while y < 10: y = y * 2`. To be safe, the cell stops after five turns.

# %% tags=["predict"]
q36 = predict("01.q36")
q36

# %% tags=["code"]
y, turns = x, 0
while y < 10:
    y, turns = y * 2, turns + 1
    if turns == 5:
        break
print("turns:", turns, " declared:", y.text)
print("run with x = 3:", y.run(x=3.0))

# %% tags=["reveal"]
q36.reveal(turns)

# %% [markdown] tags=["explain"]
# **Why.** While the graph is declared, `y < 10` is not a number but another expression, and Python treats such an object as true. So Python can't decide when to leave the loop, and the five products are in the graph for every `x`. A static system therefore needs special operations for loops and conditions, which become nodes of the graph:

# %% tags=["code"]
def while_loop(condition, body, start):
    def compute(feed):
        value = start.compute(feed)
        while condition(value):
            value = body(value)
        return value
    return Later(f"while_loop({start.text})", compute)

y = while_loop(lambda y: y < 10, lambda y: y * 2, x)
print("declared:", y.text)
for start in (3.0, 1.0, 20.0):
    print(f"run with x = {start:4}: {y.run(x=start)}")

# %% [markdown] tags=["explain"]
# **Compare.** Neither kind is better in every case. The table shows what each kind gives you.
#
# | | dynamic graph | static graph |
# |---|---|---|
# | The graph exists | as soon as the code has run. | before the first number comes in. |
# | Loops and branches | are plain Python. | need operations of their own. |
# | You look at a value | with `print`, at any line. | by running the graph up to that value. |
# | If something is wrong | the error names the line that computes. | the error comes later, when the graph runs. |
# | Speed | The graph is recorded again in each step. | The system can simplify the whole graph once, and then run it many times. |
#
# Today many systems offer both. In PyTorch, for example, you write a dynamic graph, and `torch.compile` can turn it into a static one to make it faster. This kit only has dynamic graphs, because you can watch them step by step.

# %% [markdown] tags=["section"]
# ## 3. The same graph twice
#
# Can you call `backward()` more than once on the same graph?

# %% tags=["predict"]
q23 = predict("01.q23")
q23

# %% tags=["code"]
x = torch.tensor(3.0, requires_grad=True)
raised = []
for name, y in {"x + 2": x + 2, "x * x": x * x}.items():
    y.backward()
    try:
        y.backward()
        print(f"{name}: twice is fine, x.grad = {x.grad}")
    except RuntimeError as error:
        raised.append(name)
        print(f"{name}: {error}")
    x.grad = None

# %% tags=["reveal"]
q23.reveal(raised)

# %% [markdown] tags=["explain"]
# **Why.** After a node has run, its saved tensors are **freed**, because they take memory and are rarely needed again. The nodes and their arrows are still there. `x + 2` saved nothing, so nothing is missing in the second pass. The factors that `x * x` saved, however, are gone. So the rule "calling backward twice always raises an error" is wrong, because the outcome depends on what was saved. "The graph is destroyed" is wrong as well.
#
# With `retain_graph=True` the saved tensors are kept. You need this, for example, if two results share a part of their graph and you call `backward()` on both. Often it is simpler to add the two results and call `backward()` once.

# %% tags=["code"]
x = torch.tensor(3.0, requires_grad=True)
shared = x * x
first, second = shared * 2, shared + 1

first.backward(retain_graph=True)
print("after the first: ", x.grad)
second.backward()
print("after both:      ", x.grad)

x.grad = None
shared = x * x
(shared * 2 + shared + 1).backward()
print("in one pass:     ", x.grad)

# %% [markdown] tags=["exercise"]
# ### Exercise 01.10: which ones fail the second time
#
# `x` is a vector that requires a gradient, and `y` is the expression in each row. Imagine that you call `y.backward(gradient=…)` twice, and decide, without running the expression, whether the second call raises an error. If it does, write `True`, and otherwise `False`.

# %% tags=["exercise"]
raises = {
    "x + 2": ...,
    "x * x": ...,
    "-x": ...,
    "x.exp()": ...,
    "x.sum()": ...,
    "x.relu()": ...,
}

check("01.10", raises)

# %% tags=["words"]
in_words("01.w11")

# %% [markdown] tags=["section"]
# ## 4. Review
#
# You have seen that `where` computes both branches. Programs that work with probabilities often contain the expression in the next question, because the logarithm of 0 doesn't exist.

# %% tags=["predict"]
q22 = predict("01.q22")
q22

# %% tags=["code"]
p = torch.tensor(0.0, requires_grad=True)
torch.where(p > 0, p.log(), torch.zeros(())).backward()
print("p.grad =", p.grad)
slope_of_log = p.grad

# %% tags=["reveal"]
q22.reveal(slope_of_log)

# %% [markdown] tags=["keep"]
# **Takeaway:** every run records its own graph; a second pass only fails where saved tensors were freed.
# Read more: PyTorch's pages on [dynamic graphs](https://docs.pytorch.org/docs/stable/notes/autograd.html#how-autograd-encodes-the-history) and
# [`retain_graph`](https://docs.pytorch.org/docs/stable/generated/torch.autograd.backward.html).

# %% tags=["progress"]
progress("01")
