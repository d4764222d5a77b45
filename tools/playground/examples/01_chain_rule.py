# The chain rule, one number at a time
import torch, autolab

x = torch.tensor(2.0, requires_grad=True)
with autolab.record() as recording:
    z = x * x + 3 * x
    z.backward()

print("dz/dx is", x.grad.item())
autolab.explore(recording)
