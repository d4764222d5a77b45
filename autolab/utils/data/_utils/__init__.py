"""PyTorch's inner names that its documentation tells to use."""

from autolab.utils.data._utils import collate  # noqa: F401
