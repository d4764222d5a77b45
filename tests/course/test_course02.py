"""What the prose of lesson 2 says agrees with what is stored in the notebook."""

import json
import re
from pathlib import Path

import pytest

COURSE = Path(__file__).parents[2] / "course"
NOTEBOOKS = [COURSE / "02_gpu.ipynb", *sorted((COURSE / "more").glob("02_*.ipynb"))]
CELLS = {(path.stem, c["id"]): c for path in NOTEBOOKS for c in json.loads(path.read_text(encoding="utf-8"))["cells"]}
PROSE = " ".join(" ".join("".join(c["source"]).split()) for c in CELLS.values() if c["cell_type"] == "markdown")


def printed(words):
    """What the code cell with these words printed."""
    (cell,) = [c for c in CELLS.values() if c["cell_type"] == "code" and words in "".join(c["source"])]
    return "".join("".join(o.get("text", "")) for o in cell.get("outputs", []))


@pytest.mark.parametrize(
    ("words", "cell", "output"),
    [
        ("about eight times slower than the CPU with one digit", "def step_time", "one digit: CPU 329 µs, GPU 2667 µs"),
        ("an epoch takes the GPU 3.8 s", "def step_time", "an epoch, digit by digit, on the GPU: 3.8 s"),
        ("three times faster with a batch of 64", "batch_sizes = [", "batch of 64: CPU  191.3 µs a digit, GPU   53.3 µs a digit"),
        ("Ten such products take 3.5 ms", "for _ in range(10):", "until it is computed: 3.532 ms"),
        ("= 0.05$ ms", "for _ in range(10):", "0.050 ms"),
        ("all results together come to 4.9 MiB", "def in_use", "after forward, recorded:        4.9 MiB more"),
        ("the GPU does 15 times as many", "ratios = {}", "a @ b: the GPU is 15 times faster"),
        ("the GPU's memory is about 11 times faster", "ratios = {}", "a + b: the GPU is 11 times faster"),
        ("The bus needs 1.3 ms for 8 million bytes", "created = seconds", "made on the CPU, then moved: 1.348 ms"),
        ("of its own memory in 0.04 ms", "created = seconds", "made on the GPU:             0.041 ms"),
        ("up to 128 rows nearly all of the time is **launch overhead**", "sizes = [8", "128 rows: CPU       13.2 µs, GPU      7.5 µs"),
        ("each launch costs it 5 µs", "def epoch(pinned)", "pinned   memory: the host spends     40 µs"),
        ("numbers below $3 \\cdot 10^{-8}$ become zero", "vanished =", "2e-8 in float16: 0.0"),
    ],
)
def test_number_in_the_prose_is_what_is_printed(words, cell, output):
    assert words in PROSE, "the sentence has changed: change this test with it"
    assert output in printed(cell)


def test_what_the_prose_concludes_holds_in_the_stored_outputs():
    busy = printed('host = sum(row.self_cpu_time_total')
    host, gpu = map(int, re.search(r"the host was busy for (\d+) µs, the GPU for (\d+) µs", busy).groups())
    assert host > gpu
    top = [(line.split()[0], int(line.split()[1])) for line in printed("def short_table").splitlines()[1:4]]
    assert [name for name, _ in top] == ["aten::convolution_backward", "aten::native_batch_norm", "NativeBatchNormBackward0"]
    assert top[1][1] + top[2][1] > top[0][1], "normalisation takes the host longer"
    peaks = printed("def two_halves")
    plain, again = (float(re.search(rf"{name} *: *[\d.]+ MiB on top, ([\d.]+) ms", peaks)[1]) for name in ("plain", "checkpointed"))
    assert again / plain == pytest.approx(4 / 3, rel=0.05), "a third more"
    assert "largest difference of the gradients: 0.0" in peaks
    run = printed("def accuracy")
    cpu, cuda = map(float, re.search(r"CPU ([\d.]+) s, GPU ([\d.]+) s", run).groups())
    assert 2 < cpu / cuda < 3, "not quite three times"
    assert int(re.search(r"validation images read correctly: (\d+) %", run)[1]) > 90
    speedups = [float(s) for s in re.findall(r"([\d.]+) times as fast", printed("speedup = {}"))]
    assert speedups[0] < 1 < speedups[1]
    halves = printed("def gradient_of(dtype")
    assert "torch.float16: the result takes 128 KiB, largest gradient 0.0e+00" in halves
    exact, scaled, too_far = map(float, re.findall(r": +(\S+)", printed("too_far, _")))
    assert scaled == pytest.approx(exact, rel=0.01) and too_far == float("inf")


def test_it_says_that_it_is_simulated():
    assert printed("torch.cuda.get_device_name()") == "This notebook runs on: Simulated T4\n"
