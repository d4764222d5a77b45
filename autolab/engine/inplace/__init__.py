"""Memory that several tensors share: views, and how an in-place change updates their history."""
