"""The predictions of lesson 3: asked before anything runs. `because` answers a wrong guess, after the reveal only."""

from typing import Any

from ..question import Question, Words, either


def best_way(mean: dict[str, Any]) -> str:
    """Which way of training came out best: two of them train all layers."""
    best = max(mean, key=mean.__getitem__)
    few = {"head only": "training the head alone", "from scratch": "training from scratch"}
    return few.get(best, "training all layers")


QUESTIONS = {
    "03.q1": Question(
        "The network knows the digits 0 to 4, and is shown 5 to 9. What does it answer?",
        (
            "that it is none of them",
            "one of 0 to 4, mostly with confidence",
            "one of 0 to 4, each with about 20 %",
        ),
        {
            "that it is none of them": "There is no such answer: every output stands for a digit, and their probabilities add up to 1.",
            "one of 0 to 4, each with about 20 %": "Softmax says only that one output is larger than the others, and it "
            "mostly is, by far.",
        },
        key="one of 0 to 4, mostly with confidence",
    ),
    "03.q2": Question(
        "A new head for ten classes, drawn at random. About how large is the cross-entropy loss before any training?",
        ("near 0", "about 2.3", "about 10", "above 20"),
        {
            "near 0": "That would be a network that is sure, and right.",
            "about 10": "The loss is the logarithm of one over the probability of the right class, not the number of classes.",
            "above 20": "The new weights are small, so no class gets a probability near zero.",
        },
        key="about 2.3",
    ),
    "03.q3": Question(
        "The optimizer is built with `model.parameters()`, then `model.fc` is replaced. Three steps later the loss is smaller. "
        "Which layers have moved?",
        ("all", "all but the new head", "only the new head", "none"),
        {
            "all": "The new head has other parameters than the old one, and the optimizer was never given them. A falling loss says "
            "that something learns, not that all does.",
            "only the new head": "It is the other way round: the optimizer has all but the new head.",
            "none": "Then the loss would not have moved either. The body is still the one the optimizer was given.",
        },
        key=either(
            lambda moved: "fc" not in moved and "conv1" in moved, "all but the new head", "none"
        ),
    ),
    "03.q4": Question(
        "You freeze `layer2` only, in the middle. After `backward()`, which layers have a gradient?",
        ("only those after layer2", "only those before layer2", "all but layer2", "none"),
        {
            "only those after layer2": "A frozen layer does not want a gradient for its weights. It passes on that of its "
            "input, for those before it.",
            "only those before layer2": "What lies after it is reached first, and is trained.",
            "none": "The loss depends on many weights that want a gradient.",
        },
        key=either(lambda got: "layer2" not in got and "conv1" in got, "all but layer2", "none"),
    ),
    "03.q6": Question(
        "All parameters are frozen. Thirty batches of new digits run forward in training mode, under no_grad(). Does the "
        "network now answer differently to the old digits?",
        ("yes", "no", "yes, while it stays in training mode"),
        {
            "no": "The weights are the same. The running mean and variance are no weights, and the forward pass moves them.",
            "yes, while it stays in training mode": "It is the other way round. In training mode each batch is measured by itself; "
            "the averages that moved are what `eval()` uses.",
        },
        key=either(lambda losses: losses[-1] > 2 * losses[0], "yes", "no"),
    ),
    "03.q7": Question(
        "Twenty epochs on fifty images of 5 to 9. Of the digits 0 to 4, of which it read nearly all, how many does it still read?",
        ("nearly all", "about half", "next to none"),
        {
            "nearly all": "Nothing in those batches said that a 3 is still a 3, and every step pushed its output down.",
            "about half": "Less: the outputs of 0 to 4 were pushed down for every image, whatever it shows.",
        },
        key=either(lambda percent: percent < 20, "next to none", "about half"),
    ),
    "03.q8": Question(
        "The same training, with ten images of each old digit among the batches. How many of the digits 0 to 4 does it read then?",
        ("next to none", "about a quarter", "most of them"),
        {
            "next to none": "Fifty images are few to learn from. To hold what is known already they are enough.",
            "about a quarter": "More: the old images need not teach anything anew. They object when a step would destroy it.",
        },
        key=either(lambda percent: percent > 60, "most of them", "about a quarter"),
    ),
    "03.q9": Question(
        "Eight versions of your digit are trained. Of fifty others, turned and shifted differently, how many does it read?",
        ("next to none", "about half", "nearly all"),
        {
            "next to none": "It would have to learn the eight by heart for that. It has ten images of the same digit beside them, and features that "
            "do not care about a pixel more or less.",
            "about half": "It may be so with a hand that is very different from the others. Look at your eight versions: what do they share?",
        },
        key=lambda percent: (
            "nearly all" if percent > 75 else "about half" if percent > 25 else "next to none"
        ),
    ),
    "03.q10": Question(
        "You draw the features of digits it has never seen, 5 to 9, in a plane. How do the digits lie?",
        ("all mixed up", "in clumps that overlap", "in five islands far apart"),
        {
            "all mixed up": "That is how it looks with random weights. The pretrained filters measure strokes and bends, and "
            "those are in the new digits too.",
            "in five islands far apart": "That is how the digits would lie that it was trained on. Nobody asked it to part "
            "these.",
        },
        key="in clumps that overlap",
    ),
    "03.q11": Question(
        "Everything is frozen, `backward()` raises an error. You write `loss.requires_grad = True` before it. What does the "
        "loss do in the next five steps?",
        ("it falls", "it stays the same", "an error"),
        {
            "it falls": "No weight gets a gradient: nothing leads from the loss to any of them.",
            "an error": "The error is gone. That is the trouble: the cause is still there.",
        },
        key=either(lambda losses: len(set(losses)) == 1, "it stays the same", "it falls"),
    ),
    "03.q12": Question(
        "50 images, 60 epochs of training the head on stored features. How many images run through the frozen body?",
        because={
            "3000": "That is without stored features: 50 images in each of 60 epochs.",
            "0": "Once they have to: the features come from somewhere.",
            "60": "That is the number of epochs. Images are counted.",
        },
        kind="number",
    ),
    "03.q13": Question(
        "A weight is frozen, its `.grad` is zero (not None), and the optimizer goes on. When does the weight still move?",
        ("never", "with momentum", "with momentum and with weight decay", "always"),
        {
            "never": "The optimizer does not look at requires_grad. It steps whatever has a .grad, and zero is one.",
            "with momentum": "Momentum is one. Weight decay pulls the weight towards zero, whatever the gradient is.",
            "always": "Plain SGD subtracts the rate times zero.",
        },
        key=lambda paths: " and ".join(
            f"with {name.split(',')[0]}" for name, path in paths.items() if path[3] != path[-1]
        ),
    ),
    "03.q14": Question(
        "Training mode with `momentum = 0` in every batch normalisation. Does an image get the same answer in two different "
        "batches?",
        ("yes", "no", "yes, if the batches are equally large"),
        {
            "yes": "The averages stay, but in training mode they are not used: the layer normalises by the batch at hand.",
            "yes, if the batches are equally large": "Size is not what counts: each batch has a mean and a spread of its own.",
        },
        key=either(lambda same: same, "yes", "no"),
    ),
    "03.q15": Question(
        "The optimizer was built for the head alone. Then `layer3` is unfrozen. Which layers move in the next steps?",
        ("the head and layer3", "the head only", "all"),
        {
            "the head and layer3": "It has gradients, but the optimizer was never given its parameters. It steps what it knows.",
            "all": "The others are frozen, and the optimizer has never heard of them.",
        },
        key=either(lambda moved: moved == "fc", "the head only", "the head and layer3"),
    ),
    "03.q16": Question(
        "A 3x3 convolution from 64 to 64 channels has 36,864 numbers. How many does an adapter of rank 8 train?",
        because={
            "4608": "That is A, with its 8 channels of 64 · 3 · 3 numbers. B has 64 · 8 more.",
            "512": "That is B alone. A is a 3x3 convolution from 64 to 8 channels.",
            "1024": "A is as wide as the convolution: 64 · 3 · 3 numbers for each of its 8 rows.",
            "36864": "These stay frozen.",
        },
        kind="number",
    ),
    "03.q17": Question(
        "Ten images of each new digit. Which will be best on the test images?",
        ("training from scratch", "training the head alone", "training all layers"),
        {
            "training from scratch": "Fifty images are too few to learn strokes and digits.",
            "training the head alone": "It often is, when the body knows much more than the task needs. This body knows five "
            "digits: it has to change.",
        },
        key=best_way,
    ),
    "03.q18": Question(
        "And the head alone, compared with training from scratch?",
        (
            "worse",
            "better, by less than full fine-tuning",
            "better, by as much as full fine-tuning",
        ),
        {
            "worse": "The features of a body that knows other digits are better than what fifty images teach.",
            "better, by as much as full fine-tuning": "The clumps of extension A overlap, and a head draws straight borders.",
        },
        key=either(
            lambda mean: mean["from scratch"] < mean["head only"] < mean["full"],
            "better, by less than full fine-tuning",
            "worse",
        ),
    ),
    "03.q19": Question(
        "The head is trained for 400 epochs. The training loss falls to the end. What does the validation loss do?",
        ("it falls to the end", "it falls, then rises", "it rises from the start"),
        {
            "it falls to the end": "The head goes on learning, but what it learns is peculiar to the fifty images.",
            "it rises from the start": "At first it learns what all images of a digit share.",
        },
        key=either(lambda best: 0 < best < 100, "it falls, then rises", "it falls to the end"),
    ),
    "03.q20": Question(
        "A file with a head for 5 classes, a network with 10, `load_state_dict(state, strict=False)`. What happens?",
        ("all but the head is loaded", "everything is loaded", "an error"),
        {
            "all but the head is loaded": "strict=False forgives missing and unknown names. The name of the head is known, its "
            "size is wrong.",
            "everything is loaded": "A weight with five rows cannot be put into one with ten.",
        },
    ),
    "03.q21": Question(
        "You load the weights of a checkpoint and go on with a fresh optimizer that has momentum. Are the next steps those "
        "of the training that was not interrupted?",
        ("yes", "no, other steps", "only the first step differs"),
        {
            "yes": "The weights are the same. The momentum of the fresh optimizer starts at zero.",
            "only the first step differs": "Each step starts where the last one ended, and the momentum goes on missing for a while: what "
            "differs once goes on to differ.",
        },
        key=either(lambda same: same, "yes", "no, other steps"),
    ),
    "03.q22": Question(
        "A convolution with a bias, batch normalisation behind it, in training mode. Which gradient does the bias get?",
        ("one like that of the weight", "zero, up to rounding", "None"),
        {
            "one like that of the weight": "The bias shifts a whole channel, and the normalisation subtracts the "
            "mean of the channel.",
            "None": "Something does arrive: numbers that cancel. None would mean that nothing came at all.",
        },
        key=either(lambda part: part < 1e-2, "zero, up to rounding", "one like that of the weight"),
    ),
    "03.q23": Question(
        "Twenty layers with tanh. Each gets a shortcut: its input is added to its result. What becomes of the "
        "gradient of the first layer?",
        ("about the same", "smaller, it is shared", "much larger"),
        {
            "about the same": "Without shortcuts it is a product of twenty factors, most below 1. The shortcut "
            "adds 1 to each.",
            "smaller, it is shared": "A sum does not share: it hands the whole gradient to each of its operands.",
        },
        key=either(lambda ratio: ratio > 10, "much larger", "about the same"),
    ),
    "03.q24": Question(
        "ResNet-18 has 512 features and gets a new head for five classes. How many numbers are trained?",
        because={
            "2560": "The weight has 512 · 5 numbers. The bias has five more.",
            "512": "There are 512 for each of the five classes, and the bias.",
        },
        kind="number",
    ),
    "03.q25": Question(
        "Three layers, `y = c(b(a(x)))`, and one of these is done to `b`: `requires_grad = False`, `eval()`, "
        "`no_grad()`, `detach()`. With "
        "which of them does `a` still get a gradient?",
        (
            "with `requires_grad = False` and `eval()`",
            "with `eval()` only",
            "with all but `detach()`",
            "with none of them",
        ),
        {
            "with `eval()` only": "A frozen b wants no gradient for its own weights. The gradient of its input "
            "goes on to a.",
            "with all but `detach()`": "Under no_grad() no node is recorded for b, so nothing leads on to a: the "
            "path is cut there, too.",
            "with none of them": "Two of them leave the path as it is: one concerns b's own weights, and one "
            "concerns no gradient at all.",
        },
        key=either(
            lambda ways: ways == ["nothing", "requires_grad = False", "eval()"],
            "with `requires_grad = False` and `eval()`",
            "with none of them",
        ),
    ),
    "03.q26": Question(
        "All parameters are frozen, the network is in evaluation mode, and the image has `requires_grad=True`. "
        "Do its pixels get a gradient?",
        ("yes", "no, all that leads to them is frozen", "no, not in evaluation mode"),
        {
            "no, all that leads to them is frozen": "A frozen layer wants no gradient for itself. It hands on "
            "that of its input, and the first input is the image.",
            "no, not in evaluation mode": "eval() changes how some layers compute. What is recorded, and who gets "
            "a gradient, it does not touch.",
        },
        key=either(lambda arrived: arrived, "yes", "no, all that leads to them is frozen"),
    ),
    "03.q27": Question(
        "`gradual()` gives the optimizer all parameters, with momentum and weight decay, and unfreezes "
        "`conv1` in epoch 28. Do its weights shrink before?",
        ("no", "yes, by the weight decay", "yes, by weight decay and momentum"),
        {
            "yes, by the weight decay": "Weight decay is a part of the step, and a parameter whose .grad is None "
            "is left out of the step.",
            "yes, by weight decay and momentum": "Both are parts of the step, and a parameter whose .grad is None "
            "is left out of the step.",
        },
        key=either(lambda still: still, "no", "yes, by the weight decay"),
    ),
    "03.q28": Question(
        "Somebody wants the body to learn as well, and writes `train_x.requires_grad_()`, of the stored "
        "features. What gets a gradient now that got none?",
        ("the body", "the features, and nothing else", "nothing"),
        {
            "the body": "The features were computed under no_grad(). No node leads from them to any weight, and a "
            "flag makes none.",
            "nothing": "The flag makes the features a leaf that wants a gradient, and the head leads to them.",
        },
        key=either(
            lambda body, features: features and not body,
            "the features, and nothing else",
            "the body",
        ),
    ),
    "03.q29": Question(
        "The head is trained for two epochs on features that were computed once: (a) under no_grad(), or (b) with the graph of the body. "
        "Where does the second backward() fail?",
        ("only in (b)", "in both", "in neither"),
        {
            "in both": "Each epoch makes a new graph from the features to the loss. What is used twice in (a) is data, not a graph.",
            "in neither": "In (b) the second pass goes on into the body, by the graph of the first epoch, and what was saved there is freed.",
        },
        key=either(
            lambda found: found[0] == "works" and found[1] != "works", "only in (b)", "in both"
        ),
    ),
    "03.q30": Question(
        "`one.fc.weight += two.fc.weight`, where both are trained parameters. What happens?",
        ("the weight is the sum", "an error", "nothing, the old weight stays"),
        {
            "the weight is the sum": "It is a leaf that wants a gradient: a change in place would make it the result of an operation.",
            "nothing, the old weight stays": "That is what `w = w + …` would do to whoever else holds w. In place it is refused.",
        },
    ),
    "03.q31": Question(
        "`state = keeper.state_dict()` after epoch 4, and five more epochs. Which weights are in `state` now?",
        ("those of epoch 4", "those of the last epoch", "none, they are freed"),
        {
            "those of epoch 4": "The entries share the memory of the network, and each step changes that.",
            "none, they are freed": "What is still held by a name is not freed.",
        },
        key=either(lambda same: same, "those of epoch 4", "those of the last epoch"),
    ),
    "03.q32": Question(
        "`kept.append(loss)`, in each of ten epochs. How many of the ten losses still hold a graph at the end?",
        ("all ten", "the last", "none, backward() ran"),
        {
            "the last": "Each was computed anew, so each is the end of a graph of its own, and the list holds them all.",
            "none, backward() ran": "backward() frees what the nodes saved. The nodes live as long as the loss does.",
        },
        key=lambda count: {0: "none, backward() ran", 1: "the last"}.get(count, "all ten"),
    ),
    "03.q33": Question(
        '`bias.to("cuda")` alone in a line, and `moved = weight.to("cuda")`. Which of `bias` and `moved` can NumPy read afterwards?',
        ("only bias", "both", "neither"),
        {
            "both": "NumPy reads no memory of a GPU by itself: `moved.cpu()` first.",
            "neither": "`to` of a tensor gives another tensor. bias is where it was: nobody kept what came out.",
        },
        key=either(lambda found: found == (True, False), "only bias", "both"),
    ),
    "03.q34": Question(
        '`weight` is a leaf, `moved = weight.to("cuda")`, then `moved.sum().backward()`. Whose `.grad` is filled?',
        ("that of weight", "that of moved", "that of both"),
        {
            "that of moved": "moved is the result of an operation, the copy. The gradient goes on to the leaf.",
            "that of both": "Only leaves keep theirs, and moved is none.",
        },
        key=either(lambda grad: grad is not None, "that of weight", "that of moved"),
    ),
    "03.q35": Question(
        "A convolution, a batch normalisation, and a ReLU that overwrites its result in place. Does backward() fail?",
        ("no", "yes, a saved tensor was changed", "only in training mode"),
        {
            "yes, a saved tensor was changed": "What was changed is the result of the batch normalisation. That saved its input.",
            "only in training mode": "What is saved is the same in both modes: the input of the normalisation.",
        },
        key=either(lambda works: works, "no", "yes, a saved tensor was changed"),
    ),
    "03.q36": Question(
        "A clock on the host is read right before and right after `layer(rows)`, which runs on a GPU. What has it measured?",
        ("how long the launch takes", "how long the layer takes", "launch and layer together"),
        {
            "how long the layer takes": "Nobody waited for it: the host went on while the GPU computed. Call synchronize() before each look.",
            "launch and layer together": "The host waits for the launch alone. Call synchronize() before each look at the clock.",
        },
        key=either(
            lambda said, done: said < done / 5,
            "how long the launch takes",
            "launch and layer together",
        ),
    ),
}

WORDS = {
    "03.w1": Words(
        "The loss falls, and yet the new head never moves. How can that be, and what would you look at first?",
        "The optimizer holds the tensors that it was given, and the head came later. The body learns to live "
        "with a random head, so the loss "
        "falls. Look at what the optimizer has, or at which weights changed.",
    ),
    "03.w2": Words(
        "A friend calls `b.eval()` to freeze a layer, and runs it under `no_grad()` to be sure. What do you say?",
        "eval() changes how some layers compute, and no gradient. no_grad() cuts the path, so the layers "
        "before learn nothing either. To freeze b, set "
        "requires_grad of its parameters to False: b stands still, and the gradient goes through it.",
    ),
    "03.w3": Words(
        "Why is a network whose parameters are all frozen not at rest in training mode?",
        "Running mean and variance are buffers, not parameters. The forward pass moves them, without a "
        "gradient and without an optimizer. Only "
        "evaluation mode leaves them alone, and uses them.",
    ),
    "03.w4": Words(
        "Why is the error gone, and nothing learnt, after `loss.requires_grad = True`?",
        "The flag makes the loss a leaf, which wants a gradient and gets it: 1, for itself. No node leads from "
        "it to a weight. The error said that no "
        "trained parameter was used, and that is still so.",
    ),
    "03.w5": Words(
        "What has to be so that no optimizer moves a weight, whatever its settings?",
        "Its .grad is None and stays None, or the optimizer does not have it. Zero is a gradient like any "
        "other: with it, momentum "
        "rolls on and weight decay pulls.",
    ),
}
