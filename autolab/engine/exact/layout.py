"""`layout`: the memory layout of a tensor. Source: torch.layout"""


class layout:
    """The layout of elements in memory; this engine has `torch.strided` only."""

    def __repr__(self):
        return "torch.strided"


strided = layout()
