"""Distributions against PyTorch: draws for the same seed, densities, moments, gradients, texts and errors."""

import pytest
from goldens.oracle import check, error_of, same_as_torch

MADE = {
    "Normal": "D.Normal(v, v.exp())",
    "Normal of numbers": "D.Normal(0.5, 2)",
    "Uniform": "D.Uniform(v - 1, v + 2)",
    "Bernoulli": "D.Bernoulli(v.sigmoid())",
    "Bernoulli of logits": "D.Bernoulli(logits=v)",
    "Categorical": "D.Categorical(v.exp())",
    "Categorical of logits": "D.Categorical(logits=torch.stack([v, v.cos()]))",
    "MultivariateNormal": "D.MultivariateNormal(v, m @ m.T)",
    "MultivariateNormal, a batch": "D.MultivariateNormal(torch.stack([v, v * 2]), scale_tril=m)",
}


@pytest.mark.parametrize("name", MADE)
def test_distribution(name):
    def program(torch):
        v = torch.tensor([0.1, -0.5, 0.7], requires_grad=True)
        m = torch.tensor([[1.5, 0, 0], [0.3, 0.8, 0], [-0.2, 0.1, 1.1]])
        made = eval(MADE[name], {"D": torch.distributions, "v": v, "m": m, "torch": torch})
        torch.manual_seed(1)
        draws = made.sample(), made.sample((2, 3)), made.sample(torch.Size([400])).float().mean(0)
        log_prob = made.log_prob(draws[1])
        result = [repr(made), made.batch_shape, made.event_shape, draws, log_prob, made.entropy()]
        loss = log_prob.sum() + made.entropy().sum()
        if "Categorical" not in name:
            result += [made.mean, made.variance, made.stddev]
        if made.has_rsample:
            path = made.rsample((4,))
            loss, result = loss + (path**2).sum(), [*result, path]
        if "Bernoulli" in name or "Categorical" in name:
            result += [made.probs, made.logits]
        if "Multivariate" in name:
            result += [made.covariance_matrix, made.scale_tril]
        if "numbers" not in name:
            loss.backward()
            result.append(v.grad)
        return result

    check("test_distributions", name, program, rtol=2e-5, atol=1e-6)


@same_as_torch
def test_errors_of_distributions(torch):
    D, one = torch.distributions, torch.ones(2)
    if hasattr(
        D.Distribution, "set_default_validate_args"
    ):  # PyTorch's own modules may have switched it off
        D.Distribution.set_default_validate_args(True)
    normal = D.Normal(one, one)
    actions = {
        "scale": lambda: D.Normal(one, -one),
        "low": lambda: D.Uniform(one, one),
        "probability": lambda: D.Bernoulli(one * 2),
        "both": lambda: D.Bernoulli(one, one),
        "neither": lambda: D.Categorical(),
        "one number": lambda: D.Categorical(torch.tensor(0.5)),
        "negative": lambda: D.Categorical(torch.tensor([-1.0, 3.0])),
        "no matrix": lambda: D.MultivariateNormal(one),
        "vector": lambda: D.MultivariateNormal(one, one),
        "no vector": lambda: D.MultivariateNormal(one[0], one),
        "not definite": lambda: D.MultivariateNormal(one, -torch.eye(2)),
        "not lower": lambda: D.MultivariateNormal(one, scale_tril=torch.ones(2, 2)),
        "no tensor": lambda: normal.log_prob(1.0),
        "batch": lambda: normal.log_prob(torch.ones(3)),
        "event": lambda: D.MultivariateNormal(one, torch.eye(2)).log_prob(torch.ones(3)),
        "outside": lambda: D.Bernoulli(one / 2).log_prob(one * 3),
        "no class": lambda: D.Categorical(one).log_prob(torch.tensor(2)),
        "above": lambda: D.Uniform(0.0, 1.0).log_prob(torch.tensor(2.0)),
    }
    unchecked = D.Normal(one, -one, validate_args=False)
    return [{name: error_of(action) for name, action in actions.items()}, repr(unchecked)]
