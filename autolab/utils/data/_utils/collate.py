"""`torch.utils.data._utils.collate`: where functions for your own classes are put into `default_collate_fn_map`."""

from autolab.utils.data.collate import (  # noqa: F401
    collate,
    default_collate,
    default_collate_fn_map,
    default_convert,
)
