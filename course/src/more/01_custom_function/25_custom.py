# %% [markdown] tags=["section"]
# ## 1. A custom function
#
# A **custom function** is an operation whose forward and backward you write yourself. The next cell contains one from a tutorial. It computes $y = 3x^2 + 2x + 1$, so its derivative is $6x + 2$. Read it carefully, and then answer the question.

# %% tags=["code"]
class Quadratic(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return 3 * input**2 + 2 * input + 1

    @staticmethod
    def backward(ctx, grad_output):          # the gradient that arrives
        input, = ctx.saved_tensors
        return grad_output * 6*input + 2     # the gradient that goes on

# %% tags=["predict"]
q27 = predict("01.q27")
q27

# %% [markdown]
# Let's train with it and walk downhill on $y / 2$, whose lowest point is at $x = -1/3$.

# %% tags=["code"]
x = torch.tensor(-3.0, requires_grad=True)
for step in range(41):
    loss = Quadratic.apply(x) / 2
    if step % 10 == 0:
        print(f"step {step:2}: loss {loss.item():.4f}, x = {x.item():.4f}")
    loss.backward()
    with torch.no_grad():
        x -= 0.1 * x.grad
    x.grad = None

# %% [markdown]
# There is a tool that tells you whether a backward is correct. `gradcheck` changes each input by a tiny amount, observes how much the result changes, and compares this change with the gradient that `backward` returns. Because the changes are tiny, `gradcheck` needs the precision of `torch.float64`.

# %% tags=["code"]
x = torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64, requires_grad=True)
try:
    torch.autograd.gradcheck(Quadratic.apply, x)
    right = True
except RuntimeError as error:
    right = False
    print(error)

# %% tags=["reveal"]
q27.reveal(right)

# %% [markdown] tags=["explain"]
# **Why.** The loss fell, but it stopped at 0.5, although its lowest value is 0.3333. The reason is that multiplication binds more tightly than addition, so `grad_output * 6*input + 2` means $(\bar y \cdot 6x) + 2$. The 2 is added whatever gradient arrives. At the end of the training $\bar y = \tfrac12$, so the rule gives $3x + 2$, which is zero at $x = -2/3$. The correct rule gives $\bar y \cdot (6x + 2) = 3x + 1$, which is zero at $x = -1/3$.
#
# If $\bar y$ happens to be 1, the wrong rule gives the right number. That is why a quick test with `y.backward()` on a single number doesn't reveal the mistake. Now read the two tables in the message. Each row belongs to an input, and each column to an output. The wrong rule has a 2 off the diagonal, so it claims that every output depends on every input.
#
# A `backward` has to return the arriving gradient times the local derivative, so its result must be proportional to the arriving gradient. This holds for every rule that you will ever write. Here, for example, is the function with a correct rule, and its node in the picture:

# %% tags=["code"]
class FixedQuadratic(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return 3 * input**2 + 2 * input + 1

    @staticmethod
    def backward(ctx, grad_output):
        input, = ctx.saved_tensors
        return grad_output * (6 * input + 2)

if torch.autograd.gradcheck(FixedQuadratic.apply, x):
    print("gradcheck finds no difference")

# %% tags=["picture"]
x = torch.tensor(2.0, requires_grad=True)
y = FixedQuadratic.apply(x) / 2
explorer = autolab.explore(y)
explorer.ask("x", "grad", id="01.a9")
explorer

# %% tags=["words"]
in_words("01.w7")

# %% [markdown] tags=["exercise"]
# ### Exercise 01.12a: find the wrong backward
#
# In two of these four functions, the backward is wrong. Find them with `gradcheck`, and give their names as a list, such as `["Shift"]`.

# %% tags=["exercise"]
class Reciprocal(torch.autograd.Function):              # 1 / x
    @staticmethod
    def forward(ctx, x):
        y = 1 / x
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        y, = ctx.saved_tensors
        return -grad_output * y * y


class Product(torch.autograd.Function):                 # x * y
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        return grad_output * x, grad_output * y


class MeanSquare(torch.autograd.Function):              # the mean of x * x
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x * x).mean()

    @staticmethod
    def backward(ctx, grad_output):
        x, = ctx.saved_tensors
        return grad_output * 2 * x


class Shift(torch.autograd.Function):                   # x + 1
    @staticmethod
    def forward(ctx, x):
        return x + 1

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output

# %% tags=["exercise"]
wrong = ...

check("01.12a", wrong)

# %% [markdown] tags=["exercise"]
# ### Exercise 01.12b: fix the backward of ReLU
#
# ReLU replaces negative numbers by 0. The version below also comes from a tutorial, and it works only as long as the arriving gradient is 1 everywhere. Fix its `backward` so that it works for every arriving gradient, and use the gradient 0 at exactly 0, as PyTorch does.

# %% tags=["exercise"]
class MyReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return input.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        input, = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[input < 0] = 0
        grad_input[input >= 0] = 1
        return grad_input

check("01.12b", MyReLU)

# %% [markdown] tags=["keep"]
# **Takeaway:** a backward returns the arriving gradient times the local derivative. Use `gradcheck` to find out whether it is correct, because a falling loss doesn't prove that.
# Read more: PyTorch's pages on [custom functions](https://docs.pytorch.org/docs/stable/notes/extending.html#extending-torch-autograd) and
# [`gradcheck`](https://docs.pytorch.org/docs/stable/generated/torch.autograd.gradcheck.gradcheck.html).

# %% tags=["progress"]
progress("01")
