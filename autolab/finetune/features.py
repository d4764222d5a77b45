"""Feature extraction: run the frozen part once, train a head on what it answered.

Source: J. Donahue et al., "DeCAF: A Deep Convolutional Activation Feature for Generic Visual Recognition",
https://arxiv.org/abs/1310.1531
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import autolab
from autolab.engine.autograd.modes import no_grad
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor
from autolab.nn import Identity, Module
from autolab.utils.data import TensorDataset


def cached_features(extractor: Module, batches: Iterable[Sequence[Tensor]]) -> TensorDataset:
    """A `TensorDataset` of (features, targets): what `extractor` answers to each batch of (inputs, targets).

    extractor: a frozen network without its head, in evaluation mode. batches: a DataLoader or a list of pairs. The
    features are as good as new in every epoch only while the extractor stays as it is and the inputs are not augmented
    at random: the same features are served each time.

    Raises RuntimeError when a module is in training mode or a parameter is trained, ValueError when there is no batch.
    """
    training = [
        name or type(module).__name__
        for name, module in extractor.named_modules()
        if module.training
        and not isinstance(module, Identity)  # often put in the place of the head after eval()
    ]
    if training:
        message = f"the feature extractor is in training mode: {', '.join(training[:5])}"
        note = "Call extractor.eval(): batch normalisation and dropout would answer differently to every batch."
        raise fail(RuntimeError, message, note)
    trained = [name for name, parameter in extractor.named_parameters() if parameter.requires_grad]
    if trained:
        message = f"the feature extractor is not frozen: {', '.join(trained[:5])} require gradients"
        raise fail(
            RuntimeError,
            message,
            "Call freeze(extractor): training would not reach it through stored features.",
        )
    with no_grad():
        pairs = [(extractor(inputs), targets) for inputs, targets in batches]
    if not pairs:
        raise fail(
            ValueError,
            "there are no batches to extract features from",
            "Check that the data set is not empty.",
        )
    return TensorDataset(*(autolab.cat(column) for column in zip(*pairs)))
