"""The cells of `conformance/` that build graphs, recorded with both libraries: the traces are equal, except those
listed here."""

import importlib
import warnings
from types import SimpleNamespace

import pytest
from conformance import golden
from conformance.cells import run_cell

import autolab
from autolab.trace.captions.text import render

torch = pytest.importorskip("torch")
from test_torch_record import facts_of, text_of  # noqa: E402

DIFFERS = {
    "A call that failed is named as it was noticed: by a method, or by the operation under it.": [
        95, 96, 97, 98, 99, 100, 108, 109, 110, 111, 113, 115, 122, 123, 124, 125, 126, 127, 128, 129, 130, 131, 132, 135, 146, 344, 355, 356,
        366, 367, 369, 370,
    ],
    "What changed a view in place shows no node; filling one number is a copy; changes of a .grad are counted otherwise.": [
        104, 105, 151, 302, 306, 307, 309, 310, 450,
    ],
    "PyTorch computes by other operations (copies, casts, batches of gradients, norms of a list), or copies without one.": [
        93, 134, 142, 144, 364, 365, 368, 410, 444, 445,
    ],
    "The node of a module's full backward hook stands outside its module.": [292, 295],
    "torch.func and forward mode: the arithmetic that they come down to.": [373, 376],
    "autolab has no allow_mutation_on_saved_tensors, save_on_cpu or register_backward_hook.": [289, 296, 298],
    "autolab has no get_gradient_edge; a tensor made in inference mode is an ordinary one.": [83, 342],
    "When a node is freed that nothing holds; a result of a custom function without gradient; an error in anomaly mode.": [
        77, 358, 371, 461,
    ],
}  # fmt: skip
LISTED = {number for numbers in DIFFERS.values() for number in numbers}
CELLS = [
    n for n, cell in enumerate(golden.CELLS) if "grad" in cell["code"] or "backward" in cell["code"]
]


def recorded(code, module):
    library = importlib.import_module(module)
    namespace, modules = {"__name__": "__main__"}, {"torch": module}
    run_cell(golden.PRELUDE, namespace, modules)
    try:
        with warnings.catch_warnings(), autolab.record() as recording:
            warnings.simplefilter("ignore")
            run_cell(code, namespace, modules)
    finally:
        library.set_default_dtype(library.float32)
        library.set_grad_enabled(True)
        library.autograd.set_detect_anomaly(False)
    trace = recording.trace(module)
    return SimpleNamespace(trace=lambda: trace, text=lambda: render(trace))


@pytest.mark.parametrize("number", CELLS)
def test_a_cell_is_recorded_alike(number):
    ours, theirs = (
        recorded(golden.CELLS[number]["code"], module) for module in ("autolab", "torch")
    )
    if number in LISTED:
        assert (text_of(ours), facts_of(ours)) != (text_of(theirs), facts_of(theirs)), (
            f"cell {number} is equal now: take it off the list"
        )
    else:
        assert text_of(theirs) == text_of(ours)
        assert facts_of(theirs) == facts_of(ours)
