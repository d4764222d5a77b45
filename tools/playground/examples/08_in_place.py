# An in-place change breaks the backward pass, and explain() shows where
import torch, autolab

x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
with autolab.record():
    y = torch.exp(x)
    y += 1
    y.sum().backward()
