"""What layers and losses make of an input that is no tensor, of another dtype, shape or order in memory: PyTorch's
words, dtypes, layouts."""

import pytest
from engine_outcomes import outcome
from goldens.oracle import check

import autolab
from autolab.engine.exact.failing import sentences

LAYERS = [
    "nn.Linear(2, 3)",
    "nn.Linear(2, 3, bias=False)",
    "nn.Sequential(nn.Linear(2, 2), nn.ReLU())",
    "nn.Conv2d(2, 3, 1)",
    "nn.RMSNorm(2)",
    "nn.LayerNorm(2)",
    "nn.BatchNorm1d(2)",
    "nn.Dropout(0.5)",
    "nn.Tanh()",
    "nn.Sigmoid()",
    "nn.SELU()",
    "nn.Softshrink()",
    "nn.Threshold(1, 2)",
    "nn.ZeroPad2d(1)",
    "nn.ReflectionPad1d(1)",
    "nn.PixelShuffle(1)",
    "nn.Unfold(1)",
    "nn.Embedding(4, 2)",
]
INPUTS = [
    "numpy.ones((2, 2), numpy.float32)",
    "[1.0, 2.0]",
    "None",
    "3",
    "{'a': 1}",
    "nn.Linear(1, 1)",
]
LOSSES = [
    "F.cross_entropy",
    "F.nll_loss",
    "F.kl_div",
    "F.binary_cross_entropy_with_logits",
]
FURTHER = [
    "F.rms_norm(torch.tensor([[1, 2, 3]]), (3,))",
    "F.rms_norm(torch.ones(2, 3).bool(), (3,))",
    "x = torch.tensor([[3., -1., 300.]]).half(); F.rms_norm(x, (3,)), F.rms_norm(x, (3,), x[0], 1e-3), F.rms_norm(x, (3,), torch.ones(3))",
    "x = torch.tensor([[3., -1., 2.]]).half().requires_grad_(); F.rms_norm(x, (3,)).sum().backward(); x.grad",
    # random numbers lie in the order of the input's memory
    "x = torch.ones(3, 5, 4).transpose(0, 1); [F.dropout(x), torch.bernoulli(x / 2), torch.bernoulli(x, 0.5), x.bernoulli(0.5), torch.rand(1)]",
    "x = torch.ones(5).expand(3, 5); [F.dropout(x), torch.rand_like(x), torch.zeros_like(x), torch.full_like(x, 2.), torch.empty_like(x).stride()]",
    "m = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.5, batch_first=True); [m(torch.ones(5, 3, 4)) > 0, torch.rand(1)]",
    # where memory repeats, results lie row by row
    "F.mse_loss(torch.ones(4, 1), torch.arange(4), reduction='none').view(-1)",
    "F.l1_loss(torch.ones(4, 1), torch.arange(4), reduction='none')",
    "F.smooth_l1_loss(torch.ones(4, 1), torch.arange(4), reduction='none')",
    "e = torch.arange(4).expand(4, 4); [e.float(), e.t().float(), e.double().half(), e / torch.ones(4, 1).expand(4, 4), e.float().view(-1)]",
    "e = torch.ones(4, 1).expand(4, 4); [e.double(), e - torch.arange(4).expand(4, 4), e + torch.arange(4.).double(), e ** torch.arange(4)]",
]


@pytest.mark.parametrize("given", INPUTS)
@pytest.mark.parametrize("layer", LAYERS)
def test_an_input_that_is_no_tensor(layer, given):
    source = f"import numpy; {layer}({given})"
    check("test_nn_inputs", f"{layer} of {given}", lambda torch: outcome(torch, source))


@pytest.mark.parametrize("loss", LOSSES)
def test_a_target_that_is_missing(loss):
    check("test_nn_inputs", loss, lambda torch: outcome(torch, f"{loss}(torch.ones(2, 3), None)"))


@pytest.mark.parametrize("source", FURTHER)
def test_same_as_torch(source):
    check(
        "test_nn_inputs",
        source,
        lambda torch: outcome(torch, source),
        only_cpu="layouts and texts; numbers are compared elsewhere",
    )


@pytest.mark.parametrize(
    "layer",
    [
        "nn.Linear(2, 3)",
        "nn.Dropout(0.5)",
        "nn.Tanh()",
        "nn.RMSNorm(2)",
    ],
)
def test_a_sentence_for_the_learner(layer):
    with pytest.raises(TypeError) as caught:
        eval(f"{layer}([1.0])", {"nn": autolab.nn})
    assert sentences(caught.value) == ["'input' was given [1.0]."]
