"""The predictions of lesson 2: asked before anything runs. `because` answers a wrong guess, after the reveal only."""

from __future__ import annotations

import numpy as np

from ..question import Question, Words, about, either, which

KEEPS_TRAINING = "Yes, they are the same parameters, with new memory."

QUESTIONS = {
    "02.q1": Question(
        "You run one training step with your one digit, first on the CPU and then on the GPU. Which of the two is "
        "faster?",
        ("the GPU", "about the same", "the CPU"),
        {
            "the GPU": "One digit is very little work. But the step consists of some five hundred small operations, and "
            "for each of them the CPU has to tell the GPU what to do. That takes 5 µs, however small the work is.",
            "about the same": "The arithmetic takes little time on either device. But the CPU has to start some five "
            "hundred operations on the GPU, and each start takes 5 µs.",
        },
        key=either(lambda cpu, gpu: cpu < gpu, "the CPU", "the GPU"),
    ),
    "02.q2": Question(
        "You write `t = torch.ones(3)`, and then `t.to(device)` alone in a line. Where is `t` now?",
        ("cpu", "cuda:0", "on neither, because it was moved and not kept"),
        {
            "cuda:0": "`to()` made a copy on the GPU and returned it, but the copy got no name. The tensor `t` "
            "itself cannot move.",
            "on neither, because it was moved and not kept": "`to()` takes nothing away from `t`, which keeps its "
            "memory. It is the copy that was not kept.",
        },
        key=str,
    ),
    "02.q3": Question(
        "You build a model and an optimizer, `torch.optim.SGD(model.parameters(), lr=0.1)`. Then you call "
        "`model.to(device)` alone in a line. Does the optimizer still update the model's weights?",
        (
            KEEPS_TRAINING,
            "No, it still has the old parameters on the CPU.",
            "No, because the model itself stays on the CPU.",
        ),
        {
            "No, it still has the old parameters on the CPU.": "No second parameter is made. Each parameter gets new "
            "memory on the device, and lets go of its old memory.",
            "No, because the model itself stays on the CPU.": "This is true for a tensor. A module changes itself "
            "instead, because it gives its parameters new memory.",
        },
        key=lambda model, weight: (
            KEEPS_TRAINING
            if model.weight is weight and weight.is_cuda
            else "No, it still has the old parameters on the CPU."
        ),
    ),
    "02.q4": Question(
        "`x` is a vector on the GPU. Which of these three lines raise an error: `x * 2.0`, `x * torch.tensor(2.0)`, "
        "`x * torch.tensor([2.0])`?",
        (
            "x * torch.tensor([2.0])",
            "x * torch.tensor(2.0) and x * torch.tensor([2.0])",
            "all three",
            "none of them",
        ),
        {
            "x * torch.tensor(2.0) and x * torch.tensor([2.0])": "A tensor without dimensions counts as a plain "
            "number, on whichever device it is.",
            "all three": "A plain number isn't on any device, because it is sent along with the launch.",
            "none of them": "PyTorch never copies a vector between devices unless you ask for it.",
        },
        key=" and ".join,
    ),
    "02.q5": Question(
        "You write `w = torch.tensor([1., 2.], requires_grad=True).to(device)`, and then `(w * w).sum().backward()`. "
        "What "
        "is `w.grad`?",
        ("[2., 4.]", "None", "an error"),
        {
            "[2., 4.]": "This gradient did arrive at `w`, but it was passed on to the tensor from which `w` was "
            "copied. `w` is not a leaf.",
            "an error": "There is no error. If you read `w.grad`, you only get a warning.",
        },
    ),
    "02.q7": Question(
        "A loop computes ten products that take 0.35 ms each, and you read the clock before and after the loop. How "
        "much "
        "time has passed on this clock?",
        ("about 3.5 ms", "about 0.05 ms", "about 0.35 ms"),
        {
            "about 3.5 ms": "The GPU is busy for 3.5 ms, but the host doesn't wait for it.",
            "about 0.35 ms": "The host doesn't wait for any of the products, not even for the last one.",
        },
        key=either(lambda host, gpu: host < 0.2 * gpu, "about 0.05 ms", "about 3.5 ms"),
    ),
    "02.q8": Question(
        "The network is trained on the CPU and on the GPU, with the same seed. How will the GPU's loss curve compare "
        "with "
        "the CPU's?",
        (
            "It is the same, except for the last decimal places.",
            "It is a different curve.",
            "It starts elsewhere, and the two meet later.",
        ),
        {
            "It is a different curve.": "The device changes where the numbers are computed, but not which numbers "
            "are computed.",
            "It starts elsewhere, and the two meet later.": "With the same seed, the weights are the same on both "
            "devices, so both curves begin with the same loss.",
        },
        key=either(
            lambda cpu, gpu: np.allclose(cpu[:5], gpu[:5], rtol=1e-2),
            "It is the same, except for the last decimal places.",
            "It is a different curve.",
        ),
    ),
    "02.q9": Question(
        "The weights take 0.3 MiB and the batch takes 0.13 MiB. How much more memory is in use after a forward pass "
        "that "
        "is recorded?",
        ("about 0.3 MiB", "about 1 MiB", "about 5 MiB"),
        {
            "about 0.3 MiB": "The weights were in memory before. The new part is everything that the nodes of the "
            "graph save, and this is much larger.",
            "about 1 MiB": "The first two results alone take this much. The backward pass needs what all of the "
            "layers saved.",
        },
        key=about(0.3, 1, 5, unit=" MiB"),
    ),
    "02.q10": Question(
        "You compute `h = model(x)`, and then `loss` from `h`. How much memory does `del h` free?",
        ("almost everything", "almost nothing", "about half"),
        {
            "almost everything": "Only the name is gone. The loss still refers to its node, and through it to the "
            "whole graph.",
            "about half": "The loss refers to its node, that node refers to the one before it, and so on. So every "
            "part of the graph stays in memory.",
        },
        key=either(lambda left: left > 0.8, "almost nothing", "almost everything"),
    ),
    "02.q26": Question(
        "You read the clock after each of three lines: `h = a @ a`, `best = h.max()`, `number = best.item()`. Which "
        "line "
        "takes longest on this clock?",
        ("h = a @ a", "best = h.max()", "number = best.item()"),
        {
            "h = a @ a": "The product is most of the work, but this line only launches it, which takes 5 µs.",
            "best = h.max()": "This line only launches a kernel too, so it returns at once.",
        },
        key=lambda taken: ("h = a @ a", "best = h.max()", "number = best.item()")[
            int(np.argmax(taken))
        ],
    ),
    "02.q11": Question(
        "You multiply two matrices of 1,500 rows and columns. How many times faster is a T4 than a CPU with four "
        "cores?",
        ("about 2", "about 15", "about 100", "about 1000"),
        {
            "about 2": "The GPU has thousands of cores, and this product gives all of them something to do.",
            "about 100": "A CPU has few cores, but each of them does many operations at once. Four cores reach 375 "
            "billion operations per second here, and the T4 reaches 5.7 trillion.",
            "about 1000": "The GPU has thousands of cores, but each of them is much slower than a CPU's core, which "
            "does many operations at once too.",
        },
        key=lambda on_cpu, on_gpu: about(2, 15, 100, 1000)(on_cpu / on_gpu),
    ),
    "02.q12": Question(
        "You multiply two square matrices on the CPU and on the GPU. From how many rows on is the GPU faster?",
        ("about 16 rows", "about 128 rows", "about 1024 rows"),
        {
            "about 16 rows": "With 16 rows there are only 8,192 operations to do. In the time that one launch takes, the "
            "CPU does more than a million.",
            "about 1024 rows": "With 1,024 rows there are two billion operations to do. On the CPU they take a thousand "
            "times as long as one launch, so the GPU wins much earlier.",
        },
        key=about(16, 128, 1024, unit=" rows"),
    ),
    "02.q13": Question(
        "1,000 rows of 100 numbers are multiplied, each by its own factor. You can do this in a loop over the rows, "
        "or in "
        "one operation. How many times longer does the loop take?",
        ("about 2", "about 30", "about 1000"),
        {
            "about 2": "For each row, the loop launches two kernels, and each launch costs as much as the whole "
            "single operation.",
            "about 30": "The loop has 2,000 launches instead of one.",
        },
        key=about(2, 30, 1000),
    ),
    "02.q14": Question(
        "`here` is a tensor on the CPU, `there` is a tensor on the GPU, and `a` and `b` are the arrays made from "
        "them. After "
        "`a += 1` and `b += 1`, which of the tensors has changed?",
        ("only here", "only there", "both", "neither"),
        {
            "only there": "The numbers had to be copied from the GPU, so `b` is an array of its own.",
            "both": "The numbers had to be copied from the GPU, so `b` is an array of its own.",
            "neither": "If the tensor is on the CPU, `cpu()` and `numpy()` don't copy anything, so `a` uses the "
            "memory of `here`.",
        },
        key=lambda here, there: which(both="both", one="only {}", none="neither")(
            [n for n, t in {"here": here, "there": there}.items() if t[0].item() == 2]
        ),
    ),
    "02.q27": Question(
        "You call `loss.detach().numpy()`, `np.array` of a loss, and `plt.plot` of a tensor. All three tensors are "
        "on the "
        "GPU. How many of these calls raise an error?",
        ("none", "only the first", "all three"),
        {
            "none": "NumPy and matplotlib can only read memory of the host, and you haven't asked PyTorch for a "
            "copy.",
            "only the first": "`np.array()` and `plt.plot()` ask the tensor for its numbers in the same way, so they "
            "get the same error.",
        },
        key=lambda refused: ("none", "only the first", "two of them", "all three")[refused],
    ),
    "02.q15": Question(
        "In its `__init__`, a module keeps the mean of the data with `self.mean = mean`, where `mean` is a plain "
        "tensor. Then "
        "you call `.to(device)` on the module. Is `mean` on the GPU now?",
        ("yes", "no", "yes, after the first forward pass"),
        {
            "yes": "A module only moves what it has registered: parameters, buffers and submodules. A tensor in a "
            "plain attribute is none of these.",
            "yes, after the first forward pass": "A forward pass doesn't move anything. It stops with an error at "
            "the first "
            "operation whose operands are on two devices.",
        },
    ),
    "02.q16": Question(
        "You can create two million ones on the CPU and move them to the GPU, or create them on the GPU. How many "
        "times "
        "longer does the first way take?",
        ("about 1", "about 4", "about 35"),
        {
            "about 1": "The connection between CPU and GPU is much slower than the memory at either end.",
            "about 4": "It is more than that, because the bus carries 6 billion bytes per second, while the GPU "
            "writes over 200 billion.",
        },
        key=about(1, 4, 35),
    ),
    "02.q17": Question(
        "You move 1,024 images to the GPU, one by one or all at once. How many times longer does it take one by one?",
        ("about 1", "about 30", "about 1000"),
        {
            "about 1": "The number of bytes is the same, but each copy also costs time before its first byte moves.",
            "about 1000": "There are about 1,000 copies instead of one, but the one copy has to move 1,000 times as "
            "many bytes.",
        },
        key=about(1, 30, 1000),
    ),
    "02.q18": Question(
        "You copy four batches of 256 images from pinned memory, with `non_blocking=True`. How long is the host busy "
        "with "
        "the copies? (From ordinary memory it is busy for about 600 µs or more.)",
        ("about 40 µs", "about 600 µs", "about 2 µs"),
        {
            "about 600 µs": "The copies take this time in the GPU's queue, but the host only launches them, eight "
            "times.",
            "about 2 µs": "The host doesn't do the copying, but it has to launch the copies. There are eight "
            "launches, for the images and the labels of each batch, and each costs 5 µs.",
        },
        key=either(lambda waited: waited < 0.0002, "about 40 µs", "about 600 µs"),
    ),
    "02.q19": Question(
        "The network does one training step on the GPU, with 16 digits. Which is busy longer, the host with "
        "launching or the "
        "GPU with computing?",
        ("the host", "the GPU", "both equally long"),
        {
            "the GPU": "The kernels are short, so the GPU finishes each of them before the host has launched the "
            "next one.",
            "both equally long": "The GPU only works while a kernel runs. The kernels are short, so most of the "
            "time it waits for the next launch.",
        },
        key=either(lambda host, gpu: host > gpu, "the host", "the GPU"),
    ),
    "02.q20": Question(
        "In the code above, what does the profiler find on the GPU?",
        ("the convolutions", "the copies", "nothing"),
        {
            "the convolutions": "The convolutions run where `x` and `conv1d` are, and these were never moved to the "
            "GPU.",
            "the copies": "There are no copies, because nothing was moved.",
        },
        key=either(lambda found: found == 0, "nothing", "the convolutions"),
    ),
    "02.q28": Question(
        "A batch comes in four parts. You can call `backward()` for each part, or add up the four losses and call "
        "`backward()` once. How much memory does the second way need at its peak, compared with the first?",
        ("as much", "a quarter more", "about three times as much"),
        {
            "as much": "Each loss keeps its graph until `backward()` has gone through it, and the sum keeps all four "
            "graphs.",
            "a quarter more": "The sum keeps every loss that was added to it, each with its whole graph, so there "
            "are four graphs in memory.",
        },
        key=lambda ratio: (
            "as much"
            if ratio < 1.1
            else "a quarter more"
            if ratio < 1.7
            else "about three times as much"
        ),
    ),
    "02.q21": Question(
        "The network is checkpointed in two halves. What changes, compared with the plain network?",
        (
            "the same gradients, less memory, more time",
            "different gradients, less memory, more time",
            "the same gradients, less memory, the same time",
        ),
        {
            "different gradients, less memory, more time": "The values are recomputed from the same numbers, by the same "
            "operations, so they are the same.",
            "the same gradients, less memory, the same time": "The values that were not saved have to be computed a "
            "second time, and this takes time.",
        },
        key=either(
            lambda same: same,
            "the same gradients, less memory, more time",
            "different gradients, less memory, more time",
        ),
    ),
    "02.q22": Question(
        "A gradient of 2e-8 is stored as a `float16`. Which number is stored?",
        ("2e-8, a little rounded", "0", "an error"),
        {
            "2e-8, a little rounded": "The smallest `float16` above zero is about 6e-8, and anything up to half of "
            "it is rounded to zero.",
            "an error": "There is no error and no warning. A number that is too small becomes zero.",
        },
        key=either(lambda found: found == 0, "0", "2e-8, a little rounded"),
    ),
    "02.q23": Question(
        "You multiply the loss by 65,536 before the backward pass, and then divide the gradient by 65,536, in "
        "`float32`. What "
        "do you get?",
        ("the float32 gradient, within 1 %", "still zero", "65,536 times too large"),
        {
            "still zero": "The gradient became zero because it was too small for a `float16`. After the "
            "multiplication, it is large enough.",
            "65,536 times too large": "You multiply at the beginning and divide by the same number at the end. In "
            "between, the chain rule only multiplies, so the factor stays a factor.",
        },
        key=either(lambda close: close, "the float32 gradient, within 1 %", "still zero"),
    ),
    "02.q24": Question(
        "Each of two replicas has half of the batch, and computes the mean loss of its half. What is the gradient of "
        "the mean "
        "loss of the whole batch?",
        ("their sum", "their mean", "the larger of the two"),
        {
            "their sum": "The sum is the gradient of both losses added up, which is twice the mean over the batch.",
            "the larger of the two": "Every image counts. If you took only the larger gradient, the images of the "
            "other replica wouldn't count.",
        },
        key="their mean",
    ),
    "02.q25": Question(
        "One host program trains on two GPUs, with a batch of 64 images. Compared with one GPU, it is …",
        ("twice as fast", "about as fast", "slower"),
        {
            "twice as fast": "Each GPU has half of the work, but the number of launches doesn't fall. In fact there "
            "are twice as many.",
            "about as fast": "The launches take most of the time, and there are twice as many of them.",
        },
        key=lambda times: (
            "slower" if times < 1 else "about as fast" if times < 1.5 else "twice as fast"
        ),
    ),
}

WORDS = {
    "02.w1": Words(
        "Why can `model.to(device)` stand alone in a line, while `x.to(device)` cannot?",
        "A module changes itself: its parameters are the same objects as before, with new memory. A tensor cannot "
        "move, so "
        "`to()` returns a copy instead, and you have to give this copy a name.",
    ),
    "02.w2": Words(
        "The same line fills `w.grad` on a laptop, but leaves it None on a machine with a GPU. How is this possible?",
        "If `to()` has nothing to change, it returns the leaf itself. If it makes a copy, the copy is recorded like "
        "any other "
        "function. So its result is not a leaf, and the gradient goes on to the leaf on the other device.",
    ),
    "02.w3": Words(
        "According to a friend's clock, a product of two matrices of 1,000 rows takes 5 µs on the GPU. What did the "
        "clock measure?",
        "It measured the launch. The host put the product into the queue and read the clock when the GPU had only "
        "just begun. If your friend calls synchronize() each time before reading the clock, the clock shows the time of "
        "the work.",
    ),
    "02.w4": Words(
        "A loss is a single number. How can a list of a hundred losses fill the memory of a GPU?",
        "Each loss keeps its node in memory, and each node keeps its saved tensors and the nodes before it. So the "
        "list keeps a "
        "hundred graphs. If you store loss.item() instead, you keep only the number, and the graph is freed.",
    ),
    "02.w5": Words(
        "When do a NumPy array and a tensor share memory, and when can't they?",
        "On the CPU they can share memory, because numpy() and from_numpy() don't copy. NumPy cannot read the memory "
        "of a GPU, "
        "so cpu() has to make a copy, and a change of the copy doesn't reach the tensor.",
    ),
}
