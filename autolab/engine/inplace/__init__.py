"""Memory that several tensors share: views, and how history follows a change in place."""
