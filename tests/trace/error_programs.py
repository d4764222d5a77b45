"""Typical failing programs, each with what an explanation must name and what it must advise.

`t` is the library, PyTorch or autolab. The threads are on discuss.pytorch.org, GitHub and Stack Overflow; the programs
are rewritten to a few lines."""

import copy
import dataclasses
import warnings
from collections.abc import Callable
from typing import Any


@dataclasses.dataclass(frozen=True)
class Case:
    """The expected explanation. culprit, remedy: regular expressions that it must match. never: one that it must not
    match. only: the library that raises this error, "" for both."""

    run: Callable[[Any], Any]
    culprit: str
    remedy: str
    never: str = ""
    only: str = ""


CASES: dict[str, Case] = {}


def case(culprit: str, remedy: str, never: str = "", only: str = "") -> Callable[..., Any]:
    """Add the function below to the table, under its own name."""

    def add(run: Callable[[Any], Any]) -> Callable[[Any], Any]:
        CASES[run.__name__] = Case(run, culprit, remedy, never, only)
        return run

    return add


# -- a saved value that was changed ------------------------------------------------------------------------------------
WORSE = r"retain_graph|out-of-place|out of place"


@case(
    r"2\.weight was changed by opt_D\.step\(\).*line", r"backward pass(es)? before the step", WORSE
)
def gan_steps_too_early(t):
    G = t.nn.Linear(2, 2)
    D = t.nn.Sequential(t.nn.Linear(2, 4), t.nn.ReLU(), t.nn.Linear(4, 1))
    opt_D = t.optim.SGD(D.parameters(), lr=0.1)
    fake = D(G(t.ones(3, 2)))
    d_loss, g_loss = fake.mean(), -fake.mean()
    d_loss.backward(retain_graph=True)
    opt_D.step()
    g_loss.backward()


@case(r"weight was changed by critic_optimizer\.step\(\)", r"before the step|again", WORSE)
def actor_and_critic(t):
    actor, critic = t.nn.Linear(2, 2), t.nn.Linear(2, 1)
    critic_optimizer = t.optim.Adam(critic.parameters(), lr=0.1)
    state = t.ones(3, 2)
    value = critic(actor(state))
    critic_loss, actor_loss = (value - 1).pow(2).mean(), -value.mean()
    critic_loss.backward(retain_graph=True)
    critic_optimizer.step()
    actor_loss.backward()


@case(r"\bh\b.*(carries|goes through)", r"h = h\.detach\(\)", r"out-of-place|use retain_graph")
def state_kept_with_retain_graph(t):
    rnn, h = t.nn.RNNCell(2, 3), t.zeros(1, 3)
    opt = t.optim.SGD(rnn.parameters(), lr=0.1)
    for _batch in range(3):
        h = rnn(t.ones(1, 2), h)
        loss = h.sum()
        opt.zero_grad()
        loss.backward(retain_graph=True)
        opt.step()


@case(r"b\[1\] = 2", r"clone\(\)|out of place|out-of-place")
def an_element_is_assigned(t):
    a = t.ones(3, requires_grad=True)
    b = a.sigmoid()
    b[1] = 2
    b.sum().backward()


@case(r"y \+= 1", r"y = y \+ |out of place|out-of-place")
def a_result_is_added_to(t):
    w = t.ones(3, requires_grad=True)
    y = w.exp()
    y += 1
    y.sum().backward()


@case(r"w -= 0\.1", r"before|again", r"retain_graph")
def a_weight_is_changed_by_hand(t):
    w = t.ones(3, requires_grad=True)
    y = (w * w).sum()
    y.backward(retain_graph=True)
    with t.no_grad():
        w -= 0.1
    y.backward()


@case(r"u\.copy_|u\.mul_", r"clone\(\)|out of place|out-of-place")
def a_buffer_is_changed_in_forward(t):
    w, u = t.ones(2, 2, requires_grad=True), t.ones(2)
    total = (w @ u).sum()
    u.mul_(0.5)
    total = total + (w @ u).sum()
    total.backward()


@case(r"relu_|activation|inplace=True", r"inplace=False|out of place|out-of-place|clone\(\)")
def relu_in_place_after_tanh(t):
    net = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.Tanh(), t.nn.ReLU(inplace=True))
    net(t.ones(1, 2)).sum().backward()


# -- a graph that was freed --------------------------------------------------------------------------------------------
@case(r"loss\.backward\(\)", r"retain_graph=True")
def backward_twice(t):
    w = t.ones(2, requires_grad=True)
    loss = w.tanh().sum()
    loss.backward()
    loss.backward()


@case(r"\bh\b", r"h = h\.detach\(\)", r"use retain_graph")
def state_of_a_network(t):
    rnn, h = t.nn.RNNCell(2, 3), t.zeros(1, 3)
    opt = t.optim.SGD(rnn.parameters(), lr=0.1)
    for _batch in range(3):
        h = rnn(t.ones(1, 2), h)
        loss = h.sum()
        opt.zero_grad()
        loss.backward()
        opt.step()


@case(r"\btotal\b", r"total.*(detach|item)\(\)", r"use retain_graph")
def losses_are_added_up(t):
    w, total = t.ones(2, requires_grad=True), 0
    for _batch in range(2):
        total = total + w.exp().sum()
        total.backward()


@case(r"\bz\b", r"one backward|\.backward\(\) of their sum|retain_graph=True")
def two_losses_of_one_feature(t):
    w = t.ones(2, requires_grad=True)
    z = w.exp()
    first, second = (z * z).sum(), (z * 3).sum()
    first.backward()
    second.backward()


@case(r"\btable\b", r"inside the loop|again|each")
def made_before_the_loop(t):
    w = t.ones(2, requires_grad=True)
    table = w.exp() * w
    for _batch in range(2):
        loss = (table * 2).sum()
        loss.backward()


@case(r"\bprediction\b", r"closure|again|each")
def prediction_outside_the_closure(t):
    net = t.nn.Linear(3, 1)
    opt = t.optim.LBFGS(net.parameters())
    prediction = net(t.ones(2, 3))

    def closure():
        loss = prediction.pow(2).sum()
        loss.backward()
        return loss

    opt.step(closure)


# -- no graph ----------------------------------------------------------------------------------------------------------
@case(r"slope|grad\(", r"create_graph=True")
def without_create_graph(t):
    x = t.ones(4, requires_grad=True)
    slope = t.autograd.grad(x.tanh().sum(), x)[0]
    penalty = (slope**2).sum()
    penalty.backward()


@case(r"x\.grad", r"create_graph=True")
def a_grad_in_the_loss(t):
    x = t.ones(4, requires_grad=True)
    x.tanh().sum().backward()
    loss = (x.grad**2).sum()
    loss.backward()


@case(r"\.item\(\)", r"without `?\.?item|[Ll]eave out|Keep the tensor")
def a_python_number(t):
    w = t.ones(4, requires_grad=True)
    loss = t.tensor((w * 2).mean().item()) * 2
    loss.backward()


@case(r"\.numpy\(\)", r"[Ll]eave out|Keep the tensor|operations")
def through_numpy(t):
    w = t.ones(4, requires_grad=True)
    h = w * 2
    loss = t.from_numpy(h.detach().numpy()).sum()
    loss.backward()


@case(r"\.tolist\(\)", r"[Ll]eave out|Keep the tensor|operations")
def through_a_list(t):
    w = t.ones(4, requires_grad=True)
    loss = t.tensor((w * 2).tolist()).sum()
    loss.backward()


@case(r"t\.tensor|torch\.tensor|tensor\(", r"stack")
def a_tensor_of_losses(t):
    w = t.ones(4, requires_grad=True)
    losses = [(w * 2).sum(), (w * 3).sum()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        total = t.tensor(losses).sum()
    total.backward()


@case(r"checkpoint", r"use_reentrant=False", only="torch")
def reentrant_checkpoint(t):
    from torch.utils.checkpoint import checkpoint

    block, x = t.nn.Linear(3, 1), t.ones(4, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loss = checkpoint(block, x, use_reentrant=True).sum()
    loss.backward()


@case(r"checkpoint", r"use_reentrant=False", only="torch")
def layer_after_a_checkpoint(t):
    from torch.utils.checkpoint import checkpoint

    block, head = t.nn.Linear(3, 3), t.nn.Linear(3, 1).requires_grad_(False)
    h = t.ones(2, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loss = head(checkpoint(block, h, use_reentrant=True)).sum()
    loss.backward()


@case(r"weight.*frozen|frozen.*weight", r"requires_grad_\(True\)|requires_grad = True")
def everything_is_frozen(t):
    net = t.nn.Linear(3, 1)
    for parameter in net.parameters():
        parameter.requires_grad = False
    net(t.ones(4, 3)).sum().backward()


@case(r"detach", r"[Ll]eave out|Remove")
def detached(t):
    w = t.ones(3, requires_grad=True)
    loss = (w * 2).detach().sum()
    loss.backward()


@case(r"\.data", r"[Ll]eave out|Remove")
def through_data(t):
    w = t.ones(3, requires_grad=True)
    h = w * 2
    loss = h.data.sum()
    loss.backward()


@case(r"no_grad", r"outside|out of")
def computed_under_no_grad(t):
    w = t.ones(3, requires_grad=True)
    with t.no_grad():
        loss = (w * 2).sum()
    loss.backward()


@case(r"argmax", r"softmax|no gradient|differentiable")
def through_argmax(t):
    scores = t.ones(2, 3, requires_grad=True)
    loss = scores.argmax(1).float().sum()
    loss.backward()


@case(r"> 0", r"sigmoid|no gradient|differentiable")
def through_a_comparison(t):
    scores = t.ones(3, requires_grad=True)
    loss = (scores > 0).float().mean()
    loss.backward()


@case(r"long\(\)", r"floating")
def through_whole_numbers(t):
    scores = t.ones(3, requires_grad=True)
    loss = (scores.long() * 1.5).sum()
    loss.backward()


@case(r"\bw\b.*no_grad|no_grad.*\bw\b", r"w -= |w\.sub_|in place")
def bound_again_under_no_grad(t):
    w = t.ones(3, requires_grad=True)
    for _step in range(2):
        loss = (w * w).sum()
        loss.backward()
        with t.no_grad():
            w = w - 0.1 * w.grad


@case(r"\bx\b", r"requires_grad=True|requires_grad_\(\)")
def nothing_requires_grad(t):
    x = t.ones(3)
    loss = (x * 2).sum()
    loss.backward()


# -- `.grad` is None ---------------------------------------------------------------------------------------------------
@case(r"w\.grad is None.*w = w - ", r"no_grad|w -=")
def a_step_makes_a_result(t):
    w = t.tensor([1.0, 2.0], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _step in range(2):
            (w**2).sum().backward()
            w = w - 0.1 * w.grad


@case(r"h\.grad is None.*(not a leaf|result)", r"h\.retain_grad\(\)")
def grad_of_a_result(t):
    w = t.ones(2, requires_grad=True)
    h = w * 2
    h.sum().backward()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        h.grad.mean()


@case(r"unused.*(was not used|none of)", r"forward|is not None")
def grad_of_an_unused_parameter(t):
    used, unused = t.ones(2, requires_grad=True), t.ones(2, requires_grad=True)
    (used * 2).sum().backward()
    unused.grad.norm()


@case(r"w\.grad is None", r"backward\(\)")
def grad_before_any_backward(t):
    w = t.ones(2, requires_grad=True)
    (w * 2).sum()
    w.grad.zero_()


@case(r"w\.grad is None.*opt\.zero_grad\(\)", r"before|set_to_none=False|after")
def grad_after_zero_grad(t):
    w = t.ones(2, requires_grad=True)
    opt = t.optim.SGD([w], lr=0.1)
    (w * 2).sum().backward()
    opt.zero_grad()
    w.grad.norm()


@case(r"x\.grad is None.*does not require grad", r"requires_grad")
def grad_of_data(t):
    x, w = t.ones(2), t.ones(2, requires_grad=True)
    (x * w).sum().backward()
    x.grad.abs()


# -- shapes and dtypes -------------------------------------------------------------------------------------------------
@case(r"fc2.*|Linear", r"in_features")
def layers_that_do_not_fit(t):
    class Net(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1, self.fc2 = t.nn.Linear(4, 8), t.nn.Linear(6, 2)

        def forward(self, x):
            return self.fc2(self.fc1(x))

    Net()(t.ones(3, 4))


@case(r"flatten|\[2, 8, 4, 4\]|128", r"in_features|flatten")
def not_flattened(t):
    net = t.nn.Sequential(t.nn.Conv2d(1, 8, 3), t.nn.Linear(128, 10))
    net(t.ones(2, 1, 6, 6))


@case(r"channels", r"in_channels")
def channels(t):
    t.nn.Conv2d(3, 8, 3)(t.ones(2, 1, 6, 6))


@case(r"channels", r"permute\(0, 3, 1, 2\)")
def channels_last(t):
    t.nn.Conv2d(3, 8, 3)(t.ones(2, 6, 6, 3))


@case(r"\[2, 4\].*\[2, 3\]|size 4.*size 3", r"broadcast")
def residual(t):
    x, h = t.ones(2, 3, requires_grad=True), t.ones(2, 4)
    h + x


@case(r"\b10\b.*\b6\b|\b6\b.*\b10\b|\[2, 3\]", r"-1")
def view_of_another_size(t):
    x = t.ones(2, 3, requires_grad=True)
    x.view(2, 5)


@case(r"not contiguous|transpose|stride|\bx\b", r"reshape")
def view_of_a_transpose(t):
    x = t.ones(2, 3, requires_grad=True)
    x.t().view(6)


@case(r"\[2, 3\].*\[2, 4\]|\ba\b.*\bb\b", r"except|dim")
def concatenation(t):
    a, b = t.ones(2, 3, requires_grad=True), t.ones(2, 4)
    t.cat([a, b], 0)


@case(r"\[2\].*\[3\]|\ba\b.*\bb\b", r"same shape|cat|pad")
def stack(t):
    a, b = t.ones(2, requires_grad=True), t.ones(3)
    t.stack([a, b])


@case(r"\b3\b", r"num_embeddings|0 to 2")
def word_out_of_range(t):
    t.nn.Embedding(3, 2)(t.tensor([0, 3]))


@case(r"\b5\b", r"number of classes|0 to 2|classes")
def class_out_of_range(t):
    scores, target = t.ones(2, 3, requires_grad=True), t.tensor([0, 5])
    t.nn.functional.cross_entropy(scores, target)


@case(r"target", r"long\(\)|int64")
def classes_as_floats(t):
    scores, target = t.ones(2, 3, requires_grad=True), t.tensor([0.0, 1.0])
    t.nn.CrossEntropyLoss()(scores, target)


@case(r"batch|\[4, 3\].*\[2\]", r"one (class|target)|first dimension|as many")
def batch_sizes(t):
    scores, target = t.ones(4, 3, requires_grad=True), t.tensor([0, 1])
    t.nn.functional.cross_entropy(scores, target)


@case(r"one value|more than 1 value|one number", r"eval\(\)|larger batch|drop_last")
def batch_norm_of_one_row(t):
    net = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.BatchNorm1d(2))
    net(t.ones(1, 2))


@case(r"float64|double|Double", r"\.float\(\)|\.to\(|dtype")
def numpy_is_float64(t):
    x = t.ones(2, 3, dtype=t.float64)
    t.nn.Linear(3, 1)(x)


@case(r"\bdim", r"-2|between|from")
def dimension_out_of_range(t):
    x = t.ones(2, 3, requires_grad=True)
    x.sum(dim=2)


@case(r"\[2, 3\]|expand", r"size 1")
def expand(t):
    x = t.ones(2, 3, requires_grad=True)
    x.expand(2, 6)


@case(r"\bloss\b|more than one|3 (elements|values|numbers)", r"any\(\)|all\(\)|item\(\)")
def truth_of_a_tensor(t):
    loss = t.ones(3, requires_grad=True)
    if loss > 0:
        pass


@case(r"2 elements|\bh\b", r"mean\(\)|sum\(\)|tolist\(\)")
def item_of_several(t):
    h = t.ones(2, requires_grad=True) * 2
    h.item()


@case(r"0.*1|between", r"sigmoid|with_logits")
def probability_above_one(t):
    score = t.ones(2, requires_grad=True) * 2
    t.nn.functional.binary_cross_entropy(score, t.ones(2))


@case(r"hidden|h0|batch", r"num_layers|batch")
def hidden_state(t):
    rnn = t.nn.LSTM(2, 3)
    rnn(t.ones(4, 5, 2), (t.zeros(1, 4, 3), t.zeros(1, 4, 3)))


# -- leaves, views, hooks ----------------------------------------------------------------------------------------------
@case(r"non-leaf|not a leaf|result", r"leaf|requires_grad_\(\)|detach\(\)")
def optimizer_of_a_result(t):
    scale = t.ones(2, requires_grad=True) * 0.1
    t.optim.SGD([scale], lr=0.1)


@case(r"\bw\b", r"no_grad")
def leaf_changed_in_place(t):
    w = t.ones(2, requires_grad=True)
    w += 1


@case(r"\bfirst\b|chunk", r"clone\(\)|out of place|out-of-place|\bfirst = ")
def part_of_a_chunk(t):
    first, _second = t.ones(4, requires_grad=True).clone().chunk(2)
    first.mul_(2)


@case(r"\bw\b|requires grad", r"detach\(\)")
def numpy_of_a_leaf(t):
    w = t.ones(2, requires_grad=True)
    w.numpy()


@case(r"\bh\b.*\[2\]", r"sum\(\)|mean\(\)")
def backward_of_several_numbers(t):
    h = t.ones(2, requires_grad=True) * 2
    h.backward()


@case(r"hook.*inplace|inplace.*hook|ReLU", r"inplace=False", r"Return a clone")
def hook_before_relu_in_place(t):
    net = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.ReLU(inplace=True))
    net[0].register_full_backward_hook(lambda *_: None)
    net(t.ones(1, 2))


@case(r"m\.last|\blast\b", r"m\.last.*detach\(\)|detach\(\)")
def copy_of_a_module_with_a_result(t):
    m = t.nn.Linear(2, 2)
    m.last = m(t.ones(1, 2))
    copy.deepcopy(m)


@case(r"v\[mask\] = 5\.0", r"outside `?no_grad|outside the|no_grad", r"getitem")
def mask_into_a_view(t):
    h, mask = t.ones(2, 2, requires_grad=True) * 1, t.tensor([True])
    with t.no_grad():
        v = h[:1]
    v[mask] = 5.0


@case(r"Scale\.backward|Scale", r"return g, None|None for|one gradient for each|one for each")
def too_few_gradients(t):
    class Scale(t.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            return x * factor

        @staticmethod
        def backward(ctx, g):
            return g

    Scale.apply(t.ones(2, requires_grad=True), 2.0).sum().backward()


@case(r"super\(\)\.__init__\(\)|__init__", r"super\(\)\.__init__\(\)")
def module_without_super(t):
    class Net(t.nn.Module):
        def __init__(self):
            self.fc = t.nn.Linear(1, 1)

    Net()


@case(r"layers", r"ModuleList")
def layers_in_a_list(t):
    class Net(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = [t.nn.Linear(1, 1)]

    net = Net()
    t.optim.SGD(net.parameters(), lr=0.1)


@case(r"\bidle\b", r"allow_unused=True")
def grad_of_what_was_not_used(t):
    used, idle = t.ones(2, requires_grad=True), t.ones(2, requires_grad=True)
    total = (used * 2).sum()
    t.autograd.grad(total, [used, idle])


@case(r"\by\b.*sqrt|sqrt.*\by\b|x \* x", r"1e-|eps|clamp|small")
def nan_in_a_rule(t):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with t.autograd.detect_anomaly():
            x = t.tensor([0.0, 4.0], requires_grad=True)
            y = (x * x).sqrt()
            y.sum().backward()


@case(r"non-finite|inf|nan", r"clip|learning rate|explain|finite")
def gradients_that_are_not_finite(t):
    w = t.zeros(1, requires_grad=True)
    w.log().sum().backward()
    t.nn.utils.clip_grad_norm_([w], 1.0, error_if_nonfinite=True)


@case(r"other\.1|1\.weight|bias|keys?", r"strict=False|same (layers|architecture)|same class")
def weights_of_another_network(t):
    one, other = t.nn.Linear(2, 2), t.nn.Sequential(t.nn.Linear(2, 2))
    other.load_state_dict(one.state_dict())


@case(r"PyTorch.*autolab|autolab.*PyTorch", r"[Ii]mport one", only="torch")
def two_libraries(t):
    import autolab

    autolab.nn.Linear(2, 1)(t.ones(1, 2))
