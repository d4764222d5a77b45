# Six sigmoids in a row: watch the gradient vanish
import torch, autolab

x = torch.tensor(1.0, requires_grad=True)
y = x
for layer in range(6):
    y = torch.sigmoid(y)
y.backward(retain_graph=True)

print(f"the gradient of x is {x.grad.item():.6f}")
autolab.explore(y)
