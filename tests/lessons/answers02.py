"""Answers to lesson 2 as learners give them: right ones, written in more ways than the solutions that the kit ships,
and wrong ones with the words that the checker has to find for them."""

import numpy as np
from lessons import given

import autolab as torch
from autolab.lessons.lesson02 import EXERCISES
from autolab.nn import functional as F

kernel_time, mean_loss = given("02.1")[0], given("02.11b")[0]


# 02.2 to 02.5


def answer_in_one_line(model, x, device):
    return model.to(device)(x.to(device))


def answer_on_the_host(model, x, device):
    return model.cpu()(x.cpu())


def weight_moved_first(start, device):
    return (2 * start.to(device)).requires_grad_()


def weight_detached(start, device):
    return (2 * start).requires_grad_().to(device).detach()


def array_cloned(t):
    return t.detach().clone().cpu().numpy()


def array_by_data(t):
    return t.cpu().detach().numpy()


class Buffered(torch.nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.register_buffer("scale", scale)

    def forward(self, x):
        return x * self.scale + x.new_full((x.shape[-1],), 0.5)


class FrozenParameter(torch.nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = torch.nn.Parameter(scale, requires_grad=False)

    def forward(self, x):
        return x * self.scale + 0.5


class MovedInForward(torch.nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x):
        self.scale = self.scale.to(x.device)
        return x * self.scale + 0.5


class BufferOnly(Buffered):
    def forward(self, x):
        return x * self.scale + torch.full((x.shape[-1],), 0.5)


# 02.6 to 02.8

time_it = given("02.6")[0]


def time_it_without_end(work, clock):
    torch.cuda.synchronize()
    start = clock()
    work()
    return clock() - start


def time_it_without_start(work, clock):
    start = clock()
    work()
    torch.cuda.synchronize()
    return clock() - start


def time_it_read_too_early(work, clock):
    torch.cuda.synchronize()
    start = clock()
    work()
    stop = clock()
    torch.cuda.synchronize()
    return stop - start


def time_it_warm(work, clock):
    work()
    return time_it(work, clock)


def centre_by_matrix(x):
    n = x.shape[1]
    return x - (x @ torch.ones(n, n, device=x.device)) / n


def centre_row_lists(x):
    return torch.stack([row - row.mean() for row in x])


def batches_moved(loader, device):
    for batch in loader:
        yield tuple(t.to(device) for t in batch)


def batches_listed(loader, device):
    return [(x.to(device), y.to(device)) for x, y in loader]


def batches_labels_left(loader, device):
    return ((x.to(device), y) for x, y in loader)


# 02.9


def epoch(model, batches, optimizer, device, keep=lambda loss: loss.item(), labels=True, zero=True):
    model.to(device)
    total = 0.0
    for x, y in batches:
        x, y = x.to(device), y.to(device) if labels else y
        loss = F.cross_entropy(model(x), y)
        if zero:
            optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total = total + keep(loss)
    return total / len(batches)


def epoch_float_of_tensor(model, batches, optimizer, device):
    return float(epoch(model, batches, optimizer, device, keep=lambda loss: loss.detach()))


# 02.10


def bottleneck(rows):
    host = gpu = 0.0
    for row in rows:
        if row.device_type.name == "CUDA":
            gpu += row.self_device_time_total
        elif not row.key.startswith("cuda"):
            host += row.self_cpu_time_total
    return "GPU" if gpu >= host else "host"


def bottleneck_with_waiting(rows):
    host = sum(r.self_cpu_time_total for r in rows)
    return (
        "host"
        if host > sum(r.self_device_time_total for r in rows if r.device_type.name == "CUDA")
        else "GPU"
    )


def bottleneck_twice(rows):
    host = sum(r.self_cpu_time_total for r in rows if "Synchronize" not in r.key)
    return "host" if host > sum(r.self_device_time_total for r in rows) else "GPU"


def bottleneck_of_totals(rows):
    host = sum(r.cpu_time_total for r in rows if "Synchronize" not in r.key)
    return (
        "host"
        if host > sum(r.self_device_time_total for r in rows if r.device_type.name == "CUDA")
        else "GPU"
    )


# 02.11


def largest_by_steps(a, peak_a, b, peak_b, total):
    each = (peak_a - peak_b) / (a - b)
    n = 0
    while peak_a + (n + 1 - a) * each <= total:
        n += 1
    return n


def line(a, peak_a, b, peak_b):
    each = (peak_b - peak_a) / (b - a)
    return each, peak_a - a * each


def mean_loss_inference(model, batches):
    losses = []
    for x, y in batches:
        with torch.no_grad():
            losses.append(float(F.mse_loss(model(x), y)))
    return sum(losses) / len(losses)


def mean_loss_graphs(model, batches):
    return (sum(F.mse_loss(model(x), y) for x, y in batches) / len(batches)).item()


def mean_loss_one_graph(model, batches):
    return sum(F.mse_loss(model(x), y).item() for x, y in batches) / len(batches)


def mean_loss_tensor(model, batches):
    with torch.no_grad():
        return sum(F.mse_loss(model(x), y) for x, y in batches) / len(batches)


# 02.12


def weighted_in_place(models, sizes):
    total = sum(sizes)
    for parameters in zip(*(m.parameters() for m in models)):
        mean = sum((p.grad * (n / total)).cpu() for n, p in zip(sizes, parameters))
        for p in parameters:
            p.grad.copy_(mean)


def weighted(models, sizes, weights):
    for parameters in zip(*(m.parameters() for m in models)):
        mean = sum(w * p.grad.cpu() for w, p in zip(weights, parameters))
        for p in parameters:
            p.grad = mean.to(p.device)


def weighted_first_only(models, sizes):
    for parameters in zip(*(m.parameters() for m in models)):
        parameters[0].grad = sum(
            n * p.grad.to(parameters[0].device) for n, p in zip(sizes, parameters)
        ) / sum(sizes)


def parameters_of(optimizer):
    return [p for group in optimizer.param_groups for p in group["params"]]


def scaled_in_place(optimizer, scale):
    if any(not torch.isfinite(p.grad).all() for p in parameters_of(optimizer)):
        return scale * 0.5
    for p in parameters_of(optimizer):
        p.grad /= scale
    optimizer.step()
    return scale


def scaled_by_the_solution(optimizer, scale):
    finite = torch.stack([p.grad.isfinite().all() for p in parameters_of(optimizer)]).all()
    if not finite:
        return scale / 2
    for p in parameters_of(optimizer):
        p.grad = p.grad / scale
    optimizer.step()
    return scale


def scaled_not_halved(optimizer, scale):
    if all(torch.isfinite(p.grad).all() for p in parameters_of(optimizer)):
        return scaled_in_place(optimizer, scale)
    return scale


def scaled_with_zeros(optimizer, scale):
    finite = all(torch.isfinite(p.grad).all() for p in parameters_of(optimizer))
    for p in parameters_of(optimizer):
        p.grad = torch.nan_to_num(p.grad, nan=0.0, posinf=0.0, neginf=0.0) / scale
    optimizer.step()
    return scale if finite else scale / 2


def scaled_not_divided(optimizer, scale):
    if any(not torch.isfinite(p.grad).all() for p in parameters_of(optimizer)):
        return scale / 2
    optimizer.step()
    return scale


def scaled_but_stepped(optimizer, scale):
    finite = all(torch.isfinite(p.grad).all() for p in parameters_of(optimizer))
    for p in parameters_of(optimizer):
        p.grad = p.grad / scale
    optimizer.step()
    return scale if finite else scale / 2


OTHER_WAYS = {
    "02.1": [lambda b, n: max(b / 224e9, n / 5.67e12, 0.0000025)],
    "02.2": [answer_in_one_line],
    "02.3": [weight_moved_first, lambda s, d: (2 * s).to(d).detach().requires_grad_()],
    "02.4": [array_cloned, lambda t: np.array(t.tolist(), dtype=np.float32)],
    "02.5": [Buffered],
    "02.7": [centre_by_matrix, lambda x: x - x.sum(-1, keepdim=True) / x.shape[1]],
    "02.8": [batches_moved],
    "02.9": [epoch, epoch_float_of_tensor],
    "02.10": [bottleneck],
    "02.11a": [largest_by_steps],
    "02.11b": [mean_loss_inference],
    "02.12": [weighted_in_place, lambda m, s: weighted(m, s, [n / sum(s) for n in s])],
    "02.13": [scaled_in_place, scaled_by_the_solution],
}
RIGHT = {id: given(id) + OTHER_WAYS.get(id, []) for id in EXERCISES}

WRONG = {
    "02.1": [
        (lambda b, n: b / (0.7 * 320e9) + n / (0.7 * 8.1e12), "You added both times"),
        (lambda b, n: max(b / 320e9, n / 8.1e12, 2.5e-6), "full speed of the data sheet"),
        (
            lambda b, n: max(b / (0.7 * 320e9), n / (0.7 * 8.1e12)),
            "no kernel takes less than 2.5 µs",
        ),
        (lambda b, n: 1e6 * kernel_time(b, n), "Your result is in microseconds"),
        (lambda b, n: max(n / (0.7 * 8.1e12), 2.5e-6), "You only counted the operations"),
    ],
    "02.2": [
        (lambda model, x, device: model.to(device)(x), "you don't keep it"),
        (lambda model, x, device: model(x.to(device)), "Now the model has to go there as well"),
        (
            lambda model, x, device: model.to(device)(x.to(device)).cpu(),
            "It should stay on the device",
        ),
        (answer_on_the_host, "result is on"),
        (lambda model, x, device: model.cuda()(x.cuda()), "The device is an argument"),
    ],
    "02.3": [
        (lambda s, d: (2 * s).requires_grad_().to(d), "not a leaf"),
        (weight_detached, "requires_grad is False"),
        (lambda s, d: 2 * s.to(d, copy=True).requires_grad_(), "now the product is recorded"),
        (lambda s, d: s.clone().to(d).requires_grad_(), "the factor 2 got lost"),
        (lambda s, d: (2 * s).requires_grad_(), "did not move"),
    ],
    "02.4": [
        (lambda t: t.detach().numpy(), "still on the GPU"),
        (lambda t: t.cpu().numpy(), "needs detach()"),
        (array_by_data, "neither detach(), cpu() nor numpy() copies"),
        (lambda t: t.tolist(), "This is a list"),
    ],
    "02.5": [
        (BufferOnly, "The constant that forward makes is still on the CPU"),
        (MovedInForward, "Look at scale is on"),
        (FrozenParameter, "a parameter is trained"),
        (
            type("Plain", (MovedInForward,), {"forward": lambda self, x: x * self.scale + 0.5}),
            "a plain attribute",
        ),
    ],
    "02.6": [
        (time_it_without_end, "the time of the launches"),
        (time_it_read_too_early, "read the clock after that"),
        (time_it_without_start, "what was in the queue before counts too"),
        (time_it_warm, "Look at work() was called"),
    ],
    "02.7": [
        (centre_row_lists, "several launches for each row"),
        (lambda x: x - x.mean(), "the mean of all numbers"),
        (lambda x: x - x.mean(0), "the mean of each column"),
        (lambda x: x - x.mean(1), "keepdim=True"),
        (lambda x: centre_by_matrix(x.cpu()).to(x.device), "to the CPU and back"),
    ],
    "02.8": [
        (batches_listed, "Use yield in the loop"),
        (batches_labels_left, "the labels y stay behind"),
        (lambda loader, device: loader, "you don't keep it"),
        (lambda loader, device: batches_moved(loader, "cuda:0"), "x on"),
    ],
    "02.9": [
        (lambda *a: epoch(*a, labels=False), "The loss needs the labels"),
        (
            lambda *a: epoch(*a, keep=lambda loss: loss.detach().numpy()),
            "NumPy cannot read the GPU",
        ),
        (lambda *a: epoch(*a, keep=lambda loss: loss), "keeps its graph alive"),
        (lambda *a: epoch(*a, keep=lambda loss: loss.detach()), "a tensor on the device"),
        (lambda *a: epoch(*a, zero=False), "You don't clear the gradients"),
        (lambda m, b, o, d: epoch(m, b, o, "cpu"), "It runs, but on the CPU"),
    ],
    "02.10": [
        (bottleneck_with_waiting, "in which the host only waits"),
        (bottleneck_twice, "each kernel is in the table twice"),
        (bottleneck_of_totals, "only own times may be added"),
        (lambda rows: "CPU", "Count it once"),
    ],
    "02.11a": [
        (lambda a, pa, b, pb, total: int(total // (pa / a)), "not through zero"),
        (lambda a, pa, b, pb, total: int(total // (pb / b)), "not through zero"),
        (lambda a, pa, b, pb, total: int(total // line(a, pa, b, pb)[0]), "has to fit too"),
        (
            lambda a, pa, b, pb, total: int(
                (total - line(a, pa, b, pb)[1]) // line(a, pa, b, pb)[0]
            ),
            "cannot be negative",
        ),
        (
            lambda a, pa, b, pb, total: max(
                0, (total - line(a, pa, b, pb)[1]) / line(a, pa, b, pb)[0]
            ),
            "a whole number",
        ),
    ],
    "02.11b": [
        (mean_loss_graphs, "until the end total holds the graphs"),
        (mean_loss_one_graph, "evaluation needs no graph at all"),
        (mean_loss_tensor, "so that you get a plain number"),
        (lambda model, batches: len(batches) * mean_loss(model, batches), "This is the sum"),
    ],
    "02.12": [
        (lambda m, s: weighted(m, s, s), "Divide by all of them"),
        (lambda m, s: weighted(m, s, [1 / len(s)] * len(s)), "Each part counts the same"),
        (lambda m, s: weighted(m, s, [1 / n for n in s]), "a large part has to count more"),
        (weighted_first_only, "Only the first replica gets the mean"),
        (lambda m, s: None, "Look at gradients of weight"),
    ],
    "02.13": [
        (scaled_but_stepped, "you took the step anyway"),
        (scaled_not_divided, "still the gradients of the scaled loss"),
        (scaled_not_halved, "return half of the scale"),
        (scaled_with_zeros, "skip the whole step"),
    ],
}

lenet, *_ = given("02.14")


def lenet_with_adam(images, labels, device):
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 6, 5), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(6, 16, 5), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(),
        torch.nn.Linear(400, 120), torch.nn.ReLU(), torch.nn.Linear(120, 84), torch.nn.ReLU(), torch.nn.Linear(84, 10),
    ).to(device)  # fmt: skip
    images, labels, losses = images.to(device), labels.to(device), []
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    for _ in range(40):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return [model, losses]


def lenet_of_tensors(images, labels, device):
    model, losses = lenet(images, labels, device)
    return model, [torch.tensor(one) for one in losses]


def lenet_untrained(images, labels, device):
    model, losses = lenet(images[:1], labels[:1], device)
    return model, losses


RIGHT["02.14"] = [*given("02.14"), lenet_with_adam]
WRONG["02.14"] = [
    (lambda images, labels, device: lenet(images, labels, "cpu"), "the model is still on the CPU"),
    (lenet_of_tensors, "The list contains tensors"),
    (lenet_untrained, "doesn't read its own training images yet"),
    (lambda images, labels, device: lenet(images, labels, device)[0], "return a pair"),
]

SKELETONS = {"02.5": ...}
