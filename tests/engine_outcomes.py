"""What a few statements come to, with the engine or with PyTorch: everything about the result that a user can see."""

import ast
import math
import warnings


def outcome(torch, source: str):
    """Runs `source`, statements of which the last may be an expression. Returns [dtype, shape, strides, whether it
    requires grad, node's name, numbers] of a tensor, lists of these for several, "Type: message" for an error, anything
    else as it is, and None for a statement."""
    names = {
        "torch": torch,
        "F": torch.nn.functional,
        "nn": torch.nn,
        "nan": math.nan,
        "inf": math.inf,
    }
    statements = ast.parse(source).body
    last = statements.pop().value if isinstance(statements[-1], ast.Expr) else ast.Constant(None)
    torch.default_generator.manual_seed(
        0
    )  # torch.manual_seed keeps a stack of each call for a GPU that is not there yet
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(ast.Module(statements, []), "<outcome>", "exec"), names)
            return _seen(
                torch,
                eval(
                    compile(ast.fix_missing_locations(ast.Expression(last)), "<outcome>", "eval"),
                    names,
                ),
            )
        except Exception as error:
            return f"{type(error).__name__}: {error}"


def _seen(torch, value):
    if isinstance(value, (tuple, list)):
        return [_seen(torch, v) for v in value]
    if not isinstance(value, torch.Tensor):
        return value
    node = None if value.grad_fn is None else value.grad_fn.name()
    dtype = str(value.dtype).split(".")[-1]
    return [
        dtype,
        list(value.shape),
        list(value.stride()),
        value.requires_grad,
        node,
        value.detach(),
    ]
