"""The predictions of lesson 4, asked before anything runs. `because` answers a wrong prediction, after the reveal."""

from __future__ import annotations

import numpy as np

from ..question import Question, either

QUESTIONS = {
    "04.q1": Question(
        "`y = a * b` with a = 2 and b = 5. What is the local derivative of `y` with respect to `a`?",
        because={
            "2": "That is a itself. If a rises by 0.1, y rises from 10 to 10.5. That is five times as much, and 5 is b.",
            "1": "That is the rule for a sum. Here y rises by 0.5 if a rises by 0.1.",
            "10": "That is y. If a rises by 0.1, y rises by 0.5, not by 1.",
        },
        kind="number",
    ),
    "04.q2": Question(
        "`b = x * a`, `c = b * x` and `y = b + c`. The backward pass begins at `y`. Which Value can send its gradient next?",
        ("c", "b", "either of them"),
        {
            "b": "b has to wait for two contributions, one from y and one from c. If it sends too early, it sends too "
            "little.",
            "either of them": "Both have received a contribution from y. But b will receive a second one from c, so it "
            "has to wait.",
        },
        key="c",
    ),
    "04.q3": Question(
        "`b = a * 4` and `c = b * 3`. What is the gradient of `c` with respect to `a`?",
        because={
            "7": "Local derivatives along a path are multiplied, not added. If a rises by 0.1, b rises by 0.4, and c "
            "rises by three times that.",
            "3": "That is only the last step, from b to c.",
            "4": "That is only the first step, from a to b.",
        },
        kind="number",
    ),
    "04.q4": Question(
        "`y = x * x` with x = 3, and the backward pass uses `=` instead of `+=`. What will `x.grad` be?",
        because={
            "6": "6 = 3 + 3 would be correct. But with = the second contribution replaces the first, so only one of them "
            "is left.",
            "9": "That is y. Two contributions of 3 arrive, and the second replaces the first.",
            "0": "A contribution of 3 does arrive, even twice. The second replaces the first.",
        },
        kind="number",
    ),
    "04.q5": Question(
        "`y = b + b * x`, and the correct `x.grad` is 25. Now every Value sends what it has as soon as something arrives. "
        "What is `x.grad` then?",
        ("larger than 25", "25", "smaller than 25"),
        {
            "25": "b sends its first contribution at once. When the second one comes, b sends its whole gradient, which "
            "includes the first one again.",
            "smaller than 25": "Nothing is lost here. Instead, b sends twice, so its first contribution is counted twice.",
        },
        key=either(lambda grad: grad > 25, "larger than 25", "smaller than 25"),
    ),
    "04.q6": Question(
        "A neuron computes `tanh(w * x + b)` with w = 2, b = 0 and x = 10. About what is its gradient with respect to `w`?",
        ("0", "1", "10"),
        {
            "1": "tanh is flat at 20. Its slope there is zero to 16 decimal places, and everything before it is "
            "multiplied by that.",
            "10": "That is x, the derivative of w * x. But it is multiplied by the slope of tanh, and tanh is flat at 20.",
        },
        key=lambda grad: min(("0", "1", "10"), key=lambda text: abs(float(text) - grad)),
    ),
    "04.q7": Question(
        "`b` holds 3 numbers and is added to a table with 4 rows. The loss is the sum of the result. What is `b.grad`?",
        ("[4., 4., 4.]", "[1., 1., 1.]", "4 rows of ones", "12"),
        {
            "[1., 1., 1.]": "Each number of b is used in 4 rows. That makes four paths, and paths add up.",
            "4 rows of ones": "That is what arrives. But a gradient has the shape of its value, so the rows are summed.",
            "12": "A gradient has one number for each number of b.",
        },
        key=lambda grad: "[4., 4., 4.]" if np.array_equal(grad, [4, 4, 4]) else str(grad),
    ),
    "04.q8": Question(
        "Suppose you had no engine. You would run the network once, and then raise one number at a time a little, run the "
        "network again, and compare. How many runs would you need for all 3,340 numbers?",
        ("2", "3,341", "6,680"),
        {
            "2": "That is what your engine needs, because it goes forward once and back once. Without it, each number needs "
            "a run of its own.",
            "6,680": "You would need two runs for each number if you nudged it up and down, as in lesson 1. Here you compare "
            "with the first run, so one further run for each number is enough.",
        },
        key="3,341",
    ),
    "04.q9": Question(
        "A loop with momentum trains the Values in the list `[a, b, c]`, so each step also repeats 0.9 of the step before. "
        "After the first step you write `c = Value(3.0)`, and in the second step you set the gradient of `a` to 0. Which "
        "of `a`, `b` and `c` does the second step change?",
        ("a and b", "only b", "b and c", "all three"),
        {
            "only b": "A gradient of 0 is a number like any other. 0.9 of the last step of a is still repeated.",
            "b and c": "The list still holds the old c, so the new c stays as it is. And a still changes, because 0.9 of its "
            "last step is repeated.",
            "all three": "The list still holds the old c, so the loop changes the old c and not the new one.",
        },
        key=either(lambda moved: moved == ["a", "b"], "a and b", "all three"),
    ),
    "04.q10": Question(
        "Three layers compute `h1 = first(x)`, `h2 = second(h1)` and `h3 = third(h2)`. All of them are in evaluation mode, "
        "and `first` and `third` are frozen. Which of the three results have a node?",
        ("h2 and h3", "only h2", "none of them"),
        {
            "only h2": "A node is recorded as soon as one input requires a gradient. The weights of third don't, but its "
            "input h2 does.",
            "none of them": "eval() doesn't stop the recording. The weights of second require a gradient, so h2 gets a "
            "node.",
        },
        key=either(lambda recorded: recorded == ["h2", "h3"], "h2 and h3", "only h2"),
    ),
    "04.q11": Question(
        "You compute `loss = w * w`, then `loss = Value(loss.data)`, and then `loss.backward()`. Which Values have a gradient "
        "other than 0?",
        ("only the new loss", "w and the loss", "nothing"),
        {
            "w and the loss": "The new Value has no parents. It is a number without a history, so there is no path from it "
            "to w.",
            "nothing": "The backward pass starts with 1 at the result, and the new loss is the result.",
        },
        key=either(lambda loss, w: loss == 1 and w == 0, "only the new loss", "w and the loss"),
    ),
    "04.q12": Question(
        "A layer without parameters keeps a running mean of its batches, which starts at 0, and subtracts it from each "
        "batch. You give the layer the same batch ten times, and you never call backward. Is the tenth output equal to "
        "the first one?",
        ("no", "yes, because nothing is trained", "yes, because the batches are equal"),
        {
            "yes, because nothing is trained": "There is no training step. But the forward pass itself changes the running "
            "mean, so the layer subtracts more each time.",
            "yes, because the batches are equal": "The batches are equal, but the running mean is not. It starts at 0 and "
            "comes nearer to the mean of the batch each time.",
        },
        key=either(lambda same: same, "yes, because nothing is trained", "no"),
    ),
    "04.q13": Question(
        "`e = Value(np.exp(w.data))` and `y = e * w`, with w = 1. What is `w.grad` after `y.backward()`?",
        ("2.718, which is e", "5.437, which is 2e", "0"),
        {
            "5.437, which is 2e": "That would be correct if exp had left a node. But this e has no parents, so one of the "
            "two paths is missing.",
            "0": "One path is there: y = e * w, and its derivative with respect to w is e.",
        },
        key=either(lambda grad: abs(grad - np.e) < 0.01, "2.718, which is e", "5.437, which is 2e"),
    ),
    "04.q14": Question(
        "`root = sqrt(x)` has a node with the local derivative 1 / (2 sqrt(x)), and `y = mask * root`. x = [0., 4.] and "
        "mask = [0., 1.]. What is `x.grad`?",
        ("[nan, 0.25]", "[0, 0.25]", "[inf, 0.25]"),
        {
            "[0, 0.25]": "The mask sends a 0 into the root. There the 0 is multiplied by infinity, and the result is NaN.",
            "[inf, 0.25]": "The local derivative is infinite, but a 0 arrives. 0 times infinity is NaN.",
        },
        key=lambda grad: "[nan, 0.25]" if np.isnan(grad[0]) else "[0, 0.25]",
    ),
    "04.q15": Question(
        "`y = v * v` with v = [1., 2., 3.]. Your `backward()` starts with ones. You call it for `y * Value([0., 0., 10.])`. "
        "What is `v.grad`?",
        ("[0., 0., 60.]", "[20., 40., 60.]", "[0., 0., 10.]"),
        {
            "[20., 40., 60.]": "The 10 belongs to the third number alone, and the others are multiplied by 0. gradient= in "
            "PyTorch does the same.",
            "[0., 0., 10.]": "That is what arrives at y. On the way to v it is multiplied by 2 v, which is 6 here.",
        },
        key=lambda grad: str([float(g) for g in grad]).replace(".0", "."),
    ),
}
