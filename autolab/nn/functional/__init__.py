"""Stateless functions of neural networks (`torch.nn.functional`).

Source: https://docs.pytorch.org/docs/2.13/nn.functional.html
"""

from autolab.engine import absent as _absent
from autolab.engine.exact import signatures as _signatures
from autolab.engine.ops.functions import NAMESPACES
from autolab.nn.functional import activation
from autolab.nn.functional.activation import *  # noqa: F403
from autolab.nn.functional.attention import scaled_dot_product_attention
from autolab.nn.functional.basic import (
    cosine_similarity,
    dropout,
    dropout2d,
    embedding,
    normalize,
    one_hot,
)
from autolab.nn.functional.classification import cross_entropy, nll_loss
from autolab.nn.functional.loss import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cosine_embedding_loss,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    smooth_l1_loss,
)
from autolab.nn.functional.normalization import (
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    rms_norm,
)
from autolab.nn.functional.volumes import conv3d

__all__ = [
    "batch_norm", "binary_cross_entropy", "binary_cross_entropy_with_logits", "conv3d", "cosine_embedding_loss",
    "cosine_similarity", "cross_entropy", "dropout", "dropout2d", "embedding", "group_norm",
    "huber_loss", "instance_norm", "kl_div", "l1_loss", "layer_norm", "mse_loss", "nll_loss", "normalize", "one_hot",
    "rms_norm", "scaled_dot_product_attention", "smooth_l1_loss",
]  # fmt: skip
__all__ += activation.__all__
__all__ += list(NAMESPACES["nn.functional"])

globals().update(NAMESPACES["nn.functional"])  # functions that the op records define here
_signatures.put_in_front({"nn.functional": globals()})

__getattr__ = _absent.getattr_of("torch.nn.functional")
