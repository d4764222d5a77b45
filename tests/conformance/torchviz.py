"""In torchviz's place while the course cells run. A picture's text form says nothing about it, so both engines give the
same one here; that autolab draws one is checked, what it draws is tested with the pictures."""

import sys

import graphviz


def _torch_tensor():
    """PyTorch's tensor class where PyTorch is loaded: autolab's has the same name."""
    return getattr(sys.modules.get("torch"), "Tensor", ())


class Picture:
    def __repr__(self):
        return "<a picture>"


def make_dot(var, params=None, show_attrs=False, show_saved=False, max_attr_chars=50):
    if not isinstance(var, _torch_tensor()):
        from autolab.viz import make_dot as draw

        picture = draw(var, params, show_attrs, show_saved, max_attr_chars)
        assert isinstance(picture, graphviz.Digraph) and "MulBackward0" in picture.source
    return Picture()
