"""Stateless functions of neural networks (`torch.nn.functional`).

Source: https://docs.pytorch.org/docs/2.13/nn.functional.html
"""

from autolab.engine import absent as _absent
from autolab.engine.exact import signatures as _signatures
from autolab.engine.ops.functions import NAMESPACES
from autolab.nn.functional import activation
from autolab.nn.functional.activation import *  # noqa: F403
from autolab.nn.functional.attention import (
    multi_head_attention_forward,
    scaled_dot_product_attention,
)
from autolab.nn.functional.bags import embedding_bag
from autolab.nn.functional.basic import (
    alpha_dropout,
    bilinear,
    cosine_similarity,
    dropout,
    dropout1d,
    dropout2d,  # noqa: F401
    dropout3d,
    embedding,
    feature_alpha_dropout,
    normalize,
    one_hot,
    pairwise_distance,
)
from autolab.nn.functional.classification import cross_entropy, nll_loss
from autolab.nn.functional.loss import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cosine_embedding_loss,
    gaussian_nll_loss,
    hinge_embedding_loss,
    huber_loss,
    kl_div,
    l1_loss,
    margin_ranking_loss,
    mse_loss,
    multilabel_soft_margin_loss,
    poisson_nll_loss,
    smooth_l1_loss,
    soft_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from autolab.nn.functional.margins import multi_margin_loss, multilabel_margin_loss
from autolab.nn.functional.normalization import (
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    local_response_norm,
    rms_norm,
)
from autolab.nn.functional.pooling import lp_pool1d, lp_pool2d

__all__ = [
    "alpha_dropout", "batch_norm", "bilinear", "binary_cross_entropy", "binary_cross_entropy_with_logits",
    "cosine_embedding_loss", "cosine_similarity", "cross_entropy", "dropout", "dropout1d", "dropout2d", "dropout3d",
    "embedding", "embedding_bag", "feature_alpha_dropout", "gaussian_nll_loss", "group_norm", "hinge_embedding_loss",
    "huber_loss", "instance_norm", "kl_div", "l1_loss", "layer_norm", "local_response_norm", "lp_pool1d", "lp_pool2d",
    "margin_ranking_loss", "mse_loss", "multi_head_attention_forward", "multi_margin_loss", "multilabel_margin_loss",
    "multilabel_soft_margin_loss", "nll_loss", "normalize", "one_hot", "pairwise_distance", "poisson_nll_loss",
    "rms_norm", "scaled_dot_product_attention", "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]  # fmt: skip
__all__ += activation.__all__
__all__ += list(NAMESPACES["nn.functional"])

globals().update(NAMESPACES["nn.functional"])  # what op records put here themselves
_signatures.put_in_front({"nn.functional": globals()})

__getattr__ = _absent.getattr_of("torch.nn.functional")
