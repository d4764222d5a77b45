# Two paths lead back to x, and their gradients are added
import torch, autolab

x = torch.tensor(3.0, requires_grad=True)
a = x * 2
b = x * x
y = a + b

explorer = autolab.explore(y)
explorer.paths(x)
explorer
