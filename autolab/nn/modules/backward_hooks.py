"""Full backward hooks: identity nodes at the inputs and outputs of a module report its gradients."""

import warnings

from autolab.engine.autograd import modes
from autolab.engine.autograd.function import Function
from autolab.engine.core.errors import fail
from autolab.engine.core.tensor import Tensor

_DOCS = "https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"


class BackwardHookFunction(Function):
    """An identity function whose node, at a module's inputs or outputs, carries the backward hooks."""

    @staticmethod
    def forward(ctx, *args):
        ctx.mark_non_differentiable(*[arg for arg in args if not arg.requires_grad])
        return args

    @staticmethod
    def backward(ctx, *grads):
        return grads


class BackwardHook:
    """The full backward hooks of one forward call: store grad_output at the outputs, and use it at the inputs."""

    def __init__(self, module, user_hooks):
        self.module, self.user_hooks = module, user_hooks
        self.grad_outputs = None
        self.n_inputs = self.n_outputs = -1
        self.input_index = self.output_index = None

    def setup_input_hook(self, args):
        """Return `args` with their tensors passed through a node that reports grad_input."""
        args, self.input_index = self._through_identity(args, self._on_grad_input)
        self.n_inputs = len(args)
        return args

    def setup_output_hook(self, result):
        """Return `result` with its tensors passed through a node that reports grad_output."""
        outputs = result if isinstance(result, tuple) else (result,)
        outputs, self.output_index = self._through_identity(outputs, self._on_grad_output)
        self.n_outputs = len(outputs)
        return outputs if isinstance(result, tuple) else outputs[0]

    @staticmethod
    def _through_identity(values, hook):
        index = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
        tensors = [values[i] for i in index]
        if not (modes.is_grad_enabled() and any(t.requires_grad for t in tensors)):
            return values, None
        results = BackwardHookFunction.apply(*tensors)
        node = next(t.grad_fn for t in results if t.grad_fn is not None)
        node.register_hook(_called_hook(hook))
        changed = list(values)
        for i, tensor in zip(index, results, strict=True):
            changed[i] = tensor
        return (tuple(changed) if type(values) is tuple else type(values)(*changed)), index

    def _on_grad_input(self, grad_input, _):
        if self.grad_outputs is None:
            return None  # the outputs got no gradient: nothing to report
        result = _spread(self.input_index, grad_input, self.n_inputs)
        for hook in self.user_hooks:
            replacement = hook(self.module, result, self.grad_outputs)
            result = _result_of_hook(result, replacement)
        self.grad_outputs = None
        return tuple(result[i] for i in self.input_index)

    def _on_grad_output(self, _, grad_output):
        self.grad_outputs = _spread(self.output_index, grad_output, self.n_outputs)
        if self.input_index is None:
            self._without_differentiable_input()

    def _without_differentiable_input(self):
        """Run the hooks now if no input needs a gradient, because no node at the inputs will run."""
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module outputs since "
            f"no inputs require gradients. See {_DOCS}#torch.nn.Module.register_full_backward_hook for more "
            "details.",
            stacklevel=5,
        )
        for hook in self.user_hooks:
            result = hook(self.module, (None,) * self.n_inputs, self.grad_outputs)
            if result is not None and not (
                isinstance(result, tuple) and all(g is None for g in result)
            ):
                raise fail(
                    RuntimeError,
                    "Backward hook for Modules where no input requires gradient should always "
                    "return None or None for all gradients.",
                    "No input of this module requires a gradient, so there is no gradient to replace.",
                )
        self.grad_outputs = None


def _called_hook(method):
    """Return a function with PyTorch's name for it, which appears in PyTorch's errors."""

    def hook(*grads):
        return method(*grads)

    return hook


def _spread(index, values, size):
    result = [None] * size
    for i, value in zip(index, values, strict=True):
        result[i] = value
    return tuple(result)


def _result_of_hook(grads, replacement):
    """Return the hook's replacement of `grads`, or `grads` itself. Raise RuntimeError if their numbers differ."""
    if replacement is None:
        return grads
    if len(replacement) != len(grads):
        raise fail(
            RuntimeError,
            f"Backward hook returned an invalid number of grad_input, got {len(replacement)}, but expected {len(grads)}",
            "Return one gradient for each input.",
        )
    return replacement
