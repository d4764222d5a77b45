"""Nodes, the backward pass, grad modes, hooks, custom functions."""
