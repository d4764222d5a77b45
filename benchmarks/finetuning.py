"""Fine-tuning against training from scratch, 10 examples a class: `python -m benchmarks.finetuning [--seeds 5] [--tune]
[--no-save]`

The task is `autolab.finetune.unseen_digits`: 50 images of the digits 5 to 9, turned and shifted, for a network that was
pretrained on the digits 0 to 4. Every method gets the same images, 60 epochs in batches of 25, SGD with momentum and a
cosine schedule. Its learning rate was chosen on validation images, for other seeds than those of the table; `--tune`
does that again. The test images are looked at once, at the end.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

import autolab as torch
from autolab import finetune, nn
from autolab.utils.data import DataLoader
from autolab.vision.models import resnet_digits

from . import report

EPOCHS, BATCH = 60, 25
RATES = (0.025, 0.05, 0.1, 0.2, 0.4, 0.8)
TUNING_SEEDS = (100, 101, 102)
TARGET = (
    10  # points of test accuracy that full fine-tuning must be better than training from scratch
)


# -- the methods: each builds (network, groups for the optimizer, {epoch: layer to unfreeze}) --------------------------
def pretrained():
    """The network that knows 0 to 4, with a new head."""
    model = resnet_digits(weights="DEFAULT")
    model.fc = nn.Linear(model.fc.in_features, 5)
    return model


def from_scratch(lr):
    model = resnet_digits(num_classes=5)
    return model, model.parameters(), {}


def head_only(lr):
    model = pretrained()
    finetune.freeze(model)
    finetune.unfreeze(model, "fc")
    return model.eval(), model.fc.parameters(), {}


def full(lr):
    model = pretrained()
    return model, model.parameters(), {}


def gradual(lr):
    """A layer more every eighth of the time, from the head down (Howard and Ruder 2018)."""
    model = pretrained()
    *earlier, head = finetune.layers(model)
    finetune.freeze(model)
    finetune.unfreeze(model, *head)
    return (
        model,
        model.parameters(),
        {EPOCHS // 8 * (i + 1): layer for i, layer in enumerate(reversed(earlier))},
    )


def discriminative(lr):
    """Each layer at half the rate of the next one."""
    model = pretrained()
    return model, finetune.parameter_groups(model, lr, decay=0.5), {}


def adapters(lr):
    """Low-rank adapters of rank 8 in all convolutions, and the head (Hu et al. 2021)."""
    model = pretrained()
    finetune.add_lora(model, "conv1", "layer*", r=8, alpha=16)
    finetune.unfreeze(model, "fc")
    return model, [p for p in model.parameters() if p.requires_grad], {}


METHODS = {
    "from scratch": (from_scratch, 0.4),
    "head only, cached features": (head_only, 0.4),
    "full": (full, 0.05),
    "gradual unfreezing": (gradual, 0.05),
    "discriminative rates": (discriminative, 0.2),
    "LoRA adapters": (adapters, 0.1),
}


# -- running them ------------------------------------------------------------------------------------------------------
def run(build, lr: float, seed: int) -> dict:
    """Trains with one method and seed: validation and test accuracy in percent, CPU seconds of training, trained and
    all parameters."""
    task = finetune.unseen_digits(per_class=10, seed=seed)
    torch.manual_seed(seed)
    model, groups, stages = build(lr)
    start = time.process_time()
    trained, data = model, task.train
    if build is head_only:
        trained, model.fc = model.fc, nn.Identity()
        data = finetune.cached_features(model, DataLoader(data, batch_size=50))
        model.fc = trained
    optimizer = torch.optim.SGD(groups, lr=lr, momentum=0.9, weight_decay=5e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
    loader = DataLoader(data, batch_size=BATCH, shuffle=True)
    for record in finetune.training(trained, optimizer, (loader, None), EPOCHS, scheduler=schedule):
        if record["epoch"] + 1 in stages:
            finetune.unfreeze(model, *stages[record["epoch"] + 1])
    seconds = time.process_time() - start
    trainable, parameters = finetune.count_parameters(model)
    accuracy = {
        name: 100 * finetune.evaluate(model, DataLoader(part, batch_size=180))[1]
        for name, part in (("validation", task.validation), ("test", task.test))
    }
    return {**accuracy, "seconds": seconds, "trainable": trainable, "parameters": parameters}


def tune() -> dict[str, float]:
    """The rate of each method with the best validation accuracy, mean over the tuning seeds; prints the whole
    search."""
    best = {}
    for name, (build, _) in METHODS.items():
        means = {
            lr: statistics.mean(run(build, lr, s)["validation"] for s in TUNING_SEEDS)
            for lr in RATES
        }
        best[name] = max(means, key=means.get)
        print(
            f"{name}: best {best[name]};",
            ", ".join(f"{lr}: {mean:.1f}" for lr, mean in means.items()),
            flush=True,
        )
    return best


def measure(seeds: int, rates: dict[str, float]) -> dict:
    """All methods on all seeds."""
    results = {}
    for name, (build, _) in METHODS.items():
        print(f"{name} …", file=sys.stderr, flush=True)
        runs = [run(build, rates[name], seed) for seed in range(seeds)]
        results[name] = {"learning_rate": rates[name], "runs": runs}
    return {
        "date": report.today(),
        "machine": report.machine(),
        "epochs": EPOCHS,
        "results": results,
    }


def table(record: dict) -> str:
    """Markdown: one line a method, and whether the target is met."""
    lines = [
        f"# Fine-tuning, {record['date']}",
        "",
        *(f"- {key}: {value}" for key, value in record["machine"].items() if key != "threads"),
        "",
        f"10 examples a class of the digits 5 to 9, {record['epochs']} epochs; test accuracy on 180 images in percent, mean ± "
        f"standard deviation (least) over {len(record['results']['full']['runs'])} seeds.",
        "",
        "| method | test accuracy | trained parameters | of all | learning rate | CPU seconds |",
        "|---|---|---|---|---|---|",
    ]
    for name, result in record["results"].items():
        tests, runs = [run["test"] for run in result["runs"]], result["runs"]
        spread = statistics.stdev(tests) if len(tests) > 1 else 0.0
        lines.append(
            f"| {name} | {statistics.mean(tests):.1f} ± {spread:.1f} ({min(tests):.1f}) | {runs[0]['trainable']:,} "
            f"| {runs[0]['trainable'] / runs[0]['parameters']:.1%} | {result['learning_rate']} "
            f"| {statistics.mean(run['seconds'] for run in runs):.1f} |"
        )
    gain = gain_of(record)
    verdict = "met" if gain >= TARGET else "missed"
    return "\n".join(
        [
            *lines,
            "",
            f"Full fine-tuning is {gain:.1f} points better than training from scratch (target {TARGET}: {verdict}).",
            "",
        ]
    )


def gain_of(record: dict) -> float:
    """Points of test accuracy between full fine-tuning and training from scratch, mean over the seeds."""
    full, scratch = (
        statistics.mean(run["test"] for run in record["results"][name]["runs"])
        for name in ("full", "from scratch")
    )
    return full - scratch


def main(arguments: list[str] | None = None) -> int:
    """Prints and saves the table; returns 1 when the target is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument(
        "--tune", action="store_true", help="choose the learning rates anew (three minutes)"
    )
    parser.add_argument("--no-save", action="store_true")
    options = parser.parse_args(arguments)
    rates = tune() if options.tune else {name: lr for name, (_, lr) in METHODS.items()}
    record = measure(options.seeds, rates)
    print(table(record))
    if not options.no_save:
        path = Path(report.RESULTS) / f"{record['date']}-finetuning.json"
        path.write_text(json.dumps(record, indent=1) + "\n")
        path.with_suffix(".md").write_text(table(record))
        print(f"saved {path} and .md")
    return 0 if gain_of(record) >= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
