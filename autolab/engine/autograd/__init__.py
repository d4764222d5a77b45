"""What is built upon the core: custom functions, hooks, `torch.autograd.functional`, gradient checks, anomaly
detection."""
