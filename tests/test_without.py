"""The kit works without what a Python in a browser lacks: threads, processes, ctypes,
multiprocessing, Graphviz.

`make test-lite` runs the lessons themselves in this way.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

PROGRAM = """
import importlib, io, pkgutil, warnings
import IPython, matplotlib.pyplot, numpy
import without
without.remove_features()
warnings.simplefilter("ignore")

import autolab as torch
from autolab.viz import layout
left = {"autolab.utils.data.worker", "autolab.utils.data.workers", "autolab.viz.pygraphviz_process", "autolab.__main__"}
for found in pkgutil.walk_packages(torch.__path__, "autolab."):
    if found.name not in left and "torch_" not in found.name:  # those read real PyTorch
        importlib.import_module(found.name)
assert layout.which() == "browser" and torch.get_num_threads() == 1

x = torch.tensor([2.0, 3.0], requires_grad=True)
explorer = torch.explore((x * x).sum())
assert explorer.to_html("page.html").stat().st_size > 100_000

file = io.BytesIO()
torch.save({"x": x, "view": x[1:]}, file)
file.seek(0)
assert torch.load(file)["view"].tolist() == [3.0]

data = torch.utils.data.TensorDataset(torch.arange(6))
assert [b[0].tolist() for b in torch.utils.data.DataLoader(data, 3)] == [[0, 1, 2], [3, 4, 5]]
try:
    next(iter(torch.utils.data.DataLoader(data, 3, num_workers=1)))
except RuntimeError as error:
    assert "cannot start worker processes" in str(error) and "num_workers=0" in error.__notes__[0], error
else:
    raise AssertionError("a worker without processes")

images = torch.rand(8, 8, 32, 32, requires_grad=True)  # big enough for several threads, where there are any
torch.nn.functional.conv2d(images, torch.rand(16, 8, 5, 5)).sum().backward()
print("fine")
"""


def test_all_that_is_imported_and_the_explorer_work_without(tmp_path):
    env = os.environ | {
        "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tools'}",
        "PATH": "",
        "OPENBLAS_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert done.stdout == "fine\n", done.stderr
