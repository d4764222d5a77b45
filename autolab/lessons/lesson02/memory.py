"""Exercises on memory: how large a batch can be, and an evaluation that holds one batch at a time."""

from __future__ import annotations

import autolab as torch
from autolab.nn import functional as F

from ..exercise import Case, Exercise, Mistake
from .places import on_simulated

# 02.11a the largest batch ---------------------------------------------------------------------------------------------


def largest_batch(a, peak_a, b, peak_b, total):
    each = (peak_b - peak_a) / (b - a)
    always = peak_a - a * each
    return max(0, int((total - always) // each))


def _proportional(a, peak_a, b, peak_b, total):
    return int(total // (peak_b / b))


def _proportional_to_the_first(a, peak_a, b, peak_b, total):
    return int(total // (peak_a / a))


def _no_fixed_part(a, peak_a, b, peak_b, total):
    return int(total // ((peak_b - peak_a) / (b - a)))


def _may_be_negative(a, peak_a, b, peak_b, total):
    each = (peak_b - peak_a) / (b - a)
    return int((total - (peak_a - a * each)) // each)


def _rounded_up(a, peak_a, b, peak_b, total):
    each = (peak_b - peak_a) / (b - a)
    return max(0, -int(-(total - (peak_a - a * each)) // each))


def _not_rounded(a, peak_a, b, peak_b, total):
    each = (peak_b - peak_a) / (b - a)
    return max(0.0, (total - (peak_a - a * each)) / each)


fits = Exercise(
    id="02.11a",
    title="The largest batch",
    reference=largest_batch,
    cases=(
        Case(
            "100 rows: 1,500 bytes, 200 rows: 2,500 bytes, total 10,005",
            lambda: (100, 1500, 200, 2500, 10005),
        ),
        Case(
            "8 rows: 90,000, 2 rows: 30,000, total 100,000",
            lambda: (8, 90000, 2, 30000, 100000),
            public=False,
        ),
        Case(
            "1 row: 5,000, 2 rows: 6,000, total 3,000",
            lambda: (1, 5000, 2, 6000, 3000),
            public=False,
            why="Not even one row fits here, because the part that is always there is larger "
            "than the memory. So the result is 0.",
        ),
        Case(
            "10 rows: 700, 30 rows: 1,500, total 1,500",
            lambda: (10, 700, 30, 1500, 1500),
            public=False,
        ),
    ),
    mistakes=(
        *(
            Mistake(
                one,
                "You treated the peak as proportional to the batch. But one part of it is always "
                "there, for example the weights, so the peak is on a straight line, "
                "but not through zero.",
            )
            for one in (_proportional, _proportional_to_the_first)
        ),
        Mistake(
            _no_fixed_part,
            "The bytes of one row are correct. But the part that is always there has to fit too, "
            "so subtract it first.",
        ),
        Mistake(
            _may_be_negative,
            "This is correct if at least one row fits. But a batch cannot be negative, so return "
            "0 if not even one row fits.",
        ),
        Mistake(
            _rounded_up, "You rounded up, but the last row no longer fits. Round down instead."
        ),
        Mistake(_not_rounded, "A batch is a whole number of rows, so round down."),
    ),
    hints=(
        "The peak is a straight line: one part is always there, and each row adds the same amount.",
        "Each row costs (peak_b - peak_a) / (b - a). If you subtract a times this from peak_a, "
        "you get the part that is always there.",
        "max(0, int((total - always) // each))",
    ),
    leaves_out="free memory that is in small pieces",
)


# 02.11b one batch at a time -------------------------------------------------------------------------------------------

LAYERS, WIDTH, ROWS = 4, 64, 64


@on_simulated
def evaluated(answer, count, rows):
    torch.manual_seed(4)
    model = torch.nn.Sequential(*(torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS))).to("cuda")
    batches = [
        (torch.randn(rows, WIDTH, device="cuda"), torch.zeros(rows, WIDTH, device="cuda"))
        for _ in range(count)
    ]
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    result = answer(model, batches)
    if result is ...:
        return {"result": result}
    block = rows * WIDTH * 4
    peak, left = torch.cuda.max_memory_allocated() - before, torch.cuda.memory_allocated() - before
    value = result.item() if hasattr(result, "item") else result
    return {
        "mean loss": value,
        "type": type(result).__name__,
        "held no graph": peak < 4 * block,
        "one batch at a time": peak < (LAYERS + 6) * block,
        "left behind (bytes)": left,
        "weights have gradients": any(p.grad is not None for p in model.parameters()),
        "weights still require gradients": all(p.requires_grad for p in model.parameters()),
    }


def mean_loss(model, batches):
    total = 0.0
    with torch.no_grad():
        for x, y in batches:
            total += F.mse_loss(model(x), y).item()
    return total / len(batches)


def _tensors(model, batches):
    total = torch.zeros(())
    for x, y in batches:
        total = total + F.mse_loss(model(x), y)
    return total / len(batches)


def _item_at_the_end(model, batches):
    return _tensors(model, batches).item()


def _items(model, batches):
    return sum(F.mse_loss(model(x), y).item() for x, y in batches) / len(batches)


def _tensor_under_no_grad(model, batches):
    with torch.no_grad():
        return _tensors(model, batches)


def _not_divided(model, batches):
    return mean_loss(model, batches) * len(batches)


def _frozen(model, batches):
    model.requires_grad_(False)
    return mean_loss(model, batches)


frugal = Exercise(
    id="02.11b",
    title="An evaluation that fills the memory",
    observe=evaluated,
    given=_tensors,
    reference=mean_loss,
    cases=(
        Case("5 batches of 64 rows", lambda: (5, ROWS)),
        Case("12 batches of 128 rows", lambda: (12, 128), public=False),
        Case("1 batch of 256 rows", lambda: (1, 256), public=False),
    ),
    mistakes=(
        Mistake(
            _tensors,
            "total is a tensor with a graph, so it keeps the graphs of all batches in memory. "
            "You don't need gradients here, so put the loop under no_grad() and add loss.item().",
        ),
        Mistake(
            _item_at_the_end,
            "The result is a number, but until the end total holds the graphs of all batches. "
            "Call item() for each batch instead.",
        ),
        Mistake(
            _items,
            "There is only one graph at a time, which is much better. But an evaluation needs no "
            "graph at all, so use torch.no_grad().",
        ),
        Mistake(
            _tensor_under_no_grad,
            "No graph is recorded, which is correct. But the result is still a tensor on the "
            "GPU. Use item(), so that you get a plain number.",
        ),
        Mistake(_not_divided, "This is the sum over the batches. Return the mean instead."),
        Mistake(
            _frozen,
            "The memory is fine, but you switched off requires_grad for good, so the model can "
            "no longer be trained. Use no_grad() instead, because it only affects its block.",
        ),
    ),
    hints=(
        "Which variable keeps the end of each batch's graph?",
        "Put with torch.no_grad(): around the loop, so that nothing is recorded.",
        "total += F.mse_loss(model(x), y).item()",
    ),
    leaves_out="batches of different sizes, whose mean would have to be weighted",
)

EXERCISES = (fits, frugal)
