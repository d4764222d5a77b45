"""A training that writes a checkpoint after every step and goes on from one; run as a program it does so until it is
killed.

The recipe of docs/checkpoints.md: the state of the random stream at the beginning of the epoch gives the order of the
batches again, the one at the end of the step gives what is drawn next.
"""

import os
import sys

import autolab as torch

EPOCHS, BATCHES = 3, 4


def objects():
    torch.manual_seed(0)
    nn = torch.nn
    model = nn.Sequential(
        nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 2)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.5)
    data = torch.utils.data.TensorDataset(torch.randn(11, 3), torch.arange(11) % 2)
    return (
        model,
        optimizer,
        scheduler,
        torch.utils.data.DataLoader(data, batch_size=3, shuffle=True),
    )


def train(path, stop_after=None, on_step=None):
    """Train to the end, or for `stop_after` steps; from the checkpoint `path` if it is there. Returns what was
    reached."""
    model, optimizer, scheduler, loader = objects()
    epoch = batch = steps = 0
    saved = torch.load(path) if os.path.exists(path) else None
    if saved is not None:
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        scheduler.load_state_dict(saved["scheduler"])
        epoch, batch = saved["epoch"], saved["batch"]
    while epoch < EPOCHS:
        if saved is not None:
            torch.set_rng_state(saved["epoch_rng"])
        epoch_rng = torch.get_rng_state()
        batches = enumerate(loader, start=1)
        for _ in range(batch):
            next(batches)
        if saved is not None:
            torch.set_rng_state(saved["rng"])
            saved = None
        for batch, (x, y) in batches:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
            scheduler.step()
            state = {
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "scheduler": scheduler.state_dict(),
                "epoch": epoch,
                "batch": batch,
                "epoch_rng": epoch_rng,
                "rng": torch.get_rng_state(),
            }
            torch.save(state, path)
            steps += 1
            if on_step:
                on_step(steps)
            if steps == stop_after:
                return state
        epoch, batch = epoch + 1, 0
    return state if steps else torch.load(path)


if __name__ == "__main__":
    train(sys.argv[1], on_step=lambda step: print(step, flush=True))
