"""What the prose of lesson 2 says agrees with what is stored in the notebook."""

import json
import re
from pathlib import Path

import pytest

COURSE = Path(__file__).parents[2] / "course"
CELLS = {c["id"]: c for c in json.loads((COURSE / "02_gpu.ipynb").read_text(encoding="utf-8"))["cells"]}
PROSE = " ".join(" ".join("".join(c["source"]).split()) for c in CELLS.values() if c["cell_type"] == "markdown")


def printed(id):
    return "".join("".join(o.get("text", "")) for o in CELLS[id].get("outputs", []))


@pytest.mark.parametrize(
    ("words", "cell", "output"),
    [
        ("there the GPU is 38 times faster", "01-02", "a @ b: the GPU is 38 times faster"),
        ("the GPU's memory is about 11 times faster", "01-02", "a + b: the GPU is 11 times faster"),
        ("at 6 billion a second take 2.7 ms", "02-10", "made on the CPU, then moved: 2.68"),
        ("which is 0.07 ms", "02-10", "made on the GPU:             0.07"),
        ("a product of 1,500 rows takes 1.2 ms on the T4", "01-02", "a @ b on cuda:   1.195 ms"),
        ("= 0.05$ ms", "06-02", "0.050 ms"),
        ("up to 128 rows nearly all of it is **launch overhead**", "07-02", "128 rows: CPU       30.0 µs, GPU      7.5 µs"),
        ("eight times 5 µs", "08-06", "pinned True : the host spends     40 µs"),
        ("$8 \\cdot 4 = 32$ MiB", "11-02", "recorded:       32.0 MiB more"),
    ],
)
def test_number_in_the_prose_is_what_is_printed(words, cell, output):
    assert words in PROSE, "the sentence has changed: change this test with it"
    assert output in printed(cell)


def test_what_the_prose_concludes_holds_in_the_stored_outputs():
    host, gpu = map(int, re.search(r"the host was busy for (\d+) µs, the GPU for (\d+) µs", printed("10-03")).groups())
    assert host > gpu
    assert printed("10-02").splitlines()[1].startswith("aten::max_pool2d_with_indices_backward")
    plain, again = (float(re.search(rf"{name} *: *[\d.]+ MiB on top, ([\d.]+) ms", printed("11-18"))[1]) for name in ("plain", "checkpointed"))
    assert again / plain == pytest.approx(4 / 3, rel=0.05), "a third more"
    assert "the same gradients: True" in printed("11-18")
    cpu, cuda = map(int, re.search(r"time per batch: CPU (\d+) µs, GPU (\d+) µs", printed("09-04")).groups())
    assert cpu < cuda
    speedups = [float(s) for s in re.findall(r"([\d.]+) times as fast", printed("12-08"))]
    assert speedups[0] < 1 < speedups[1]


def test_it_says_that_it_is_simulated():
    assert printed("00-04") == "This notebook runs on: Simulated T4 - simulated: True\n"
