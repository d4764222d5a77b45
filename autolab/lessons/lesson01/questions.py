"""The predictions of lesson 1: asked before anything runs. `because` answers a wrong guess, after the reveal only."""

from __future__ import annotations

from ..question import Question, Words, either, which

ONE_OR_BOTH = which(both="both", one="only {}", none="neither")

QUESTIONS = {
    "01.q1": Question(
        "To measure the slope for each of the 78,010 numbers in this way, how often must the network compute?",
        ("once", "78,010 times", "156,020 times", "6,085,560,100 times"),
        {
            "once": "One computation gives one loss. A slope here needs two of them, for each number.",
            "78,010 times": "For each number the loss is computed twice: with a little more, and with a little less.",
            "6,085,560,100 times": "That is 78,010 times 78,010. Only one number is turned at a time, twice.",
        },
        key="156,020 times",
    ),
    "01.q2": Question(
        "Which line makes the graph: line 1, which creates `x`, line 2, `z = x * x`, or line 3, `z.backward()`?",
        ("line 1", "line 2", "line 3"),
        {
            "line 1": "Line 1 makes a tensor. Nothing was computed from it yet, so there is nothing to record.",
            "line 3": "backward() walks a graph that is already there. Each operation recorded itself when it ran.",
        },
        key="line 2",
    ),
    "01.q3": Question(
        "`v = torch.tensor([1., 2.], requires_grad=True) * 0.1`, then `v.sum().backward()`. What is `v.grad`?",
        ("[1., 1.]", "[0.1, 0.1]", "None"),
        {
            "[1., 1.]": "That is the gradient that arrived at v. It was used and thrown away, because v is not a leaf.",
            "[0.1, 0.1]": "That is the gradient of the tensor inside, which has no name any more. v is its product with "
            "0.1.",
        },
    ),
    "01.q4": Question(
        "y starts as x; then 20 times `y = y + y`. How many different paths lead from the last y back to x?",
        ("20", "40", "400", "1,048,576"),
        {
            "20": "There are 20 nodes, but each offers two ways back.",
            "40": "There are 40 edges, but a path chooses one of two at each of the 20 nodes.",
            "400": "A path chooses one of two edges at each of the 20 nodes: 2 times 2 times 2 …",
        },
    ),
    "01.q5": Question(
        "Before `backward()` is called, what is `x.grad` for a leaf x with `requires_grad=True`?",
        ("0", "None", "an error"),
        {
            "0": "Zero would say that x has no influence. Nothing has been computed yet, and None says that.",
            "an error": "You may look at any time. There is just nothing there yet.",
        },
    ),
    "01.q6": Question(
        "x = 3. You compute `z = x * x` and call `z.backward()`. Then you compute z again and call backward() again. "
        "What is `x.grad`?",
        ("6", "12", "36", "an error"),
        {
            "6": "backward() does not overwrite. It adds to what is already in x.grad.",
            "36": "The second gradient is added to the first, not multiplied by it.",
            "an error": "The second z has a graph of its own, which is fresh.",
        },
    ),
    "01.q7": Question(
        "x = 3, and two passes left 12 in `x.grad`. Now `x.grad.zero_()`, and only then the step `x -= 0.125 * x.grad`. "
        "What is x?",
        ("1.5", "2.25", "3"),
        {
            "1.5": "That is the step with 12. It was cleared before the step could use it.",
            "2.25": "That is the step with 6, of one pass. Clearing takes away all of it, not the last part.",
        },
    ),
    "01.q8": Question(
        "w = 3. `y = w.detach() * w`, then `y.backward()`. What is `w.grad`?",
        ("6", "3", "0", "None"),
        {
            "6": "Only one of the two paths is left. The detached factor counts as a constant.",
            "0": "The second factor is still connected.",
            "None": "The second factor is still connected.",
        },
    ),
    "01.q9": Question(
        "Beside its ten outputs for digits a network has a layer for letters, which the loss does not use. After `loss.backward()`, what "
        "has a `.grad` that is not None?",
        (
            "the weights that were used",
            "those, and the results in the middle",
            "all weights",
            "all of these",
        ),
        {
            "those, and the results in the middle": "Gradients come to the results in the middle too, and are passed on. Only leaves keep theirs.",
            "all weights": "Then those of the layer for letters would hold 0. Nothing came to them: None.",
            "all of these": "Nothing came to the layer for letters, and results in the middle keep nothing.",
        },
        key=lambda filled: {
            "fc": "the weights that were used",
            "fc scores": "those, and the results in the middle",
            "fc letters": "all weights",
        }.get(" ".join(filled), "all of these"),
    ),
    "01.q10": Question(
        "Two losses of one network, `backward()` for each, and nothing cleared in between. Then one step. Which loss "
        "does it walk down?",
        ("the second one", "their sum", "their mean", "none: backward twice is an error"),
        {
            "the second one": "That would be so if backward() overwrote. It adds, so both are in .grad.",
            "their mean": "A mean would divide by 2. backward() only adds.",
            "none: backward twice is an error": "Each loss has a graph of its own, which is fresh.",
        },
        key="their sum",
    ),
    "01.q11": Question(
        "To compute gradients later, which node has to keep the values of x and y: that of `x + y` or that of `x * "
        "y`?",
        ("both", "only x + y", "only x * y", "neither"),
        {
            "both": "The derivative of x + y is 1 for both, whatever their values are.",
            "only x + y": "The derivative of x + y is 1, whatever x and y are. That of x * y with respect to x is y.",
            "neither": "The derivative of x * y with respect to x is y: that value is needed later.",
        },
        key=lambda *two: ONE_OR_BOTH(
            [n for n, t in zip(("x + y", "x * y"), two) if hasattr(t.grad_fn, "_saved_other")]
        ),
    ),
    "01.q12": Question(
        "After `z.backward()`, what is `a.grad`, where a is an intermediate result of the graph above?",
        ("4", "None", "0"),
        {
            "4": "The number 4 did arrive at a and was passed on. It was not kept: only leaves keep theirs.",
            "0": "Zero would mean that a has no influence on z. It has. Its gradient was used, then thrown away.",
        },
    ),
    "01.q13": Question(
        "`h1 = w1 * x`, `h2 = w2 * h1`, `h3 = w3 * h2`, and w2 is frozen: `w2.requires_grad = False`. "
        "Does w1 still get a gradient?",
        ("yes", "no", "yes, but it is zero"),
        {
            "no": "Freezing w2 means that nobody asks for the gradient of w2. The path from h3 through h2 and h1 to w1 is "
            "still there, with w2 as a factor.",
            "yes, but it is zero": "Nothing is multiplied by zero here: w2 stays a factor of the path, whether it is trained or not.",
        },
    ),
    "01.q14": Question(
        "w = 2. `loss = (w * 3 - 1) ** 2` is computed under `no_grad()`. `loss.backward()` complains, so you write "
        "`loss.requires_grad = True` before it. Now it runs. What is `w.grad`?",
        ("30", "None", "0"),
        {
            "30": "That would be right if the steps from w to loss had been recorded. They were not.",
            "0": "Zero would say that w has no influence on the loss. Nothing was computed for w at all.",
        },
    ),
    "01.q15": Question(
        "w = 2. NumPy computes `e = np.exp(...)` from w's numbers, and `y = torch.tensor(e) * w`. The derivative of "
        "exp(w) * w is 22.1672. What is `w.grad` after `y.backward()`?",
        ("22.1672", "7.3891", "None", "an error"),
        {
            "22.1672": "The graph knows nothing of what NumPy computed. To it, e is a constant.",
            "None": "The factor w itself is still connected.",
            "an error": "Nothing complains: you took the numbers out by hand, with detach().",
        },
    ),
    "01.q16": Question(
        "Three times you compute a loss and write `losses.append(loss)`. How many graphs stay in memory?",
        ("0", "1", "3"),
        {
            "0": "As long as you hold a result, you hold its node, and through it everything before it.",
            "1": "The name `loss` holds the last one only. But the list holds all three.",
        },
    ),
    "01.q17": Question(
        "x = [1., 2., 3.], `y = x * x`. What does `y.backward()` do?",
        ("x.grad = [2., 4., 6.]", "x.grad = 12.", "an error"),
        {
            "x.grad = [2., 4., 6.]": "That is the gradient of y.sum(). y itself is three numbers, and nobody said how "
            "to weigh them.",
            "x.grad = 12.": "A gradient has the shape of its tensor, three numbers here.",
        },
        key="an error",
    ),
    "01.q18": Question(
        "X has the shape (3, 2), and b is a single number. `(X + b).sum().backward()`. What is `b.grad`?",
        ("1", "6", "a (3, 2) tensor of ones"),
        {
            "1": "b was added in six places. Each of them is a path, and each adds 1.",
            "a (3, 2) tensor of ones": "Six ones did arrive, but b is one number: its gradient is their sum.",
        },
    ),
    "01.q19": Question(
        "A layer adds its bias, 10 numbers, to each of 64 rows. Every number of the result counts with 1. What is "
        "each number of `bias.grad`?",
        ("1", "10", "64", "640"),
        {
            "1": "Each number of the bias was used 64 times, once in each row, and each use adds 1.",
            "10": "10 is how many numbers the bias has. Each of them was used once in each row.",
            "640": "640 is the sum of all. Each of the 10 numbers gets what came along its own column.",
        },
    ),
    "01.q20": Question(
        "`y = x`, then `while y < 10: y = y * 2`. For x = 3, what is dy/dx?",
        ("1", "2", "4", "it has none, because of the loop"),
        {
            "1": "The loop ran twice, and each turn multiplied by 2.",
            "2": "The loop ran twice: 3, 6, 12.",
            "it has none, because of the loop": "The graph holds what was computed: here two multiplications. "
            "The loop itself is not in it.",
        },
    ),
    "01.q21": Question(
        "x = 0. `y = torch.where(x > 0, torch.sqrt(x), 0 * x)`: the root is not taken. What is `x.grad` after "
        "backward()?",
        ("0", "nan", "inf"),
        {
            "0": "where() sends 0 into the branch not taken. There it is multiplied by the slope of the root at 0, "
            "which is infinite, and 0 times infinity is NaN.",
            "inf": "The slope of the root at 0 is infinite, but what arrives there is 0, and 0 times infinity is NaN.",
        },
    ),
    "01.q22": Question(
        "A share p is 0 here. `torch.where(p > 0, p.log(), torch.zeros(()))` keeps the logarithm out. What is "
        "`p.grad`?",
        ("0", "nan", "1"),
        {
            "0": "The branch not taken is computed too: 0 times the slope of the logarithm at 0, which is infinite, is NaN.",
            "1": "Nothing with the slope 1 is left: the other branch is a constant.",
        },
    ),
    "01.q23": Question(
        "You call backward() twice on the same result. For which of `y = x + 2` and `y = x * x` is that an error?",
        ("both", "only x + 2", "only x * x", "neither"),
        {
            "both": "x + 2 saved nothing, so nothing is missing the second time.",
            "only x + 2": "x + 2 saved nothing, so nothing is missing the second time. x * x saved x.",
            "neither": "x * x saved its factors, and the first backward() freed them.",
        },
        key=ONE_OR_BOTH,
    ),
    "01.q24": Question(
        "(1) `y = x * 2; y.add_(1)`   (2) `y = x.exp(); y.add_(1)`.  Then `y.sum().backward()`. Which one raises an "
        "error?",
        ("both", "only (1)", "only (2)", "neither"),
        {
            "both": "x * 2 does not need its result for the gradient. It may be changed.",
            "only (1)": "x * 2 does not need its result for the gradient; exp does.",
            "neither": "exp saved its result, and add_ changed it.",
        },
        key=which(both="both", one="only ({})", none="neither"),
    ),
    "01.q25": Question(
        "`a` is a NumPy array of ones, and `t = torch.from_numpy(a)`. Then `a += 1`, and after that `a = a + 1`. "
        "What is in t?",
        ("ones", "twos", "threes"),
        {
            "ones": "t and a share their memory, and a += 1 writes into it.",
            "threes": "a = a + 1 makes a new array and gives it the name a. The memory that t shares stays as it was.",
        },
        key=lambda t: ("", "ones", "twos", "threes")[int(t[0])],
    ),
    "01.q26": Question(
        "(1) `h = torch.sigmoid(x); h.mul_(2)`   (2) `h = x + 1; h.mul_(2)`.  Then `h.sum().backward()`. Which one "
        "raises an error?",
        ("both", "only (1)", "only (2)", "neither"),
        {
            "both": "x + 1 saved nothing, so nothing that was saved has changed.",
            "only (2)": "x + 1 saved nothing. sigmoid saved its result, as exp did.",
            "neither": "The slope of sigmoid is s * (1 - s), made from its result s. That was saved, and mul_ changed it.",
        },
        key=which(both="both", one="only ({})", none="neither"),
    ),
    "01.q27": Question(
        "A custom function has a backward that somebody wrote by hand. You train with it, and the loss falls. "
        "Is the backward right?",
        ("yes", "not necessarily", "yes, if it falls to the end"),
        {
            "yes": "A wrong gradient often points roughly downhill. The loss falls, and stops in the wrong place.",
            "yes, if it falls to the end": "A wrong rule also comes to rest: where it is zero itself, which need not be where the loss is least.",
        },
        key=either(lambda right: right, "yes", "not necessarily"),
    ),
    "01.q28": Question(
        "The same training loop, but the gradients are never cleared. What does the loss do?",
        ("it falls faster", "it falls more slowly", "it swings up and down"),
        {
            "it falls faster": "At first, yes. But the old gradients keep pushing after the best point is passed.",
            "it falls more slowly": "The steps get larger, not smaller: every old gradient is added again.",
        },
        key=either(lambda rises: rises > 10, "it swings up and down", "it falls faster"),
    ),
    "01.q29": Question(
        "In a training loop, whose `.grad` has to be cleared between two steps?",
        ("every tensor's", "the leaves' that are trained", "the loss's"),
        {
            "every tensor's": "Intermediate results keep no gradient, and the next forward pass makes new ones anyway.",
            "the loss's": "The loss is made anew in every step. Only the leaves live on from step to step.",
        },
        key="the leaves' that are trained",
    ),
    "01.q30": Question(
        "X has the shape (2, 3). `X.view(3, 2)` and `X.permute(1, 0)` both have the shape (3, 2). Are they the same?",
        ("yes", "no: view reads on row by row", "no: view makes a copy"),
        {
            "yes": "Both show the same six numbers, in another order: permute exchanges rows and columns, view reads row by row.",
            "no: view makes a copy": "Neither copies: both show the memory of X.",
        },
        key="no: view reads on row by row",
    ),
    "01.q31": Question(
        "A network gives 100 predictions of shape (100, 1). The targets y have the shape (100,). What shape has "
        "`prediction - y`?",
        ("(100, 1)", "(100,)", "(100, 100)", "an error"),
        {
            "(100, 1)": "y counts as one row of 100, and the column of predictions meets all of it.",
            "(100,)": "y counts as one row of 100, and the column of predictions meets all of it.",
            "an error": "An error would be better. A column and a row fit: each prediction meets each target.",
        },
    ),
    "01.q32": Question(
        "A layer with one weight and no bias is put into `eval()`, gets the input 3, and `backward()` is called on its "
        "result. What is `weight.grad`?",
        ("3", "0", "None", "an error"),
        {
            "0": "eval() switches some layers to another way of computing. Gradients are as before.",
            "None": "That would be so for a frozen weight. eval() freezes nothing.",
            "an error": "Nothing would be recorded under no_grad(). eval() does not stop the recording.",
        },
        key=lambda grad: None if grad is None else grad.item(),
    ),
    "01.q33": Question(
        "x = [1., 2., 3.], `y = x * x`, and `y.backward(gradient=torch.tensor([1., 0., 0.]))`. What is `x.grad`?",
        ("[2., 0., 0.]", "[2., 4., 6.]", "[0.6667, 1.3333, 2.]", "2."),
        {
            "[2., 4., 6.]": "That is for weights of one. Here only the first number of y counts.",
            "[0.6667, 1.3333, 2.]": "gradient= is no scale, of which a mean is taken: each number has a weight of its own.",
            "2.": "A gradient has the shape of its tensor: three numbers, of which two do not count.",
        },
    ),
    "01.q34": Question(
        "x = [1., 2.] is a leaf that wants a gradient, and `part = x[:1]`. What does `part += 1` do?",
        ("x is [2., 2.], and a result now", "part is [2.], and x stays as it is", "an error"),
        {
            "x is [2., 2.], and a result now": "Then the leaf that the gradient belongs to would be gone. So it is refused.",
            "part is [2.], and x stays as it is": "part has no memory of its own: it shows that of x.",
        },
        key=lambda seen: "an error" if isinstance(seen, Exception) else str(seen),
    ),
    "01.q35": Question(
        "`layer = nn.Linear(1, 1)`, then `layer.weight.mul_(0.1)`. What happens?",
        (
            "the weight is ten times smaller",
            "the weight is a result, and no leaf any more",
            "an error",
        ),
        {
            "the weight is ten times smaller": "So it would be under no_grad(). Outside, the change would be part of the graph, and the leaf gone.",
            "the weight is a result, and no leaf any more": "Then no optimizer could train it, without a word. So it is refused.",
        },
        key=lambda seen: (
            "an error" if isinstance(seen, Exception) else "the weight is ten times smaller"
        ),
    ),
}

WORDS = {
    "01.w1": Words(
        "Why must an engine add what arrives along several paths, and not keep what came last?",
        "A change of x reaches the result on every path at once, and each path does its part. Keeping one of them "
        "forgets the others: right for a chain, "
        "wrong at every fork.",
    ),
    "01.w2": Words(
        "Before backward() `x.grad` is None; after it `a.grad` is None. What does None say in each case, and what would "
        "0 say?",
        "Of x: nothing has come back yet, so nothing is known. Of a, which is no leaf: its gradient came, was passed on, "
        "and was not kept. 0 would say that a tiny change there does not change the result.",
    ),
    "01.w3": Words(
        "Why does backward() add to .grad, and when do you have to clear it?",
        "Several results computed from one leaf are more paths to it, and paths are added. In descent each step "
        "wants the gradient of its own loss, so the leaves are cleared "
        "after the step and before the next backward().",
    ),
    "01.w4": Words(
        "A friend freezes the middle layer and expects the first one to stop learning. What do you say?",
        "Frozen means that nobody asks for the gradient of this weight. The weight is still a factor on the path to "
        "the first layer, and the gradient goes through.",
    ),
    "01.w5": Words(
        "What does `gradient=` of backward() say, if it is no step size and no scale?",
        "How much each number of the result counts: what arrives at it from whatever comes after. It weighs the rows "
        "of the Jacobian, which are then added.",
    ),
    "01.w6": Words(
        "When does a second walk fail, and when does a change in place fail? Say it in one sentence for both.",
        "When a node needs what it saved: the first walk has freed it, or the change has made it another value. What "
        "saved nothing minds neither.",
    ),
    "01.w7": Words(
        "The loss falls. Why does that not prove that a backward is right?",
        "A wrong gradient often points roughly downhill, and comes to rest where the wrong rule is zero. Only a "
        "comparison with what tiny changes really do tells: gradcheck.",
    ),
    "01.w8": Words(
        "Why is a loop not in the graph, and both branches of where() are?",
        "The graph holds what was computed. The loop only decided how often something was; where() computed both "
        "branches, and then chose.",
    ),
    "01.w9": Words(
        "How can two shapes fit, and the result be wrong all the same?",
        "Dimensions of size 1, and missing ones in front, are spread to whatever size they meet. A row where a "
        "column was meant fits too, and each number meets the wrong ones.",
    ),
    "01.w10": Words(
        "Which of detach(), no_grad(), requires_grad_(False) and eval() loses a gradient that you want, and how would you "
        "notice what nothing complains about?",
        "detach() loses it for one use, no_grad() for a block, requires_grad_(False) for one leaf; eval() loses none. What was "
        "lost stays None in .grad, whatever is switched on afterwards, and what NumPy or item() took out is missing in it without "
        "a word: look there after the first backward().",
    ),
    "01.w11": Words(
        "'Calling backward twice always fails, so use retain_graph=True.' What do you answer?",
        "It fails where a node needs what it saved, for that was freed by the first walk; a sum saved nothing. And two "
        "results that share a part can be added and walked once, which keeps no memory.",
    ),
    "01.w12": Words(
        "Why is the gradient of a number that broadcasting used six times a sum, and not the mean?",
        "Each use is a path of its own from the number to the result, and paths are added. A tiny change of it is felt in all "
        "six places at once.",
    ),
    "01.w13": Words(
        "Who sees a change in place, such as +=, and which tensor refuses it?",
        "All that share the memory see it: views, what detach() gave, the array behind from_numpy(). A leaf that wants a "
        "gradient refuses it, through a view too, outside of no_grad().",
    ),
}
