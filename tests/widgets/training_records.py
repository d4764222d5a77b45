"""Sample training records, for tests of the code that stores and shows them."""


def records(count, epochs=1):
    """Return losses 1, 1/2, 1/3 …; validation at the end of each epoch."""
    for i in range(count):
        last = (i + 1) % (count // epochs) == 0
        yield {
            "epoch": i * epochs // count, "step": i + 1, "train_loss": 1 / (i + 1), "val_loss": 2 / (i + 1) if last else None,
            "gradient_norms": {"fc1": 10.0 / (i + 1), "fc2": 0.0},
        }  # fmt: skip
