"""What to change, looked up by error message, for errors without a note of their own, such as PyTorch's."""

from __future__ import annotations

import re

_TABLE = {
    # shapes
    r"mat1 and mat2 shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)": "The last dimension of the input has {2} numbers, and the "
    "layer was made for {3}: use in_features={2}, or flatten what comes before it.",
    r"expected input\[(\d+), (\d+), (\d+), (\d+)\] to have (\d+) channels, but got (\d+)": "The layer was made for {5} channels, and dimension 1 "
    "of the input has {6}: use in_channels={6}{nhwc}.",
    r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\)": "Shapes are compared from the last dimension backwards to be "
    "broadcast: each pair of sizes must be equal, or one of them 1.",
    r"shape '(.+)' is invalid for input of size (\d+)": "The new shape must hold as many numbers, {2}. Put -1 for one dimension, and its size is "
    "computed.",
    r"view size is not compatible": "The numbers do not lie one after the other in memory, as after a transpose: use reshape(), which copies "
    "them if needed.",
    r"Sizes of tensors must match except in dimension (\d+)": "cat() joins along dim={1}: all tensors must have the same sizes except there.",
    r"stack expects each tensor to be equal size": "stack() needs tensors of the same shape. Use cat() to join them along a dimension that they "
    "have, or pad the shorter ones.",
    r"expanded size of the tensor \((\d+)\) must match the existing size \((\d+)\)": "expand() repeats only dimensions of size 1, and this one has "
    "size {2}. Use repeat() for copies.",
    r"Expected input batch_size \((\d+)\) to match target batch_size \((\d+)\)": "The loss needs one target for each of the {1} rows of scores, "
    "and got {2}.",
    r"Expected more than 1 value per channel when training": "Batch norm computes a mean over the batch, and one value per channel has no spread. "
    "Use a larger batch (drop_last=True in the DataLoader), or call eval() on the network.",
    r"Expected hidden\[(\d)\] size \((\d+), (\d+), (\d+)\), got": "The hidden state must have the shape (num_layers, batch size, hidden_size). "
    "The batch is dimension 1 of the input, or dimension 0 with batch_first=True: here it has {3} sequences.",
    r"Dimension out of range": "Dimensions are counted from 0, or backwards from -1.",
    # dtypes and values
    r"(mat1 and mat2|expected m1 and m2|mat1 and mat2 must) (to )?have the same dtype|same dtype, but got": "The operands have different dtypes. "
    "NumPy's numbers are float64: convert the input with .float(), or the network with .double().",
    r"expected (target dtype|scalar type)( to be)? Long": "Class indices must be int64: use target.long().",
    r"index out of range in self": "An index must lie between 0 and num_embeddings - 1. Count the words of the vocabulary, with those for padding "
    "and unknown words.",
    r"Target (-?\d+) is out of bounds": "Class {1} needs a score of its own: classes are counted from 0 to the number of classes - 1, so compare "
    "the labels with the last layer's out_features.",
    r"all elements of input should be between 0 and 1": "The loss takes probabilities, from 0 to 1: apply sigmoid() first, or use "
    "binary_cross_entropy_with_logits, which takes scores.",
    r"Boolean value of Tensor with more than one value": "Several numbers are not true or false together: say .any() or .all(), or take one "
    "number with .item().",
    r"elements? cannot be converted to Scalar": "item() needs exactly one number: reduce them with mean() or sum(), or use tolist().",
    r"norm of order .* is non-finite": "A gradient is inf or nan, so there is nothing to clip. Call explain() on a recording of the backward pass "
    "to see where it began; often the learning rate is too large, or log() or a division was given 0.",
    # leaves, views, modules
    r"a leaf Variable that requires grad is being used in an in-place|a view of a leaf Variable": "A leaf that requires grad may be changed in "
    "place only inside `with no_grad():`, as an optimizer does. Elsewhere make a new tensor: x = x + 1.",
    r"BackwardHookFunction(Backward)? is a view": "A full backward hook wraps the result of its module, and the next one changes it in place: use "
    "inplace=False there.",
    r"Output \d+ of \w+ is a view and is being modified inplace": "The results of chunk(), split() and unbind() share memory and may not be "
    "changed in place. Change a copy: call .clone() on it first, or write the change out of place.",
    r"A view was created in no_grad mode": "The view was made under no_grad, so it has no history, although its base has one. Take the view "
    "outside `no_grad`, or make the change inside it.",
    r"can't optimize a non-leaf Tensor": "An optimizer changes leaves, and this is the result of an operation. Make a leaf of its numbers: "
    "x = x.detach().requires_grad_().",
    r"Can't call numpy\(\) on Tensor that requires grad": "A NumPy array has no graph: use .detach().numpy() to look at the numbers.",
    r"graph leaves\) support the deepcopy": "Copy the numbers instead: keep x.detach() where a copy is made of it.",
    r"before Module\.__init__\(\) call": "Call super().__init__() in the first line of the class's __init__.",
    r"got an empty parameter list": "The optimizer found no parameters. parameters() is a generator, which can be used only once; and layers in a "
    "plain list or dict are not found: use nn.ModuleList or nn.ModuleDict.",
    r"incorrect number of gradients \(expected (\d+), got (\d+)\)": "backward must return one gradient for each of the {1} arguments of forward, "
    "None for those that need none: return {nones}.",
    r"Error\(s\) in loading state_dict": "The weights are those of a network that was built differently: {keys}. Build the same layers; or "
    "strict=False loads those that have the same names.",
    r"is not a differentiable|Only Tensors of floating point": "Only floating point numbers have gradients: use .float().",
}


def of_message(message: str) -> str:
    """Return what to change, "" for a message that is not in the table."""
    for pattern, advice in _TABLE.items():
        if found := re.search(pattern, message):
            groups = ["", *(g or "" for g in found.groups())]
            return advice.format(
                *groups, nhwc=_channels_last(groups), nones=_with_none(groups), keys=_keys(message)
            )
    return ""


def _keys(message: str) -> str:
    """Say which weights are missing, unexpected, or have another size."""
    found = re.findall(r"(?:Missing key|Unexpected key|size mismatch).*", message)
    return " ".join(found[:4]).rstrip(". ")


def _channels_last(groups: list[str]) -> str:
    """Add the other remedy if the channels of an image are the last dimension."""
    if len(groups) < 7 or groups[4] != groups[5]:
        return ""
    return "; if the channels come last, as in an image file, use x.permute(0, 3, 1, 2)"


def _with_none(groups: list[str]) -> str:
    return (
        ", ".join(["g", *["None"] * (int(groups[1]) - 1)])
        if groups[1:] and groups[1].isdigit()
        else ""
    )
