# %% [markdown] tags=["section"]
# ## 2. Which way is best
#
# Now let's compare all methods on the same images: ten images of each new digit, for 60 epochs. For comparison we also train the same network from scratch, that is, from random weights. The learning rates were chosen with validation images, and with different seeds from the seeds used here.

# %% tags=["predict"]
q17 = predict("03.q17")
q17

# %% tags=["predict"]
q18 = predict("03.q18")
q18

# %% tags=["code"]
def scratch():
    model = resnet_digits(num_classes=5)
    return model, model.parameters(), 0.4, {}

def head_only():
    model = with_new_head().requires_grad_(False)
    model.fc.requires_grad_(True)
    return model.eval(), model.fc.parameters(), 0.4, {}

def full():
    model = with_new_head()
    return model, model.parameters(), 0.05, {}

def gradual():
    model = with_new_head().requires_grad_(False)
    model.fc.requires_grad_(True)
    later = {7: ["layer3"], 14: ["layer2"], 21: ["layer1"], 28: ["conv1", "bn1"]}
    return model, model.parameters(), 0.05, later

def discriminative():
    model = with_new_head()
    return model, finetune.parameter_groups(model, lr=0.2, decay=0.5), 0.2, {}

def adapters():
    model = with_new_head()
    finetune.add_lora(model, "conv1", "layer*", r=8, alpha=16)
    model.fc.requires_grad_(True)
    return model, [p for p in model.parameters() if p.requires_grad], 0.1, {}

# %% [markdown]
# `gradual()` hands over the frozen weights too, so you have to know what the optimizer does with frozen weights.

# %% tags=["predict"]
q27 = predict("03.q27")
q27

# %% tags=["code"]
model, parameters, rate, later = gradual()
optimizer = torch.optim.SGD(parameters, lr=rate, momentum=0.9, weight_decay=5e-4)
before = model.conv1.weight.detach().clone()
for step in range(3):
    optimizer.zero_grad()
    F.cross_entropy(model(few_x), few_y).backward()
    optimizer.step()
changed = (model.conv1.weight != before).sum().item()
print(f"{changed} of {before.numel()} weights of conv1 changed;",
      f"its gradient: {model.conv1.weight.grad}")
still = changed == 0

# %% tags=["reveal"]
q27.reveal(still)

# %% [markdown]
# The loop is the same for all methods, and you have seen every line of it before. `CosineAnnealingLR` lowers the rate to zero along half a cosine.

# %% tags=["code"]
def accuracy(model, data):
    images, labels = data.tensors
    with finetune.evaluating(model), torch.no_grad():    # eval, and back
        return 100 * (model(images).argmax(1) == labels).float().mean().item()

def run(method, seed, epochs):
    task = finetune.unseen_digits(per_class=10, seed=seed)    # other images
    torch.manual_seed(seed)
    model, parameters, lr, later = method()
    optimizer = torch.optim.SGD(parameters, lr=lr, momentum=0.9, weight_decay=5e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    batches = torch.utils.data.DataLoader(task.train, batch_size=25, shuffle=True)
    curve = []
    for epoch in range(epochs):
        for name in later.get(epoch, []):
            model.get_submodule(name).requires_grad_(True)
        for inputs, targets in batches:
            loss = F.cross_entropy(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
        if epoch % 6 == 5:
            curve.append(accuracy(model, task.validation))
    return curve, accuracy(model, task.test)

# %% [markdown]
# This cell takes the longest: six methods, each with three seeds. A **seed** determines which images you get, which weights the head starts with, and in which order the images come. (If the kit runs in a browser without a server, the cell uses only one seed and half the epochs.)

# %% tags=["code"]
epochs, seeds = (60, (0, 1, 2)) if threads_start() else (30, (0,))
methods = {"from scratch": scratch, "head only": head_only, "full": full,
           "gradual": gradual, "discriminative": discriminative, "LoRA": adapters}
runs = {name: [run(way, seed, epochs) for seed in seeds]
        for name, way in methods.items()}

tests = {name: [test for curve, test in found] for name, found in runs.items()}
mean = {name: sum(values) / len(values) for name, values in tests.items()}
for name, accuracy in mean.items():
    print(f"{name:14} test images read right after the training: {accuracy:.0f} %")

# %% tags=["reveal"]
q17.reveal(mean)

# %% tags=["reveal"]
q18.reveal(mean)

# %% [markdown]
# In the next picture, each bar is the mean over the seeds, the line on it is their standard deviation, and each dot is one seed.

# %% tags=["picture"]
plots.seeds(tests, ylabel="test accuracy, %", title=f"seeds: {len(seeds)}")
plt.show()

# %% tags=["picture"]
middle = {name: torch.tensor([curve for curve, test in found]).mean(0)
          for name, found in runs.items()}
plots.curves(range(6, epochs + 1, 6), middle,
             xlabel="epoch", ylabel="validation accuracy, %")
plt.show()

# %% [markdown] tags=["explain"]
# **Why.** Fifty images are too few to learn both edges *and* digits, but the pretrained body already knows edges. That is why every method that starts with this body and adapts it is better than training from scratch.
#
# Training only the head is better than training from scratch, but not by much. The command `python -m benchmarks.finetuning` measured this over five seeds:
#
# | method | test accuracy, % | trained numbers |
# |---|---|---|
# | from scratch | 56.3 ± 6.3 | 77,685 |
# | head only | 64.4 ± 2.2 | 325 |
# | full | 77.6 ± 3.2 | 77,685 |
# | gradual | 71.6 ± 3.2 | 77,685 |
# | discriminative | 76.6 ± 2.3 | 77,685 |
# | LoRA | 74.2 ± 0.8 | 16,269 |
#
# Head only gains 8 points, which isn't much. In your picture the gain may look larger, because you only have three seeds and training from scratch varies most. A new head can't gain much more, because the features of the new digits overlap and a head can only draw straight borders. This body only knows five digits. If a body was trained on a million photographs instead, a new head is often enough.
#
# Look at the spread as well: full fine-tuning and discriminative rates differ by 1 point, but each of them varies by 2 or 3 points from seed to seed. **These runs can't tell us which of the two is better.** A single run with one seed would have named a winner anyway. The last digits of your results may differ from the table, because processors add numbers in different orders and training amplifies small differences.

# %% [markdown] tags=["exercise"]
# ### Exercise 03.9: an honest number
#
# Suppose you have tried several learning rates, each with several seeds. The dicts `validation` and `test` map each rate to a list of accuracies, one for each seed. Write `report(validation, test)`, which chooses a rate and returns `(rate, accuracy)`. The accuracy is a mean over the seeds, and it should be the accuracy that you can honestly tell other people to expect.

# %% tags=["exercise"]
def report(validation, test):
    return ...

check("03.9", report)

# %% [markdown] tags=["keep"]
# **Takeaway:** compare with training from scratch, use several seeds, and report the spread.
# Read more: PyTorch's page on [reproducibility](https://docs.pytorch.org/docs/stable/notes/randomness.html).

# %% [markdown] tags=["section"]
# ## 3. Review
#
# The last question goes back to lesson 1. You have trained several networks with different seeds, so you may want to average their weights. Let's begin with the sum of two weights, and write it in the simplest way:

# %% tags=["predict"]
q30 = predict("03.q30")
q30

# %% tags=["code"]
one, two = with_new_head(), with_new_head()
before = one.fc.weight.detach().clone()
try:
    one.fc.weight += two.fc.weight
    outcome = torch.equal(one.fc.weight, before + two.fc.weight)
except RuntimeError as error:
    outcome = error
    print(error)

# %% tags=["reveal"]
q30.reveal(outcome)

# %% [markdown] tags=["explain"]
# **Why.** Both weights are leaves that require a gradient, and you must not change such a leaf in place while a graph is recorded. To average networks, compute with their `state_dict()` or under `no_grad()`, because then nothing is recorded.

# %% tags=["progress"]
progress("03")
