"""Solutions of lesson 2, for `autolab.lessons.solutions`, which says how they are written."""
# ruff: noqa: F811
# mypy: ignore-errors

import numpy as np

import autolab as torch
from autolab import nn
from autolab.nn import functional as F


# %% 02.1
def kernel_time(nbytes, operations):
    memory, arithmetic = nbytes / (0.7 * 320e9), operations / (0.7 * 8.1e12)
    return max(memory, arithmetic, 2.5e-6)


# %% 02.1: the largest of a list
def kernel_time(nbytes, operations):
    times = [2.5e-6, nbytes / (0.7 * 320e9), operations / (0.7 * 8.1e12)]
    return sorted(times)[-1]


# %% 02.2
def answer_on(model, x, device):
    model.to(device)
    x = x.to(device)
    return model(x)


# %% 02.2: in one line
def answer_on(model, x, device):
    return model.to(device)(x.to(device))


# %% 02.3
def device_weight(start, device):
    return (2 * start).to(device).requires_grad_()


# %% 02.3: as a parameter
def device_weight(start, device):
    return torch.nn.Parameter(2 * start.to(device))


# %% 02.4
def to_array(t):
    return t.detach().cpu().numpy().copy()


# %% 02.4: NumPy makes the copy
def to_array(t):
    return np.array(t.detach().cpu())


# %% 02.5
class Noisy(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.register_buffer("scale", scale)

    def forward(self, x):
        offset = torch.full((x.shape[-1],), 0.5, device=x.device)
        return x * self.scale + offset


# %% 02.5: the constant made where the input is
class Noisy(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.register_buffer("scale", scale)

    def forward(self, x):
        return x * self.scale + x.new_full((x.shape[-1],), 0.5)


# %% 02.6
def time_it(work, clock):
    torch.cuda.synchronize()
    start = clock()
    work()
    torch.cuda.synchronize()
    return clock() - start


# %% 02.6: with a clock that waits
def time_it(work, clock):
    def now():
        torch.cuda.synchronize()
        return clock()

    start = now()
    work()
    return now() - start


# %% 02.7
def centre(x):
    return x - x.mean(1, keepdim=True)


# %% 02.7: the missing dimension by an index
def centre(x):
    return x - x.mean(1)[:, None]


# %% 02.8
def on_device(loader, device):
    for x, y in loader:
        yield x.to(device), y.to(device)


# %% 02.8: as an expression
def on_device(loader, device):
    return ((x.to(device), y.to(device)) for x, y in loader)


# %% 02.9
def train_epoch(model, batches, optimizer, device):
    model.to(device)
    batch_loss = []
    for x, y in batches:
        x, y = x.to(device), y.to(device)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        batch_loss.append(loss.item())
    return float(np.mean(batch_loss))


# %% 02.9: with a sum that grows
def train_epoch(model, batches, optimizer, device):
    model.to(device)
    total, count = 0.0, 0
    for x, y in batches:
        loss = F.cross_entropy(model(x.to(device)), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total, count = total + loss.item(), count + 1
    return total / count


# %% 02.10
def bottleneck(rows):
    host = gpu = 0.0
    for row in rows:
        if row.device_type.name == "CUDA":
            gpu += row.self_device_time_total
        elif not row.key.startswith("cuda"):
            host += row.self_cpu_time_total
    return "host" if host > gpu else "GPU"


# %% 02.10: as two lists
def bottleneck(rows):
    kernels = [row for row in rows if row.device_type.name == "CUDA"]
    calls = [
        row for row in rows if row.device_type.name == "CPU" and not row.key.startswith("cuda")
    ]
    host = sum(row.self_cpu_time_total for row in calls)
    gpu = sum(row.self_device_time_total for row in kernels)
    return "host" if host > gpu else "GPU"


# %% 02.11a
def largest_batch(a, peak_a, b, peak_b, total):
    each = (peak_b - peak_a) / (b - a)
    fixed = peak_a - a * each
    return max(0, int((total - fixed) // each))


# %% 02.11a: counted from the first measurement on
def largest_batch(a, peak_a, b, peak_b, total):
    each = (peak_b - peak_a) / (b - a)
    more = (total - peak_a) // each
    return max(0, int(a + more))


# %% 02.11b
def mean_loss(model, batches):
    total = 0.0
    for x, y in batches:
        with torch.no_grad():
            total = total + F.mse_loss(model(x), y).item()
    return total / len(batches)


# %% 02.11b: in two lines
@torch.no_grad()
def mean_loss(model, batches):
    return sum(F.mse_loss(model(x), y).item() for x, y in batches) / len(batches)


# %% 02.12
def average_weighted(models, sizes):
    for same in zip(*(model.parameters() for model in models)):
        mean = sum(n * p.grad.to("cpu") for n, p in zip(sizes, same)) / sum(sizes)
        for p in same:
            p.grad = mean.to(p.device)


# %% 02.12: first weighed, then added
def average_weighted(models, sizes):
    for model, size in zip(models, sizes):
        for p in model.parameters():
            p.grad = p.grad * (size / sum(sizes))
    for same in zip(*(model.parameters() for model in models)):
        whole = sum(p.grad.cpu() for p in same)
        for p in same:
            p.grad = whole.to(p.device)


# %% 02.13
def scaled_step(optimizer, scale):
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    if not all(p.grad.isfinite().all() for p in parameters):
        return scale / 2
    for p in parameters:
        p.grad = p.grad / scale
    optimizer.step()
    return scale


# %% 02.13: divided first, then looked at
def scaled_step(optimizer, scale):
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    for p in parameters:
        p.grad /= scale
    if any(not torch.isfinite(p.grad).all() for p in parameters):
        return 0.5 * scale
    optimizer.step()
    return scale


# %% 02.14
class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
        )  # fmt: skip
        self.head = nn.Sequential(
            nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)
        )

    def forward(self, x):
        return self.head(self.body(x).flatten(1))


def train_lenet(images, labels, device):
    model = LeNet().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for _ in range(40):
        for x, y in zip(images.split(16), labels.split(16)):
            loss = F.cross_entropy(model(x.to(device)), y.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return model, losses


# %% 02.14: without a class, and with a loader
def train_lenet(images, labels, device):
    layers = [nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2)]
    layers += [nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
    layers += [nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)]
    model = nn.Sequential(*layers).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    pairs = torch.utils.data.TensorDataset(images, labels)
    losses = []
    for _ in range(40):
        for x, y in torch.utils.data.DataLoader(pairs, batch_size=16, shuffle=True):
            loss = F.cross_entropy(model(x.to(device)), y.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return model, losses
