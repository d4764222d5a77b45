# A network of two layers learns for one step
import torch, autolab
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
inputs = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
targets = torch.tensor([[0.0], [1.0], [1.0], [0.0]])

with autolab.record() as recording:
    loss = nn.functional.mse_loss(model(inputs), targets)
    loss.backward()
    optimizer.step()

autolab.explore(recording)
