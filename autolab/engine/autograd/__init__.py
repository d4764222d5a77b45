"""Features built on the core: custom functions, hooks, `torch.autograd.functional`, gradient checks, anomaly
detection."""
