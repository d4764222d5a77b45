"""Errors and warnings of `nn.functional` and of layers: PyTorch's type and words; and a note for the learner."""

import warnings

import re

import pytest
from goldens.oracle import check, error_of

import autolab

MISTAKES = [
    # activations
    *[
        f"F.{f}(torch.tensor([1, 2]))"
        for f in (
            "leaky_relu",
            "elu",
            "selu",
            "celu",
            "gelu",
            "silu",
            "softplus",
            "logsigmoid",
            "softshrink",
            "hardshrink",
            "glu",
        )
    ],
    "F.softmax(torch.tensor([[1, 2]]), 1)",
    "F.softmax(torch.tensor([[1, 2]]), 0)",
    "F.log_softmax(torch.tensor([[1, 2]]), 1)",
    "F.softmax(torch.ones(2, 2), 5)",
    "F.log_softmax(torch.ones(2, 2), -3)",
    "F.glu(torch.ones(2, 3))",
    "F.glu(torch.ones(2), 7)",
    "F.prelu(torch.ones(2, 2), torch.ones(3))",
    "F.prelu(torch.ones(2, 2).double(), torch.ones(1))",
    "F.prelu(torch.ones(2, 2), torch.ones(2, 2))",
    "F.gelu(torch.ones(2), approximate='x')",
    "F.celu(torch.ones(2), 0.)",
    "F.softshrink(torch.ones(2), -1)",
    "F.hardtanh(torch.ones(2), 1., 0.)",
    "nn.Hardtanh(1., 0.)",
    "F.dropout(torch.ones(2), 1.5)",
    "nn.Dropout(-0.1)",
    "F.relu(torch.ones(2, requires_grad=True), inplace=True)",
    "F.dropout(torch.ones(2, dtype=torch.int64))",
    # losses of differences
    "F.mse_loss(torch.ones(3), torch.ones(2))",
    "F.mse_loss(torch.ones(3), torch.ones(3), reduction='x')",
    "F.mse_loss(torch.tensor([1]), torch.tensor([1]))",
    "F.huber_loss(torch.ones(2), torch.ones(2), delta=-1.)",
    "F.smooth_l1_loss(torch.ones(2), torch.ones(2), beta=-1.)",
    "nn.HuberLoss(delta=0.)",
    "F.l1_loss(torch.tensor([1]), torch.tensor([2]))",
    "F.cosine_embedding_loss(torch.ones(2), torch.ones(2), torch.ones(2))",
    "F.kl_div(torch.ones(2), torch.tensor([1, 2]))",
    "F.kl_div(torch.ones(2), torch.ones(2), reduction='x')",
    # class numbers
    "F.nll_loss(torch.tensor(1.), torch.tensor(0))",
    "F.nll_loss(torch.ones(2, 3), torch.tensor([0, 1, 2]))",
    "F.nll_loss(torch.ones(2, 3), torch.ones(2, 1).long())",
    "F.nll_loss(torch.ones(2, 3), torch.tensor([0., 1.]))",
    "F.nll_loss(torch.ones(2, 3), torch.tensor([0, 1]), weight=torch.ones(2))",
    "F.nll_loss(torch.ones(2, 3), torch.tensor([0, 1]), weight=torch.ones(3).double())",
    "F.nll_loss(torch.ones(2, 3), torch.tensor([0, 3]))",
    "F.nll_loss(torch.ones(2, 3), torch.tensor([0, -1]))",
    "F.nll_loss(torch.ones(2, 3, 4), torch.ones(2, 5).long())",
    "F.nll_loss(torch.ones(2, 3, 4, 4), torch.ones(2, 4, 5).long())",
    "F.nll_loss(torch.ones(2, 3, 4, 4), torch.ones(2, 4).long())",
    "F.nll_loss(torch.ones(2, 3, 2, 2), torch.full((2, 2, 2), 5))",
    "F.nll_loss(torch.ones(2, 3, 2, 2), torch.ones(2, 2, 2))",
    "F.nll_loss(torch.tensor([[1, 2]]), torch.tensor([0]))",
    "F.cross_entropy(torch.ones(2, 3), torch.ones(2, 3).long())",
    "F.cross_entropy(torch.ones(2, 3), torch.ones(2, 4))",
    "F.cross_entropy(torch.ones(2, 3), torch.ones(2, 3), ignore_index=1)",
    "F.cross_entropy(torch.ones(2, 3), torch.tensor([0, 1]), label_smoothing=2.)",
    "F.cross_entropy(torch.ones(2, 3), torch.tensor([0, 1]), label_smoothing=1.5)",
    "F.cross_entropy(torch.ones(3), torch.tensor([0, 1]))",
    "F.cross_entropy(torch.ones(3), torch.tensor(1.))",
    "F.cross_entropy(torch.ones(2, 3), [0, 1])",
    "F.cross_entropy(torch.tensor([[1, 2]]), torch.tensor([0]))",
    "F.cross_entropy(torch.ones(2, 3), torch.tensor([0, 1]), reduction='x')",
    # probabilities
    "F.binary_cross_entropy(torch.tensor([1.5]), torch.tensor([1.]))",
    "F.binary_cross_entropy(torch.tensor([0.5]), torch.tensor([2.]))",
    "F.binary_cross_entropy(torch.tensor([0.5]), torch.tensor([1]))",
    "F.binary_cross_entropy(torch.ones(3), torch.ones(3, 1))",
    "F.binary_cross_entropy(torch.tensor([1]), torch.tensor([1]))",
    "F.binary_cross_entropy_with_logits(torch.ones(3), torch.ones(3, 1))",
    "F.binary_cross_entropy_with_logits(torch.ones(3), torch.tensor([1, 0, 1]))",
    "F.binary_cross_entropy_with_logits(torch.tensor([1, 2]), torch.ones(2))",
    # layers and tables
    "nn.Linear(3, 2)(torch.ones(1, 2))",
    "nn.Linear(3, 2)(torch.ones(2))",
    "nn.Linear(2, 2)(torch.ones(1, 2).double())",
    "nn.Linear(2, 2)(torch.ones(1, 2).long())",
    "nn.Unflatten(1, 3)",
    "nn.Unflatten(1, (2, 'a'))",
    "nn.Embedding(3, 2)(torch.tensor([3]))",
    "nn.Embedding(3, 2)(torch.tensor([-1]))",
    "nn.Embedding(3, 2)(torch.tensor([1.]))",
    "nn.Embedding(3, 2, padding_idx=3)",
    "F.embedding(torch.tensor([0]), torch.ones(3))",
    "F.embedding(torch.tensor([0]), torch.ones(3, 2), padding_idx=5)",
    "nn.Embedding.from_pretrained(torch.ones(3))",
    "nn.Embedding(3, 2, _weight=torch.ones(2, 2))",
    "F.one_hot(torch.tensor([-1]))",
    "F.one_hot(torch.tensor([3]), 2)",
    "F.one_hot(torch.tensor([1.]))",
    "F.cosine_similarity(torch.ones(2, 3), torch.ones(2, 4))",
    "nn.Parameter([1.])",
    "nn.Parameter(torch.tensor([1]))",
    "nn.ReLU(foo=1)",
    "nn.Linear(2)",
    # initial values
    "nn.init.xavier_uniform_(torch.ones(3))",
    "nn.init.kaiming_uniform_(torch.ones(2, 3), mode='x')",
    "nn.init.calculate_gain('x')",
    "nn.init.orthogonal_(torch.ones(2))",
]
WARNED = [
    "F.softmax(torch.ones(2))",
    "F.softmax(torch.ones(2, 2))",
    "F.softmax(torch.ones(2, 2, 2))",
    "F.log_softmax(torch.ones(2, 2))",
    "F.softmin(torch.ones(2, 2))",
    "nn.Softmax()(torch.ones(2, 3))",
    "F.mse_loss(torch.ones(3), torch.ones(3, 1))",
    "F.l1_loss(torch.ones(3), torch.ones(1))",
    "F.kl_div(torch.zeros(2), torch.ones(2))",
    "F.mse_loss(torch.ones(2), torch.zeros(2), size_average=False)",
    "nn.MSELoss(reduce=False)",
    "F.nll_loss(torch.ones(1, 2), torch.tensor([0]), reduce=False)",
    "nn.CrossEntropyLoss(size_average=True)",
    "nn.utils.clip_grad_norm_((p for p in []), 1.)",
]


def names(torch):
    return {"torch": torch, "nn": torch.nn, "F": torch.nn.functional}


@pytest.mark.parametrize("code", MISTAKES)
def test_error(code):
    found_late = (
        re.search(r"nll_loss\(.*[35-]|binary_cross_entropy\(|Embedding\(", code) is not None
    )
    only_cpu = (
        "the numbers are wrong: a GPU tells at the next wait (test_devices_demands.py)"
        if found_late
        else ""
    )
    check(
        "test_nn_errors", code, lambda torch: error_of(lambda: eval(code, names(torch))), only_cpu
    )


@pytest.mark.parametrize("code", MISTAKES)
def test_error_has_a_note(code):
    if code in ("nn.ReLU(foo=1)", "nn.Linear(2)", "nn.HuberLoss(delta=0.)"):
        return  # Python's own error about arguments, and none at all
    with pytest.raises(Exception) as caught:
        eval(code, names(autolab))
    assert getattr(caught.value, "__notes__", None), "no sentence for the learner"


@pytest.mark.parametrize("code", WARNED)
def test_warning(code):
    def warned(torch):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            torch.manual_seed(0)
            value = eval(code, names(torch))
        return {"value": value, "warnings": [[w.category.__name__, str(w.message)] for w in caught]}

    check("test_nn_errors", f"warning {code}", warned)
