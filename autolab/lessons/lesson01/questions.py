"""The predictions of lesson 1, asked before anything runs. `because` answers a wrong prediction, after the reveal."""

from __future__ import annotations

from ..question import Question, Words, either, which

ONE_OR_BOTH = which(both="both", one="only {}", none="neither")

QUESTIONS = {
    "01.q1": Question(
        "Suppose you measure the slope for each of the 78,010 parameters in this way. How often does the network have "
        "to compute its loss?",
        ("once", "78,010 times", "156,020 times"),
        {
            "once": "One computation gives you one loss. To measure a slope you have to compare two losses, and you "
            "have to do that for each parameter.",
            "78,010 times": "For each parameter you compute two losses, one with the nudge up and one with the nudge "
            "down. So it is twice as many.",
        },
        key="156,020 times",
    ),
    "01.q2": Question(
        "Which line makes the graph: line 1, which creates `x`, line 2, `z = x * x`, or line 3, `z.backward()`?",
        ("line 1", "line 2", "line 3"),
        {
            "line 1": "Line 1 only creates a tensor. Nothing has been computed from it yet, so there is nothing to record.",
            "line 3": "When backward() is called, the graph is already there, because each operation recorded itself when "
            "it ran.",
        },
        key="line 2",
    ),
    "01.q3": Question(
        "You write `v = torch.tensor([1., 2.], requires_grad=True) * 0.1` and then `v.sum().backward()`. What is "
        "`v.grad`?",
        ("[1., 1.]", "[0.1, 0.1]", "None"),
        {
            "[1., 1.]": "That gradient did arrive at v. But it was passed on and dropped, because v is not a leaf.",
            "[0.1, 0.1]": "That is the gradient of the tensor inside the brackets, which no longer has a name. v is the "
            "product of that tensor and 0.1.",
        },
    ),
    "01.q4": Question(
        "`y` starts as `x`, and then `y = y + y` runs 20 times. How many different paths lead from the last `y` back to "
        "`x`?",
        ("20", "40", "400", "1,048,576"),
        {
            "20": "There are 20 nodes, but each node offers two edges to go on.",
            "40": "There are 40 edges. But a path chooses one of two edges at each of the 20 nodes, so the choices "
            "multiply.",
            "400": "At each of the 20 nodes a path chooses one of two edges. That makes 2 times 2 times 2 and so on, 20 "
            "times.",
        },
    ),
    "01.q5": Question(
        "`x` is a leaf with `requires_grad=True`, and `backward()` has not been called yet. What is `x.grad`?",
        ("0", "None", "an error"),
        {
            "0": "A zero would claim that x has no influence on the result. Nothing has been computed yet, and None says "
            "exactly that.",
            "an error": "You can look at x.grad at any time. It just doesn't hold anything yet.",
        },
    ),
    "01.q6": Question(
        "x = 3. You compute `z = x * x` and call `z.backward()`. Then you compute `z` again and call `z.backward()` "
        "again. What is `x.grad` now?",
        ("6", "12", "36", "an error"),
        {
            "6": "backward() doesn't overwrite x.grad. It adds the new gradient to the old one.",
            "36": "The second gradient is added to the first one, not multiplied by it.",
            "an error": "The second z has a new graph of its own, so nothing is missing in it.",
        },
    ),
    "01.q7": Question(
        "x = 3, and two passes have left 12 in `x.grad`. Now `x.grad.zero_()` runs first, and after it the step "
        "`x -= 0.125 * x.grad`. What is `x`?",
        ("1.5", "2.25", "3"),
        {
            "1.5": "That would be a step with the gradient 12. But the gradient was cleared before the step could use it.",
            "2.25": "That would be a step with 6, the gradient of one pass. But clearing removes everything, not just the "
            "last part.",
        },
    ),
    "01.q8": Question(
        "w = 3. You compute `y = w.detach() * w` and call `y.backward()`. What is `w.grad`?",
        ("6", "3", "0", "None"),
        {
            "6": "Only one of the two paths is left, because the detached factor counts as a constant.",
            "0": "The second factor is still connected, so a gradient does arrive.",
            "None": "The second factor is still connected, so a gradient does arrive.",
        },
    ),
    "01.q9": Question(
        "A network has ten outputs for digits, and also a layer for letters that the loss doesn't use. You call "
        "`loss.backward()`. Which tensors then have a `.grad` that is not None?",
        (
            "only the weights that were used",
            "the weights that were used, and the intermediate results",
            "all weights",
            "all weights, and the intermediate results",
        ),
        {
            "the weights that were used, and the intermediate results": "Gradients arrive at intermediate results too, "
            "but they are passed on and dropped, because only leaves keep their gradients.",
            "all weights": "Then the layer for letters would hold a 0. But no gradient arrived there, so its .grad is "
            "None.",
            "all weights, and the intermediate results": "No gradient arrived at the layer for letters, and intermediate "
            "results don't keep their gradients.",
        },
        key=lambda filled: {
            "fc": "only the weights that were used",
            "fc scores": "the weights that were used, and the intermediate results",
            "fc letters": "all weights",
        }.get(" ".join(filled), "all weights, and the intermediate results"),
    ),
    "01.q10": Question(
        "You compute two losses with one network, call `backward()` for each, and don't clear anything in between. Then "
        "you take one step. Which loss does this step make smaller?",
        ("the second one", "their sum", "their mean", "none, because the second backward() fails"),
        {
            "the second one": "That would be true if backward() overwrote .grad. But it adds, so .grad contains both "
            "gradients.",
            "their mean": "For a mean, the sum would have to be divided by 2. But backward() only adds.",
            "none, because the second backward() fails": "Each loss has a graph of its own, so nothing is missing in the second "
            "one.",
        },
        key="their sum",
    ),
    "01.q11": Question(
        "Think of the two nodes for `x + y` and `x * y`. Which of them has to keep the values of `x` and `y` so that the "
        "gradients can be computed later?",
        ("both", "only x + y", "only x * y", "neither"),
        {
            "both": "The derivative of x + y is 1 with respect to both, whatever their values are. So this node needs "
            "nothing.",
            "only x + y": "The derivative of x + y is 1, whatever x and y are. The derivative of x * y with respect to x "
            "is y, so that node needs the values.",
            "neither": "The derivative of x * y with respect to x is y, so the value of y is needed later.",
        },
        key=lambda *two: ONE_OR_BOTH(
            [n for n, t in zip(("x + y", "x * y"), two) if hasattr(t.grad_fn, "_saved_other")]
        ),
    ),
    "01.q12": Question(
        "In the next cell `a` is an intermediate result. What is `a.grad` after `z.backward()`?",
        ("4", "None", "0"),
        {
            "4": "The gradient 4 did arrive at a, and was passed on. But it was not kept, because only leaves keep theirs.",
            "0": "A zero would mean that a has no influence on z. It does have one: its gradient was used and then dropped.",
        },
    ),
    "01.q13": Question(
        "You compute `h1 = w1 * x`, `h2 = w2 * h1` and `h3 = w3 * h2`, and `w2` is frozen with "
        "`w2.requires_grad = False`. Does `w1` still get a gradient?",
        ("yes", "no", "yes, but it is zero"),
        {
            "no": "If w2 is frozen, no gradient is computed for w2 itself. But the path from h3 through h2 and h1 to w1 "
            "is still there, and w2 is a factor on it.",
            "yes, but it is zero": "Nothing is multiplied by zero here. w2 stays a factor on the path, whether it is "
            "trained or not.",
        },
    ),
    "01.q14": Question(
        "w = 2, and `loss = (w * 3 - 1) ** 2` is computed under `no_grad()`. Because `loss.backward()` raises an "
        "error, you write `loss.requires_grad = True` before it. Now it runs. What is `w.grad`?",
        ("30", "None", "0"),
        {
            "30": "That would be the gradient if the operations between w and loss had been recorded. But under no_grad() they "
            "were not.",
            "0": "A zero would say that w has no influence on the loss. But backward() never reached w, so nothing was computed for it.",
        },
    ),
    "01.q15": Question(
        "w = 2. NumPy computes `e = np.exp(...)` from the numbers in `w`, and then `y = torch.tensor(e) * w`. The "
        "derivative of exp(w) * w is 22.1672. What is `w.grad` after `y.backward()`?",
        ("22.1672", "7.3891", "None", "an error"),
        {
            "22.1672": "The graph doesn't know what NumPy has computed. In the graph, e is a constant.",
            "None": "The factor w itself is still connected, so a gradient arrives.",
            "an error": "There is no error, because you took the numbers out yourself with detach().",
        },
    ),
    "01.q16": Question(
        "In each of three steps you compute a loss, write `losses.append(loss)`, and then `del loss`. How many graphs are "
        "in memory afterwards?",
        ("0", "1", "3"),
        {
            "0": "`del` removes a name, but the list still refers to each loss. A loss holds its node, and through it "
            "everything before it.",
            "1": "The list holds all three losses, not just the last one, and each of them holds its own graph.",
        },
    ),
    "01.q17": Question(
        "x = [1., 2., 3.] and `y = x * x`. What does `y.backward()` do?",
        ("x.grad = [2., 4., 6.]", "x.grad = 12.", "an error"),
        {
            "x.grad = [2., 4., 6.]": "That is the gradient of y.sum(). But y itself is three numbers, and you haven't "
            "said how much each of them counts.",
            "x.grad = 12.": "A gradient always has the shape of its tensor, which is three numbers here.",
        },
        key="an error",
    ),
    "01.q18": Question(
        "X has the shape (3, 2), and b is a single number. You call `(X + b).sum().backward()`. What is `b.grad`?",
        ("1", "6", "a (3, 2) tensor of ones"),
        {
            "1": "b was added in six places. Each of them is a path, and each path contributes 1.",
            "a (3, 2) tensor of ones": "The gradient that arrives does consist of six ones. But b is a single number, so its gradient is their sum.",
        },
    ),
    "01.q19": Question(
        "A layer adds its bias, which has 10 numbers, to each of 64 rows. You sum all results and call backward(). What "
        "is each number of `bias.grad`?",
        ("1", "10", "64", "640"),
        {
            "1": "Each number of the bias was used 64 times, once in each row, and each use contributes 1.",
            "10": "The bias has 10 numbers. But each of them was used once in each row, and there are 64 rows.",
            "640": "640 is the sum over the whole bias. Each of the 10 numbers only gets the contributions of its own "
            "column.",
        },
    ),
    "01.q20": Question(
        "`y = x`, and then `while y < 10: y = y * 2`. For x = 3, what is the derivative of y with respect to x?",
        ("1", "2", "4", "it has none, because of the loop"),
        {
            "1": "The loop ran twice, and each time it multiplied y by 2.",
            "2": "The loop ran twice, because y went from 3 to 6 and then to 12.",
            "it has none, because of the loop": "The graph contains what was computed, which is two multiplications here. "
            "The loop itself is not in the graph.",
        },
    ),
    "01.q21": Question(
        "x = 0 and `y = torch.where(x > 0, torch.sqrt(x), 0 * x)`, so the square root is not chosen. What is `x.grad` "
        "after backward()?",
        ("0", "nan", "inf"),
        {
            "0": "where() sends a 0 into the branch that was not chosen. There it is multiplied by the slope of the "
            "square root at 0, which is infinite, and 0 times infinity is NaN.",
            "inf": "The slope of the square root at 0 is infinite. But a 0 arrives there, and 0 times infinity is NaN.",
        },
    ),
    "01.q22": Question(
        "A probability p is 0, and `torch.where(p > 0, p.log(), torch.zeros(()))` should keep the logarithm out. What is "
        "`p.grad` after backward()?",
        ("0", "nan", "1"),
        {
            "0": "The branch that is not chosen is computed too. A 0 is multiplied by the slope of the logarithm at 0, "
            "which is infinite, so the result is NaN.",
            "1": "No branch with the slope 1 is left, because the other branch is a constant.",
        },
    ),
    "01.q23": Question(
        "You call backward() twice on the same result. For which of `y = x + 2` and `y = x * x` does the second call "
        "raise an error?",
        ("both", "only x + 2", "only x * x", "neither"),
        {
            "both": "x + 2 saved nothing, so nothing is missing in the second call.",
            "only x + 2": "x + 2 saved nothing, so nothing is missing in the second call. x * x is different, because it "
            "saved x.",
            "neither": "x * x saved its factors, and the first backward() freed them.",
        },
        key=ONE_OR_BOTH,
    ),
    "01.q24": Question(
        "Compare (1) `y = x * 2; y.add_(1)` and (2) `y = x.exp(); y.add_(1)`. After each, you call `y.sum().backward()`. "
        "Which one raises an error?",
        ("both", "only (1)", "only (2)", "neither"),
        {
            "both": "x * 2 doesn't need its result for the gradient, so you may change it.",
            "only (1)": "x * 2 doesn't need its result for the gradient, but exp does.",
            "neither": "exp saved its result for the backward pass, and add_ changed it.",
        },
        key=which(both="both", one="only ({})", none="neither"),
    ),
    "01.q25": Question(
        "`a` is a NumPy array of ones, and `t = torch.from_numpy(a)`. Then `a += 1` runs, and after that `a = a + 1`. "
        "Which numbers are in `t`?",
        ("ones", "twos", "threes"),
        {
            "ones": "t and a share their memory, and a += 1 writes into that memory.",
            "threes": "a = a + 1 creates a new array and gives it the name a. The memory that t uses stays as it was.",
        },
        key=lambda t: ("", "ones", "twos", "threes")[int(t[0])],
    ),
    "01.q26": Question(
        "Compare (1) `h = torch.sigmoid(x); h.mul_(2)` and (2) `h = x + 1; h.mul_(2)`. After each, you call "
        "`h.sum().backward()`. Which one raises an error?",
        ("both", "only (1)", "only (2)", "neither"),
        {
            "both": "x + 1 saved nothing, so no saved tensor has changed.",
            "only (2)": "x + 1 saved nothing. But sigmoid saved its result, as exp did.",
            "neither": "The slope of the sigmoid is s * (1 - s), computed from its result s. This result was saved, and "
            "mul_ changed it.",
        },
        key=which(both="both", one="only ({})", none="neither"),
    ),
    "01.q27": Question(
        "You train with the custom function above, and the loss falls. Is its backward correct?",
        ("yes", "not necessarily", "yes, if it falls to the end"),
        {
            "yes": "A wrong gradient often points roughly downhill. So the loss falls, but it stops in the wrong place.",
            "yes, if it falls to the end": "A wrong rule also comes to a stop, namely where the rule gives zero. That "
            "doesn't have to be where the loss is lowest.",
        },
        key=either(lambda right: right, "yes", "not necessarily"),
    ),
    "01.q28": Question(
        "You run the same training loop, but you never clear the gradients. What does the loss do?",
        ("it falls faster", "it falls more slowly", "it swings up and down"),
        {
            "it falls faster": "At first it does. But the old gradients keep pushing after the best point has been "
            "passed.",
            "it falls more slowly": "The steps become larger, not smaller, because every old gradient is added again.",
        },
        key=either(lambda rises: rises > 10, "it swings up and down", "it falls faster"),
    ),
    "01.q29": Question(
        "In a training loop, what do you have to clear between two steps?",
        ("the .grad of every tensor", "the .grad of the trained leaves", "the .grad of the loss"),
        {
            "the .grad of every tensor": "Intermediate results don't keep a gradient, and the next forward pass creates new ones "
            "anyway.",
            "the .grad of the loss": "The loss is a new tensor in every step. Only the leaves live on from one step to the next.",
        },
        key="the .grad of the trained leaves",
    ),
    "01.q30": Question(
        "X has the shape (2, 3). `X.view(3, 2)` and `X.permute(1, 0)` both have the shape (3, 2). Are they equal?",
        ("yes", "no, because view keeps the order in memory", "no, because view makes a copy"),
        {
            "yes": "Both contain the same six numbers, but in a different order: permute exchanges rows and columns, "
            "while view keeps reading row by row.",
            "no, because view makes a copy": "Neither of them copies. Both show the memory of X.",
        },
        key="no, because view keeps the order in memory",
    ),
    "01.q31": Question(
        "A network gives 100 predictions of shape (100, 1). The targets y have the shape (100,). What is the shape of "
        "`prediction - y`?",
        ("(100, 1)", "(100,)", "(100, 100)", "an error"),
        {
            "(100, 1)": "y counts as one row of 100 numbers, and each prediction in the column meets the whole row.",
            "(100,)": "y counts as one row of 100 numbers, and each prediction in the column meets the whole row.",
            "an error": "An error would be better. But a column and a row do fit together, because each prediction meets "
            "each target.",
        },
    ),
    "01.q32": Question(
        "A layer has one weight and no bias. You call `eval()` on it, give it the input 3, and call `backward()` on its "
        "result. What is `weight.grad`?",
        ("3", "0", "None", "an error"),
        {
            "0": "eval() makes some layers compute differently. It doesn't change how gradients are computed.",
            "None": "That would happen with a frozen weight. But eval() doesn't freeze anything.",
            "an error": "Under no_grad() nothing would be recorded. But eval() doesn't stop the recording.",
        },
        key=lambda grad: None if grad is None else grad.item(),
    ),
    "01.q33": Question(
        "x = [1., 2., 3.] and `y = x * x`. You call `y.backward(gradient=torch.tensor([1., 0., 0.]))`. What is `x.grad`?",
        ("[2., 0., 0.]", "[2., 4., 6.]", "[0.6667, 1.3333, 2.]", "2."),
        {
            "[2., 4., 6.]": "That is the result if all weights are one. Here only the first number of y counts.",
            "[0.6667, 1.3333, 2.]": "gradient= doesn't average anything. Each number of y has a weight of its own.",
            "2.": "A gradient has the shape of its tensor. So x.grad has three numbers, and two of them are zero.",
        },
    ),
    "01.q34": Question(
        "x = [1., 2.] is a leaf that requires a gradient, and `part = x[:1]`. What does `part += 1` do?",
        (
            "x becomes [2., 2.], and is no longer a leaf",
            "part becomes [2.], but x stays as it is",
            "an error",
        ),
        {
            "x becomes [2., 2.], and is no longer a leaf": "Then the leaf that the gradient belongs to would be gone, so PyTorch "
            "refuses the change.",
            "part becomes [2.], but x stays as it is": "part has no memory of its own. It shows a part of the memory of x.",
        },
        key=lambda seen: "an error" if isinstance(seen, Exception) else str(seen),
    ),
    "01.q35": Question(
        "`layer = nn.Linear(1, 1)`, and then `layer.weight.mul_(0.1)`. What happens?",
        (
            "the weight is ten times smaller",
            "the weight is no longer a leaf",
            "an error",
        ),
        {
            "the weight is ten times smaller": "That would happen under no_grad(). Outside of it the change would be part "
            "of the graph, and the leaf would be gone.",
            "the weight is no longer a leaf": "Then no optimizer could train the weight, and you would not "
            "notice. So PyTorch refuses the change.",
        },
        key=lambda seen: (
            "an error" if isinstance(seen, Exception) else "the weight is ten times smaller"
        ),
    ),
    "01.q36": Question(
        "In a static graph, `y < 10` is an expression that has not been computed yet. How many turns does `while y < 10: y = "
        "y * 2` take while you declare the graph, if it starts with the placeholder `x`?",
        ("2", "0", "as many as we let it"),
        {
            "2": "That would be right for x = 3. But the graph is declared before any number is there, so the loop can't know x.",
            "0": "Python asks whether the expression counts as true. An object does, whatever number it will have later.",
        },
        key=either(lambda turns: turns == 5, "as many as we let it", "2"),
    ),
}

WORDS = {
    "01.w1": Words(
        "Gradients arrive at a node along several paths. Why does the engine have to add them, instead of keeping the "
        "last one?",
        "A nudge of x reaches the result along every path at once, and each path contributes its part. If the engine "
        "kept only one of them, it would forget the others. In a chain you would not notice, but wherever paths meet "
        "the gradient would be wrong.",
    ),
    "01.w2": Words(
        "Before backward() `x.grad` is None, and after it `a.grad` is None. What does None mean in each case, and what "
        "would 0 mean?",
        "For x, nothing has come back yet, so the gradient isn't known. a is not a leaf, so its gradient arrived, was "
        "passed on, and was not kept. A 0 would mean that a tiny change there doesn't change the result.",
    ),
    "01.w3": Words(
        "Why does backward() add to .grad, and when do you have to clear it?",
        "Several results computed from one leaf are just more paths to it, and paths are added. In gradient descent, "
        "however, each step needs the gradient of its own loss. So we clear the leaves after the step, before the next "
        "backward().",
    ),
    "01.w4": Words(
        "In `y = w * x`, you can freeze `w`, or you can write `w.detach() * x` instead. What do both have in common, and "
        "what is different?",
        "In both cases w gets no gradient from y. But its value is still a factor, so x gets the same gradient as "
        "before. The difference is how far the change reaches. detach() concerns only this one use of w, but a frozen w "
        "gets no gradient from any use, until you switch its flag on again.",
    ),
    "01.w5": Words(
        "`gradient=` of backward() is neither a step size nor a scale. What is it?",
        "It says how much each number of the result counts, that is, which gradient arrives there from everything that "
        "comes later. The rows of the Jacobian are weighted with it and added.",
    ),
    "01.w6": Words(
        "When does a second backward pass fail, and when does an in-place change make the pass fail? Try to find one "
        "reason for both.",
        "Both fail if a node needs a tensor that it saved. The first pass has freed it, or the change has given it "
        "another value. If a node saved nothing, neither of them is a problem.",
    ),
    "01.w7": Words(
        "The loss falls. Why doesn't that prove that the backward is correct?",
        "A wrong gradient often points roughly downhill, and training stops where the wrong rule gives zero. You only "
        "find out if you compare the rule with the effect of tiny changes, as gradcheck does.",
    ),
    "01.w8": Words(
        "Why is a loop not in the graph, although both branches of where() are?",
        "The graph contains what was computed. The loop only decided how often something was computed, but where() "
        "computed both branches and then chose between them.",
    ),
    "01.w9": Words(
        "How can two shapes fit together although the result is wrong?",
        "Dimensions of size 1, and dimensions that are missing in front, are repeated until they fit. If you use a row "
        "where you meant a column, it still fits, but each number meets the wrong partners.",
    ),
    "01.w10": Words(
        "Which of detach(), no_grad(), requires_grad_(False) and eval() can lose a gradient that you need? How would you "
        "notice, if there is no error?",
        "detach() loses it for one use, no_grad() for a block of code, and requires_grad_(False) for one leaf. eval() "
        "loses nothing. You can't get a lost gradient back by switching on a flag later. And if NumPy or item() took a "
        "number out, its path is missing without a message. So look at .grad after the first backward().",
    ),
    "01.w11": Words(
        "A friend says: 'Calling backward twice always fails, so use retain_graph=True.' What do you answer?",
        "It only fails if a node needs its saved tensors, because the first pass has freed them. A sum, for example, saves "
        "nothing. And if two results share a part of the graph, you can add them and call backward() once, which needs "
        "no extra memory.",
    ),
    "01.w12": Words(
        "Broadcasting used one number six times. Why is its gradient a sum, and not a mean?",
        "Each use is a path of its own from the number to the result, and paths are added. If the number changes a "
        "little, all six places change at once.",
    ),
    "01.w13": Words(
        "Which tensors notice an in-place change such as +=, and which tensor refuses it?",
        "All tensors that share the memory notice it: views, the result of detach(), and the array behind from_numpy(). "
        "A leaf that requires a gradient refuses the change, even through a view, unless it happens under no_grad().",
    ),
}
