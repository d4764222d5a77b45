# detach() cuts the graph: one factor counts as a constant
import torch, autolab

w = torch.tensor(3.0, requires_grad=True)
y = w.detach() * w
y.backward(retain_graph=True)

print("w.grad is", w.grad.item(), "and not 6, because one path is cut")
autolab.explore(y)
