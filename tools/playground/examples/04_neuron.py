# One neuron: weights, a bias and tanh
import torch, autolab

inputs = torch.tensor([2.0, 0.0])
weights = torch.tensor([-3.0, 1.0], requires_grad=True)
bias = torch.tensor(6.88, requires_grad=True)

with autolab.record() as recording:
    out = torch.tanh((inputs * weights).sum() + bias)
    out.backward()

print("gradient of the weights:", weights.grad)
autolab.explore(recording)
