"""The predictions of lesson 3, asked before anything runs. `because` answers a wrong prediction, after the reveal."""

from typing import Any

from ..question import Question, Words, either


def best_way(mean: dict[str, Any]) -> str:
    """Return the choice that names the best way of training. Several ways train all layers."""
    best = max(mean, key=mean.__getitem__)
    few = {"head only": "training the head alone", "from scratch": "training from scratch"}
    return few.get(best, "training all layers")


QUESTIONS = {
    "03.q1": Question(
        "The network knows the digits 0 to 4, and we show it the digits 5 to 9. What does it answer?",
        (
            "that it is none of them",
            "one of 0 to 4, mostly with confidence",
            "one of 0 to 4, each with about 20 %",
        ),
        {
            "that it is none of them": "The network can't give this answer, because every output stands for a digit and "
            "the probabilities add up to 1.",
            "one of 0 to 4, each with about 20 %": "Softmax would do this only if the five scores were about equal. In "
            "fact one score is usually much larger than the others.",
        },
        key="one of 0 to 4, mostly with confidence",
    ),
    "03.q2": Question(
        "A new head for ten classes starts with small random weights. About how large is the cross-entropy loss before "
        "any training?",
        ("near 0", "about 2.3", "about 10", "above 20"),
        {
            "near 0": "A loss near 0 would mean that the network is certain and right, but it hasn't learned anything yet.",
            "about 10": "The loss is not the number of classes, but its logarithm, because each class gets about a tenth.",
            "above 20": "The loss would be that large if the right class had a probability near zero. The new weights are "
            "small, so every class gets about a tenth.",
        },
        key="about 2.3",
    ),
    "03.q3": Question(
        "An optimizer is built with `model.parameters()`, and then `model.fc` is replaced. After three steps the loss "
        "is smaller. Which layers have changed?",
        ("all", "all but the new head", "only the new head", "none"),
        {
            "all": "The new head has new parameters, and the optimizer was never given them. A falling loss shows that "
            "something learns, but not that every layer does.",
            "only the new head": "It is the other way round, because the optimizer holds every layer except the new head.",
            "none": "If no layer had changed, the loss would be the same. The optimizer still holds the body.",
        },
        key=either(
            lambda moved: "fc" not in moved and "conv1" in moved, "all but the new head", "none"
        ),
    ),
    "03.q4": Question(
        "You freeze only `layer2`, which is in the middle of the network. Which layers have a gradient after "
        "`backward()`?",
        ("only those after layer2", "only those before layer2", "all but layer2", "none"),
        {
            "only those after layer2": "A frozen layer computes no gradient for its weights. But it still passes the "
            "gradient of its input on to the layers before it.",
            "only those before layer2": "The backward pass reaches the layers after layer2 first, and they are not frozen.",
            "none": "Many weights are not frozen, and the loss depends on them.",
        },
        key=either(lambda got: "layer2" not in got and "conv1" in got, "all but layer2", "none"),
    ),
    "03.q6": Question(
        "All parameters are frozen. Thirty batches of new digits run through the network in training mode, under "
        "no_grad(). Then the network is switched to evaluation mode and tested on the old digits. Has its loss on them "
        "changed?",
        ("yes", "no, because all parameters are frozen", "no, because it ran under no_grad()"),
        {
            "no, because all parameters are frozen": "The weights are indeed the same. But the running mean and variance "
            "are buffers, not parameters, and the forward pass updates them in training mode.",
            "no, because it ran under no_grad()": "no_grad() only stops the recording of the graph. The forward pass "
            "updates the running mean and variance anyway, and evaluation mode uses them.",
        },
        key=either(
            lambda losses: losses[-1] > 2 * losses[0],
            "yes",
            "no, because all parameters are frozen",
        ),
    ),
    "03.q7": Question(
        "The network read nearly all of the digits 0 to 4. How many of them does it still read after twenty epochs with "
        "fifty images of the digits 5 to 9?",
        ("nearly all", "about half", "next to none"),
        {
            "nearly all": "Nothing in these batches required that a 3 is still read as a 3, and every step pushed its "
            "output down.",
            "about half": "It is less than that, because every image pushed the outputs for 0 to 4 down.",
        },
        key=either(lambda percent: percent < 20, "next to none", "about half"),
    ),
    "03.q8": Question(
        "We repeat the training, but this time the batches also contain ten images of each old digit. How many of the "
        "digits 0 to 4 does the network read afterwards?",
        ("next to none", "about a quarter", "most of them"),
        {
            "next to none": "Fifty images are few if a network has to learn the digits from them. But they are enough to "
            "keep what it already knows.",
            "about a quarter": "It is more than that, because the old images don't have to teach the digits again. They "
            "only raise the loss when a step would destroy what the network knows.",
        },
        key=either(lambda percent: percent > 60, "most of them", "about a quarter"),
    ),
    "03.q9": Question(
        "The network is trained with eight versions of your digit. How many of fifty other versions, which are rotated "
        "and shifted differently, does it read?",
        ("next to none", "about half", "nearly all"),
        {
            "next to none": "This would happen if the network learned the eight versions by heart. But it also has ten "
            "images of the same digit, and features that change little when an image is shifted by a pixel.",
            "about half": "This can happen if your digit looks very different from the other images. Compare your eight "
            "versions with them: what do they share?",
        },
        key=lambda percent: (
            "nearly all" if percent > 75 else "about half" if percent > 25 else "next to none"
        ),
    ),
    "03.q10": Question(
        "You compute the features of the digits 5 to 9, which the network has never seen, and draw them in a plane. How "
        "do the digits lie?",
        ("all mixed up", "in clumps that overlap", "in five islands far apart"),
        {
            "all mixed up": "This is how they lie with random weights. The pretrained filters measure strokes and curves, "
            "and these occur in the new digits too.",
            "in five islands far apart": "The digits of the training would lie like this. But the network was never "
            "trained to separate the new digits.",
        },
        key="in clumps that overlap",
    ),
    "03.q11": Question(
        "Everything is frozen, so `backward()` raises an error. You write `loss.requires_grad = True` before it. What "
        "does the loss do in the next five steps?",
        ("it falls", "it stays the same", "an error"),
        {
            "it falls": "No weight gets a gradient, because no path leads from the loss to any of them.",
            "an error": "The error is gone, but its cause is still there. That is what makes this line dangerous.",
        },
        key=either(lambda losses: len(set(losses)) == 1, "it stays the same", "it falls"),
    ),
    "03.q12": Question(
        "You train the head on stored features, with 50 images and for 60 epochs. How many images run through the "
        "frozen body altogether?",
        because={
            "3000": "Without stored features it would be 3000, because each of the 60 epochs would run all 50 images. But "
            "here the features are stored.",
            "0": "Each image has to run through the body once, because its features must be computed before they can be "
            "stored.",
            "60": "60 is the number of epochs, but the question is about images.",
        },
        kind="number",
    ),
    "03.q13": Question(
        "A weight is frozen, its `.grad` is zero (not None), and `optimizer.step()` is still called. In which cases "
        "does the weight still change?",
        ("never", "with momentum", "with momentum and with weight decay", "always"),
        {
            "never": "The optimizer doesn't look at requires_grad. It updates every parameter that has a .grad, and a "
            "gradient of zero counts.",
            "with momentum": "Momentum is one case. Weight decay is another, because it pulls the weight towards zero "
            "whatever the gradient is.",
            "always": "Plain SGD subtracts the rate times zero, so it changes nothing.",
        },
        key=lambda paths: " and ".join(
            f"with {name.split(',')[0]}" for name, path in paths.items() if path[3] != path[-1]
        ),
    ),
    "03.q14": Question(
        "The network is in training mode, and every batch normalisation has `momentum = 0`. Does an image get the same "
        "answer in two different batches?",
        ("yes", "no", "yes, if the batches are equally large"),
        {
            "yes": "The averages stay as they are, but training mode doesn't use them. The layer normalises with the "
            "current batch instead.",
            "yes, if the batches are equally large": "The size doesn't matter, because each batch has its own mean and "
            "variance.",
        },
        key=either(lambda same: same, "yes", "no"),
    ),
    "03.q15": Question(
        "The optimizer was built for the head alone. Then you unfreeze `layer3`. Which layers change in the next steps?",
        ("the head and layer3", "the head only", "all"),
        {
            "the head and layer3": "layer3 does get gradients. But the optimizer was never given its parameters, so it "
            "doesn't update them.",
            "all": "The other layers are frozen, and the optimizer was never given them either.",
        },
        key=either(lambda moved: moved == "fc", "the head only", "the head and layer3"),
    ),
    "03.q16": Question(
        "A 3x3 convolution from 64 to 64 channels has 36,864 numbers. How many numbers does an adapter of rank 8 train "
        "instead?",
        because={
            "4608": "These are the numbers of A, which has 8 channels of 64 · 3 · 3 numbers each. B adds 64 · 8 more.",
            "512": "These are the numbers of B alone. A is a 3x3 convolution from 64 to 8 channels, so it has many more.",
            "1024": "You counted 64 numbers for each of the 8 rows of A. But A is a 3x3 convolution, so each row has "
            "64 · 3 · 3 numbers.",
            "36864": "These are the numbers of the convolution itself, and they stay frozen.",
        },
        kind="number",
    ),
    "03.q17": Question(
        "You have ten images of each new digit. Which way of training gives the best result on the test images?",
        ("training from scratch", "training the head alone", "training all layers"),
        {
            "training from scratch": "Fifty images are too few to learn both strokes and digits.",
            "training the head alone": "This is often the best way if the body knows much more than the task needs. But "
            "this body knows only five digits, so it has to change.",
        },
        key=best_way,
    ),
    "03.q18": Question(
        "How does training the head alone compare with training from scratch?",
        (
            "worse",
            "better, by less than full fine-tuning",
            "better, by as much as full fine-tuning",
        ),
        {
            "worse": "The body was trained on other digits, but its features are still better than what fifty images can "
            "teach.",
            "better, by as much as full fine-tuning": "The features of the new digits overlap, and a head can only draw "
            "straight borders between them.",
        },
        key=either(
            lambda mean: mean["from scratch"] < mean["head only"] < mean["full"],
            "better, by less than full fine-tuning",
            "worse",
        ),
    ),
    "03.q19": Question(
        "The head is trained for 400 epochs, and the training loss falls until the end. What does the validation loss "
        "do?",
        ("it falls to the end", "it falls, then rises", "it rises from the start"),
        {
            "it falls to the end": "The head goes on learning, but what it learns late is only true of the fifty training "
            "images.",
            "it rises from the start": "It falls at first, because the head first learns what all images of a digit have in common.",
        },
        key=either(lambda best: 0 < best < 100, "it falls, then rises", "it falls to the end"),
    ),
    "03.q20": Question(
        "A file contains a head for 5 classes, and the network has a head for 10. You call `load_state_dict(state, "
        "strict=False)`. What happens?",
        ("all but the head is loaded", "everything is loaded", "an error"),
        {
            "all but the head is loaded": "strict=False only accepts missing and unknown names. The head has a known name, "
            "but its size is wrong.",
            "everything is loaded": "A weight with five rows doesn't fit into a weight with ten rows.",
        },
    ),
    "03.q21": Question(
        "You load the weights from a checkpoint and continue with a new optimizer that uses momentum. Are the next steps "
        "the same as in a training that was never interrupted?",
        ("yes", "no, all of them differ", "only the first step differs"),
        {
            "yes": "The weights are the same, but the momentum of the new optimizer starts at zero.",
            "only the first step differs": "Each step starts where the step before has ended. So if the first step "
            "differs, the later ones differ too.",
        },
        key=either(lambda same: same, "yes", "no, all of them differ"),
    ),
    "03.q22": Question(
        "A convolution with a bias is followed by batch normalisation in training mode. Which gradient does the bias "
        "get?",
        ("about as large as for the weight", "zero, up to rounding", "None"),
        {
            "about as large as for the weight": "The bias shifts a whole channel, but the normalisation subtracts the mean of "
            "the channel. So the shift has no effect.",
            "None": "A gradient does arrive, but its numbers cancel. None would mean that no gradient arrived at all.",
        },
        key=either(
            lambda part: part < 1e-2, "zero, up to rounding", "about as large as for the weight"
        ),
    ),
    "03.q23": Question(
        "A network has twenty layers with tanh. Now each layer gets a shortcut, that is, its input is added to its "
        "result. What happens to the gradient of the first layer?",
        ("it stays about the same", "it becomes smaller", "it becomes much larger"),
        {
            "it stays about the same": "Without shortcuts the gradient is a product of twenty factors, and most of them are below "
            "1. The shortcut adds 1 to each factor.",
            "it becomes smaller": "A sum doesn't divide the gradient. Instead it passes the whole gradient to each of "
            "its operands.",
        },
        key=either(lambda ratio: ratio > 10, "it becomes much larger", "it stays about the same"),
    ),
    "03.q24": Question(
        "ResNet-18 has 512 features, and its body is frozen. It gets a new head for five classes. How many numbers are "
        "trained?",
        because={
            "2560": "The weight has 512 · 5 numbers, but the bias has five more.",
            "512": "Each of the five classes has 512 weights, and the bias has five numbers more.",
        },
        kind="number",
    ),
    "03.q25": Question(
        "There are three layers, with `y = c(b(a(x)))`. One of these is applied to `b`: `eval()`, `no_grad()` or "
        "`detach()`. With which of them does `a` still get a gradient?",
        (
            "with `eval()` only",
            "with `eval()` and `no_grad()`",
            "with all three",
            "with none of them",
        ),
        {
            "with `eval()` and `no_grad()`": "Under no_grad() no node is recorded for b, so no path leads on to a. The "
            "path is cut there, as it is by detach().",
            "with all three": "no_grad() and detach() both cut the path, because no node leads from the result of b back "
            "to a.",
            "with none of them": "eval() changes how some layers compute their result. But everything is recorded as "
            "before, so the gradient reaches a.",
        },
        key=either(
            lambda ways: "eval()" in ways and "no_grad()" not in ways and "detach()" not in ways,
            "with `eval()` only",
            "with none of them",
        ),
    ),
    "03.q26": Question(
        "All parameters are frozen, the network is in evaluation mode, and the image has `requires_grad=True`. Do the "
        "pixels of the image get a gradient?",
        ("yes", "no, because all layers are frozen", "no, not in evaluation mode"),
        {
            "no, because all layers are frozen": "A frozen layer computes no gradient for its own weights. But it passes "
            "the gradient of its input on, and the input of the first layer is the image.",
            "no, not in evaluation mode": "eval() changes how some layers compute their result. It doesn't change what is "
            "recorded or which tensors get a gradient.",
        },
        key=either(lambda arrived: arrived, "yes", "no, because all layers are frozen"),
    ),
    "03.q27": Question(
        "`gradual()` gives all parameters to an optimizer with momentum and weight decay. `conv1` is unfrozen in epoch "
        "28. Do its weights shrink before that?",
        ("no", "yes, by the weight decay", "yes, by weight decay and momentum"),
        {
            "yes, by the weight decay": "Weight decay is part of the step, but the step skips every parameter whose .grad "
            "is None.",
            "yes, by weight decay and momentum": "Both are part of the step, but the step skips every parameter whose "
            ".grad is None.",
        },
        key=either(lambda still: still, "no", "yes, by the weight decay"),
    ),
    "03.q28": Question(
        "Suppose you want the body to learn from the stored features, so you write `train_x.requires_grad_()`. Which "
        "tensors get a gradient now that got none before?",
        ("the body", "the features, and nothing else", "nothing"),
        {
            "the body": "The features were computed under no_grad(). So no node leads from them to any weight, and "
            "setting a flag doesn't create one.",
            "nothing": "The flag turns the features into a leaf that requires a gradient, and the head leads to them.",
        },
        key=either(
            lambda body, features: features and not body,
            "the features, and nothing else",
            "the body",
        ),
    ),
    "03.q29": Question(
        "The head is trained for two epochs on features that were computed only once. In (a) they were computed under "
        "no_grad(), and in (b) with the graph of the body. Where does the second backward() fail?",
        ("only in (b)", "in both", "in neither"),
        {
            "in both": "Each epoch records a new graph from the features to the loss. What is used twice in (a) is data, "
            "not a graph.",
            "in neither": "In (b) the second backward pass continues into the body, through the graph that the first pass "
            "has used. The tensors saved there have been freed.",
        },
        key=either(
            lambda found: found[0] == "works" and found[1] != "works", "only in (b)", "in both"
        ),
    ),
    "03.q30": Question(
        "You write `one.fc.weight += two.fc.weight`, where both weights are trained parameters. What happens?",
        ("the weight is the sum", "an error", "nothing, the old weight stays"),
        {
            "the weight is the sum": "The weight is a leaf that requires a gradient. Changing it in place would turn it "
            "into the result of an operation, so PyTorch refuses.",
            "nothing, the old weight stays": "With `w = w + …` the network would keep its old weight. But `+=` changes the "
            "weight in place, and this raises an error.",
        },
    ),
    "03.q31": Question(
        "You write `state = keeper.state_dict()` after epoch 4, and then train for five more epochs. Which weights does "
        "`state` contain now?",
        ("the weights of epoch 4", "the weights of the last epoch", "none, because they are freed"),
        {
            "the weights of epoch 4": "The entries share their memory with the network, so each step changes them too.",
            "none, because they are freed": "A tensor isn't freed as long as a name refers to it.",
        },
        key=either(lambda same: same, "the weights of epoch 4", "the weights of the last epoch"),
    ),
    "03.q32": Question(
        "You call `kept.append(loss)` in each of ten epochs. How many of the ten losses still hold a graph at the end?",
        ("all ten", "only the last one", "none, because backward() has run"),
        {
            "only the last one": "Each epoch computes a new loss with its own graph, and the list holds all of them.",
            "none, because backward() has run": "backward() only frees the tensors that the nodes have saved. The nodes themselves "
            "live as long as the loss.",
        },
        key=lambda count: {0: "none, because backward() has run", 1: "only the last one"}.get(
            count, "all ten"
        ),
    ),
    "03.q33": Question(
        'One line says only `bias.to("cuda")`, and another says `moved = weight.to("cuda")`. Which of `bias` and `moved` '
        "can NumPy read afterwards?",
        ("only bias", "both", "neither"),
        {
            "both": "NumPy can't read the memory of a GPU, so you have to call `moved.cpu()` first.",
            "neither": "`to` returns a new tensor, but this line doesn't keep it. So bias is still where it was.",
        },
        key=either(lambda found: found == (True, False), "only bias", "both"),
    ),
    "03.q34": Question(
        '`weight` is a leaf. You write `moved = weight.to("cuda")` and then `moved.sum().backward()`. Which tensor gets '
        "a `.grad`?",
        ("weight", "moved", "both"),
        {
            "moved": "moved is the result of an operation, namely of the copy. So its gradient is passed on to the leaf.",
            "both": "Only leaves keep their gradient, and moved is not a leaf.",
        },
        key=either(lambda grad: grad is not None, "weight", "moved"),
    ),
    "03.q35": Question(
        "A convolution is followed by batch normalisation and by a ReLU that overwrites its input in place. Does "
        "backward() fail?",
        ("no", "yes, a saved tensor was changed", "only in training mode"),
        {
            "yes, a saved tensor was changed": "The ReLU changed the result of the batch normalisation. But the batch "
            "normalisation had saved its input instead.",
            "only in training mode": "Batch normalisation saves its input in both modes.",
        },
        key=either(lambda works: works, "no", "yes, a saved tensor was changed"),
    ),
    "03.q36": Question(
        "A clock on the host is read immediately before and after `layer(rows)`, which runs on a GPU. What has it "
        "measured?",
        ("how long the launch takes", "how long the layer takes", "launch and layer together"),
        {
            "how long the layer takes": "The host doesn't wait for the GPU. Call synchronize() each time before you read "
            "the clock.",
            "launch and layer together": "The host only waits for the launch. Call synchronize() each time before you read "
            "the clock.",
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
        "The loss falls, although the new head never changes. How is that possible, and what would you check first?",
        "The optimizer holds the tensors that it was given, and the new head came later. The loss falls because the body "
        "adapts to a random head. First check which parameters the optimizer holds, or which weights have changed.",
    ),
    "03.w2": Words(
        "A friend calls `b.eval()` to freeze a layer, and also runs it under `no_grad()` to be sure. What would you tell "
        "your friend?",
        "eval() changes how some layers compute, but it doesn't freeze anything. no_grad() cuts the path, so the layers "
        "before b learn nothing either. To freeze b, set requires_grad of its parameters to False. Then its weights stay "
        "as they are, and the gradient still flows through it.",
    ),
    "03.w3": Words(
        "Why can a network in training mode still change although all its parameters are frozen?",
        "The running mean and variance are buffers, not parameters. The forward pass updates them in training mode, "
        "without a gradient and without an optimizer. In evaluation mode they are used, but they don't change.",
    ),
    "03.w4": Words(
        "After `loss.requires_grad = True` the error is gone, but the network learns nothing. Why?",
        "The flag turns the loss into a leaf, so backward() only fills the gradient of the loss itself, with 1. No node "
        "leads from it to a weight. The error said that no trained parameter had been used, and this is still true.",
    ),
    "03.w5": Words(
        "How can you make sure that an optimizer doesn't change a weight, whatever its settings are?",
        "Either the optimizer doesn't hold the weight, or its .grad is None and stays None. A gradient of zero isn't "
        "enough, because momentum and weight decay change the weight anyway.",
    ),
}
