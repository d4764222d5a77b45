"""The predictions of lesson 4: asked before anything runs. `because` answers a wrong guess, after the reveal only."""

from __future__ import annotations

import numpy as np

from ..question import Question, either

QUESTIONS = {
    "04.q1": Question(
        "`y = a * b`, at a = 2 and b = 5. What is the local derivative of `y` by `a`?",
        because={
            "2": "That is a itself. If a rises by 0.1, y rises from 10 to 10.5: five times as much, which is b.",
            "1": "That is the rule for a sum. If a rises by 0.1, y rises by 0.5.",
            "10": "That is y. If a rises by 0.1, y rises by 0.5, not by 1.",
        },
        kind="number",
    ),
    "04.q2": Question(
        "`b = x * a`, `c = b * x`, `y = b + c`. Backward begins at `y`. Who may be next?",
        ("c", "b", "either of them"),
        {
            "b": "b waits for two shares: one from y, one from c. Sent too early, what b passes on is too small.",
            "either of them": "Both have a share from y. But b gets a second one, from c, and has to wait for it.",
        },
        key="c",
    ),
    "04.q3": Question(
        "`b = a * 4`, `c = b * 3`. What is the gradient of `c` by `a`?",
        because={
            "7": "Along a path slopes are multiplied: if a rises by 0.1, b rises by 0.4, and c by three times that.",
            "3": "That is the last step only, from b to c.",
            "4": "That is the first step only, from a to b.",
        },
        kind="number",
    ),
    "04.q4": Question(
        "`y = x * x` at x = 3, and a backward pass with `=` in the place of `+=`. What will `x.grad` be?",
        because={
            "6": "Right would be 6, 3 + 3. With = the second share replaces the first, and one of them is left.",
            "9": "That is y. Two shares of 3 arrive, and the second replaces the first.",
            "0": "Something arrives: 3, twice. The second replaces the first.",
        },
        kind="number",
    ),
    "04.q5": Question(
        "`y = b + b * x`, where right is `x.grad` = 25. Now every value passes on what it has as soon as something arrives. "
        "Then `x.grad` is …",
        ("larger than 25", "25", "smaller than 25"),
        {
            "25": "b passes on its first share at once, and its whole gradient, first share included, when the second comes.",
            "smaller than 25": "Nothing is lost here. b sends twice, and the first share is in both.",
        },
        key=either(lambda grad: grad > 25, "larger than 25", "smaller than 25"),
    ),
    "04.q6": Question(
        "A neuron is `tanh(w * x + b)`. At w = 2, b = 0 and x = 10, about what is its gradient by `w`?",
        ("0", "1", "10"),
        {
            "1": "tanh is flat at 20: its slope there is 0 up to 17 digits, and everything before it is multiplied by that.",
            "10": "That is x, the slope of w * x. It is multiplied by the slope of tanh, which is flat at 20.",
        },
        key=lambda grad: min(("0", "1", "10"), key=lambda text: abs(float(text) - grad)),
    ),
    "04.q7": Question(
        "`b` holds 3 numbers and is added to a table of 4 rows. The loss is the sum of the result. What is `b.grad`?",
        ("[4., 4., 4.]", "[1., 1., 1.]", "4 rows of ones", "12"),
        {
            "[1., 1., 1.]": "Each number of b is used in 4 rows: four paths, and paths add up.",
            "4 rows of ones": "That is what arrives. A gradient has the shape of its value: the rows are summed.",
            "12": "A gradient has one number for each number of b.",
        },
        key=lambda grad: "[4., 4., 4.]" if np.array_equal(grad, [4, 4, 4]) else str(grad),
    ),
    "04.q8": Question(
        "To find the gradient of one number without your engine, you raise it a little and run the network again. "
        "How many runs for all 3,340 numbers?",
        ("1", "100", "3,340"),
        {
            "1": "That is what your engine needs: one run forward, one back. Without it each number needs a run of its own.",
            "100": "Each number needs a run of its own, and there are 3,340.",
        },
        key="3,340",
    ),
    "04.q9": Question(
        "A loop steps the list `trained = [a, b, c]`; each step takes along 0.9 of the step before. After the first step `c` is exchanged "
        "for a new number, and the gradient of `a` is set to 0. Which of a, b and c does the second step move?",
        ("a and b", "only b", "b and c", "all three"),
        {
            "only b": "A gradient of 0 is a number like any other: 0.9 of a's last step is still taken.",
            "b and c": "The list has the old c, and nobody told it of the new one. And a rolls on: 0.9 of its last step is taken.",
            "all three": "The list has the old c. It is stepped, and nobody uses it any more.",
        },
        key=either(lambda moved: moved == ["a", "b"], "a and b", "all three"),
    ),
    "04.q10": Question(
        "`h1 = first(x)`, `h2 = second(h1)`, `h3 = third(h2)`. `second` is frozen and in evaluation mode. Which of the three results have a node?",
        ("all three", "h1 and h3", "h3 only"),
        {
            "h1 and h3": "h2 depends on h1, which wants a gradient, so it is recorded, whoever computes it. Without its node h1 would be cut off.",
            "h3 only": "A node is recorded when one of the inputs wants a gradient. The weights of first do, so h1 does, so h2 does.",
        },
        key=either(lambda recorded: recorded == ["1", "2", "3"], "all three", "h1 and h3"),
    ),
    "04.q11": Question(
        "`loss = w * w`, then `loss = Value(loss.data)`, then `loss.backward()`. What has a gradient other than 0?",
        ("only the new loss", "w and the loss", "nothing"),
        {
            "w and the loss": "The new Value has no parents. It is a number that remembers nothing, and no walk leads from it to w.",
            "nothing": "Backward begins with 1 at the result, whatever it is: that is the gradient of the new loss, for itself.",
        },
        key=either(lambda loss, w: loss == 1 and w == 0, "only the new loss", "w and the loss"),
    ),
    "04.q12": Question(
        "A layer without parameters subtracts a running mean: `mean = 0.9 * mean + 0.1 * x.mean()`, in its forward. Ten batches run through, "
        "nobody calls backward. Does it answer the last one as the first, if they are equal?",
        ("no", "yes, nothing was trained", "yes, it has no parameters"),
        {
            "yes, nothing was trained": "No step was made, and still something moved: forward itself changes the mean.",
            "yes, it has no parameters": "The mean is none, and moves all the same: forward changes it.",
        },
        key=either(lambda same: same, "yes, nothing was trained", "no"),
    ),
    "04.q13": Question(
        "`e = Value(np.exp(w.data))`, and `y = e * w`, at w = 1. What is `w.grad` after `y.backward()`?",
        ("2.718, which is e", "5.437, which is 2e", "0"),
        {
            "5.437, which is 2e": "So it would be with a node for exp. This e has no parents, whoever computed it: one of the two paths is missing.",
            "0": "One path is there: y = e * w, and by w its slope is e.",
        },
        key=either(lambda grad: abs(grad - np.e) < 0.01, "2.718, which is e", "5.437, which is 2e"),
    ),
    "04.q14": Question(
        "`root = sqrt(x)`, with a node and the local derivative 1 / (2 sqrt(x)); `y = mask * root`. x = [0., 4.], mask = [0., 1.]. What is `x.grad`?",
        ("[nan, 0.25]", "[0, 0.25]", "[inf, 0.25]"),
        {
            "[0, 0.25]": "The mask sends 0 into the root. There 0 is multiplied by infinity, and that is NaN.",
            "[inf, 0.25]": "The local derivative is infinite, and what arrives is 0. 0 times infinity is NaN.",
        },
        key=lambda grad: "[nan, 0.25]" if np.isnan(grad[0]) else "[0, 0.25]",
    ),
    "04.q15": Question(
        "`y = v * v`, with v = [1., 2., 3.]. Your `backward()` begins with ones. It is called for `y * Value([0., 0., 10.])`. What is `v.grad`?",
        ("[0., 0., 60.]", "[20., 40., 60.]", "[0., 0., 10.]"),
        {
            "[20., 40., 60.]": "The 10 belongs to the third number alone; the others are multiplied by 0. So it is with gradient= in PyTorch.",
            "[0., 0., 10.]": "That arrives at y. The way on to v multiplies it by 2 v, here 6.",
        },
        key=lambda grad: str([float(g) for g in grad]).replace(".0", "."),
    ),
}
