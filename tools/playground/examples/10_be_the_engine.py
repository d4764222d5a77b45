# Be the engine: decide what each node sends
import torch, autolab

x = torch.tensor(2.0, requires_grad=True)
w = torch.tensor(-1.0, requires_grad=True)
loss = (w * x + 3) * x

autolab.practice(loss)
