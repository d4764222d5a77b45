"""The predictions of lesson 2: asked before anything runs. `because` answers a wrong guess, after the reveal only."""

from __future__ import annotations

import numpy as np

from ..question import Question, Words, about, either, which

QUESTIONS = {
    "02.q1": Question(
        "One training step with your one digit, on the CPU and on the GPU. Who is faster?",
        ("the GPU, many times", "about the same", "the CPU, many times"),
        {
            "the GPU, many times": "One digit is little work for some five hundred launches, and each costs the host 5 µs, however small it is.",
            "about the same": "The GPU gets some five hundred launches of 5 µs each. The CPU has no queue to fill.",
        },
        key=either(lambda cpu, gpu: cpu < gpu, "the CPU, many times", "the GPU, many times"),
    ),
    "02.q2": Question(
        "`t = torch.ones(3)`, then `t.to(device)` alone in a line. Where is `t` now?",
        ("cpu", "cuda:0", "on neither, it was moved and not kept"),
        {
            "cuda:0": "to() made a copy there and gave it back, and nobody kept it. The tensor t itself cannot move.",
            "on neither, it was moved and not kept": "to() takes nothing away: t keeps its memory. What was not kept is the copy.",
        },
        key=str,
    ),
    "02.q3": Question(
        "`model = nn.Linear(3, 2)`, then `model.to(device)` alone in a line. Where are the model's weights now?",
        ("on the CPU", "on the GPU", "on both"),
        {
            "on the CPU": "That is how it is with tensors. A module changes itself: it gives its parameters new memory.",
            "on both": "No second parameter is made: each parameter gets new memory on the device, and lets go of the old one.",
        },
        key=lambda model: "on the GPU" if next(model.parameters()).is_cuda else "on the CPU",
    ),
    "02.q4": Question(
        "`x` is a vector on the GPU. Which of these is an error: `x * 2.0`, `x * torch.tensor(2.0)`, "
        "`x * torch.tensor([2.0])`?",
        (
            "x * torch.tensor([2.0])",
            "x * torch.tensor(2.0) and x * torch.tensor([2.0])",
            "all three",
            "none of them",
        ),
        {
            "x * torch.tensor(2.0) and x * torch.tensor([2.0])": "A tensor without dimensions counts as a plain number, wherever it is.",
            "all three": "A plain number is in no memory: it travels with the launch.",
            "none of them": "PyTorch never copies between devices by itself.",
        },
        key=" and ".join,
    ),
    "02.q5": Question(
        "`w = torch.tensor([1., 2.], requires_grad=True).to(device)`, then `(w * w).sum().backward()`. What is "
        "`w.grad`?",
        ("[2., 4.]", "None", "an error"),
        {
            "[2., 4.]": "That gradient did arrive at w, and went on to the tensor that w was copied from. w is not a leaf.",
            "an error": "Nothing complains. Reading w.grad gives a warning.",
        },
    ),
    "02.q7": Question(
        "Ten products that take 0.35 ms each, in a loop between two looks at the clock. What does the clock say?",
        ("about 3.5 ms", "about 0.05 ms", "about 0.35 ms"),
        {
            "about 3.5 ms": "That is how long the GPU is busy. But the host does not wait for it.",
            "about 0.35 ms": "The host waits for none of them, not even for the last.",
        },
        key=either(lambda host, gpu: host < 0.2 * gpu, "about 0.05 ms", "about 3.5 ms"),
    ),
    "02.q8": Question(
        "The network is trained on the CPU and on the GPU, with the same seed. What is the curve of the losses on the GPU?",
        (
            "the same, but for the last digits",
            "another one",
            "it starts elsewhere, and meets the other later",
        ),
        {
            "another one": "The device changes who computes. The numbers it computes are the same.",
            "it starts elsewhere, and meets the other later": "The seed makes the same weights on both, so both begin with the same loss.",
        },
        key=either(
            lambda cpu, gpu: np.allclose(cpu[:5], gpu[:5], rtol=1e-2),
            "the same, but for the last digits",
            "another one",
        ),
    ),
    "02.q9": Question(
        "The weights take 0.3 MiB, the batch 0.13 MiB. How much more is in use after the forward pass, when it is recorded?",
        ("about 0.3 MiB", "about 1 MiB", "about 5 MiB"),
        {
            "about 0.3 MiB": "The weights are there already. What is new is what the nodes of the graph saved, and that is large.",
            "about 1 MiB": "That is what the first two layers save. Backward needs what all of them saved.",
        },
        key=about(0.3, 1, 5, unit=" MiB"),
    ),
    "02.q10": Question(
        "`h = model(x)`, and `loss` is computed from `h`. How much memory does `del h` free?",
        ("almost everything", "almost nothing", "about half"),
        {
            "almost everything": "Only the name is gone. The loss holds its node, and through it the whole graph.",
            "about half": "The loss holds its node, that node holds the one before it, and so on: no part of the graph lets go.",
        },
        key=either(lambda left: left > 0.8, "almost nothing", "almost everything"),
    ),
    "02.q26": Question(
        "A clock is read after each of three lines: `h = a @ a`, `best = h.max()`, `number = best.item()`. Which line takes "
        "longest by that clock?",
        ("h = a @ a", "best = h.max()", "number = best.item()"),
        {
            "h = a @ a": "The product is most of the work, but the line only launches it: 5 µs.",
            "best = h.max()": "This line launches a kernel too, and comes back at once.",
        },
        key=lambda taken: ("h = a @ a", "best = h.max()", "number = best.item()")[
            int(np.argmax(taken))
        ],
    ),
    "02.q11": Question(
        "How many times faster is a T4 than a four-core CPU, for the product of two matrices of 1,500 rows?",
        ("about 2", "about 10", "about 40", "about 1000"),
        {
            "about 2": "It has thousands of cores, and this is work for all of them.",
            "about 10": "That is the ratio of the memories. A product does 250 operations for each byte, so arithmetic "
            "decides.",
            "about 1000": "It has thousands of cores, but each is much slower than a CPU's, which does many operations at "
            "once too.",
        },
        key=lambda on_cpu, on_gpu: about(2, 10, 40, 1000)(on_cpu / on_gpu),
    ),
    "02.q12": Question(
        "The product of two matrices of 16 rows: who is faster?",
        ("the CPU", "the GPU", "about the same"),
        {
            "the GPU": "There are 8,192 operations to do. In the time that starting one kernel takes, the CPU does a million.",
            "about the same": "There are 8,192 operations to do. Starting a kernel costs some µs, however small the matrices; "
            "the CPU starts at once.",
        },
        key=either(lambda cpu, gpu: cpu < gpu, "the CPU", "the GPU"),
    ),
    "02.q13": Question(
        "1,000 rows of 100 numbers are multiplied, each by its own factor: in a loop over the rows, or in one "
        "operation. How many times as long does the loop take?",
        ("about 2", "about 30", "about 1000"),
        {
            "about 2": "The loop launches two kernels for each row, and each launch costs as much as the whole operation.",
            "about 30": "There are 2,000 launches in place of one.",
        },
        key=about(2, 30, 1000),
    ),
    "02.q14": Question(
        "`a += 1` and `b += 1`, where a and b are the arrays of the tensors `here` (CPU) and `there` (GPU). Which of "
        "the tensors changes?",
        ("only here", "only there", "both", "neither"),
        {
            "only there": "From the GPU the numbers had to be copied. b is an array of its own.",
            "both": "From the GPU the numbers had to be copied. b is an array of its own.",
            "neither": "cpu() and numpy() copy nothing when the tensor is on the CPU already: a is here's own memory.",
        },
        key=lambda here, there: which(both="both", one="only {}", none="neither")(
            [n for n, t in {"here": here, "there": there}.items() if t[0].item() == 2]
        ),
    ),
    "02.q27": Question(
        "`loss.detach().numpy()`, `np.array` of a loss, `plt.plot` of a tensor, all three on the GPU. How many of them are "
        "errors?",
        ("none", "only the first", "all three"),
        {
            "none": "NumPy and matplotlib read the host's memory, and PyTorch does not copy for you.",
            "only the first": "np.array() and plt.plot() ask the tensor for its numbers just so, and get the same refusal.",
        },
        key=lambda refused: ("none", "only the first", "two of them", "all three")[refused],
    ),
    "02.q15": Question(
        "A module keeps the mean of the data with `self.mean = mean`, a plain tensor. You call `.to(device)`. Is `mean` "
        "on the GPU now?",
        ("yes", "no", "yes, after the first forward pass"),
        {
            "yes": "A module moves what it knows: parameters, buffers, modules. A plain attribute is none of these.",
            "yes, after the first forward pass": "A forward pass moves nothing: it stops with an error at the first "
            "operation that meets both devices.",
        },
    ),
    "02.q16": Question(
        "Making two million ones on the CPU and moving them, against making them on the GPU: how many times as long "
        "does it take?",
        ("about 1", "about 4", "about 35"),
        {
            "about 1": "The way between CPU and GPU is much slower than the memory at either end.",
            "about 4": "More than that: the bus carries 6 billion bytes a second, the GPU writes over 200 billion.",
        },
        key=about(1, 4, 35),
    ),
    "02.q17": Question(
        "1,024 images move to the GPU one by one, or all at once. How many times as long does it take one by one?",
        ("about 1", "about 30", "about 1000"),
        {
            "about 1": "It is the same number of bytes, but each copy costs something before the first byte moves.",
            "about 1000": "There are 1,000 copies for one, but the one has 1,000 times the bytes to carry.",
        },
        key=about(1, 30, 1000),
    ),
    "02.q18": Question(
        "Four batches of 256 images, from pinned memory and with `non_blocking=True`. How long is the host busy with "
        "the copies? (From ordinary memory it takes about 600 µs or more.)",
        ("about 40 µs", "about 600 µs", "about 2 µs"),
        {
            "about 600 µs": "The copies take their time in the GPU's queue. The host only launches them, eight times.",
            "about 2 µs": "The copies themselves do cost the host nothing. Launching them does: 5 µs each, eight times.",
        },
        key=either(lambda waited: waited < 0.0002, "about 40 µs", "about 600 µs"),
    ),
    "02.q19": Question(
        "A training step of the network on the GPU, with 16 digits: who is busy longer, the host with launching or the GPU "
        "with computing?",
        ("the host", "the GPU", "both the same time"),
        {
            "the GPU": "The kernels are short. The GPU is done with each before the next one is launched.",
            "both the same time": "The GPU works only while a kernel runs, and the kernels are short: most of the time it waits for the next launch.",
        },
        key=either(lambda host, gpu: host > gpu, "the host", "the GPU"),
    ),
    "02.q20": Question(
        "In the code above, what does the profiler find on the GPU?",
        ("the convolutions", "the copies", "nothing"),
        {
            "the convolutions": "They run where x and conv1d are, and those were never moved.",
            "the copies": "There are none: nothing was moved.",
        },
        key=either(lambda found: found == 0, "nothing", "the convolutions"),
    ),
    "02.q28": Question(
        "Four parts of a batch: `backward()` for each part, or the four losses added up first and one `backward()`. What "
        "does the second way take at its peak, compared with the first?",
        ("as much", "a quarter more", "about three times as much"),
        {
            "as much": "Each loss holds its graph until backward has gone through it. The sum holds all four.",
            "a quarter more": "The sum holds every loss that went into it, each with its whole graph: four graphs.",
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
        "The network is checkpointed in two halves. What comes out?",
        (
            "the same gradients, less memory, more time",
            "other gradients, less memory, more time",
            "the same gradients, less memory, the same time",
        ),
        {
            "other gradients, less memory, more time": "What is computed again is computed from the same numbers, by the same operations.",
            "the same gradients, less memory, the same time": "What was not saved is computed a second time, and that takes time.",
        },
        key=either(
            lambda same: same,
            "the same gradients, less memory, more time",
            "other gradients, less memory, more time",
        ),
    ),
    "02.q22": Question(
        "A gradient of 2e-8 is put into a `float16`. What is there then?",
        ("2e-8, a little rounded", "0", "an error"),
        {
            "2e-8, a little rounded": "The smallest float16 above zero is about 6e-8. Half of that and less becomes zero.",
            "an error": "Nobody complains: what is too small becomes zero, without a word.",
        },
        key=either(lambda found: found == 0, "0", "2e-8, a little rounded"),
    ),
    "02.q23": Question(
        "The loss is multiplied by 65,536, and the gradient that comes out is divided by 65,536, in float32. What is it then?",
        ("the gradient of float32, within 1 %", "still zero", "65,536 times too large"),
        {
            "still zero": "It was zero because it was too small for a float16 on the way. Multiplied, it is not.",
            "65,536 times too large": "Multiplied at the beginning and divided at the end: the chain rule only multiplies in between.",
        },
        key=either(lambda close: close, "the gradient of float32, within 1 %", "still zero"),
    ),
    "02.q24": Question(
        "Two replicas, each with half of the batch and the mean loss of its half. The gradient of the whole batch's "
        "mean loss is",
        ("their sum", "their mean", "the larger of the two"),
        {
            "their sum": "The sum would belong to the sum of both losses, which is twice the mean over the batch.",
            "the larger of the two": "Every image counts. With the larger one alone, those of the other replica would not.",
        },
        key="their mean",
    ),
    "02.q25": Question(
        "Two GPUs, one host program, a batch of 64 images. Compared with one GPU it is",
        ("twice as fast", "about as fast", "slower"),
        {
            "twice as fast": "Each GPU has half of the work, but the launches do not get fewer. There are twice as many.",
            "about as fast": "The launches take most of the time, and there are twice as many.",
        },
        key=lambda times: (
            "slower" if times < 1 else "about as fast" if times < 1.5 else "twice as fast"
        ),
    ),
}

WORDS = {
    "02.w1": Words(
        "Why may `model.to(device)` stand alone in a line, and `x.to(device)` not?",
        "A module changes itself: its parameters are the same objects with new memory. A tensor cannot move; what to() "
        "gives back is a copy, and whoever does not keep it has nothing.",
    ),
    "02.w2": Words(
        "The same line fills `w.grad` on a laptop and leaves None on the machine with a GPU. How can that be?",
        "A to() that changes nothing gives back the leaf itself. One that copies is a function like any other: its result "
        "has a history, so the gradient goes on to the leaf on the other side.",
    ),
    "02.w3": Words(
        "A product of 1,000 rows takes 5 µs, says a friend's clock. What has it measured?",
        "The launch. The host put the product into the queue and read the clock; the GPU had only begun. With synchronize() "
        "before both looks the clock shows the work.",
    ),
    "02.w4": Words(
        "A loss is one number. How can a list of a hundred losses fill a GPU?",
        "Each loss holds its node, the node what it saved and the nodes before it: a hundred graphs. item() gives the "
        "number, and lets go of the graph.",
    ),
    "02.w5": Words(
        "When does a NumPy array look into the same memory as a tensor, and when can it not?",
        "On the CPU both can look into one memory, and numpy() and from_numpy() copy nothing. From a GPU NumPy cannot read "
        "at all: cpu() has to copy, and the copy goes its own way.",
    ),
}
