# backward() adds to .grad, so clear it before each step
import torch, autolab

x = torch.tensor(3.0, requires_grad=True)
with autolab.record() as recording:
    for step in range(2):
        z = x * x
        z.backward()
        print("step", step, "x.grad is", x.grad.item())

autolab.explore(recording)
