"""In torchviz's place while PyTorch runs the course cells: the picture is autolab's affair, only its type is printed."""
import graphviz


def make_dot(var, params=None, show_attrs=False, show_saved=False, max_attr_chars=50):
    return graphviz.Digraph()
