"""Displays are true: numbers stand as written, and every equation shown for generated programs is recomputed."""

import linecache
import math
import random
import re
from fractions import Fraction

import pytest

import autolab as torch
from autolab.trace import trace, truth
from autolab.trace.values import Value, exact, short, written

SPELLED = [
    "1.0003",
    "1024.25",
    "0.10",
    "1e-3",
    "2_000",
    "7",
    ".5",
    "0.333",
    "-1.5",
    "12.0",
    "-3",
    "250000",
    "1e5",
]


def program(seed):
    """Return the source lines of a small program on scalars: every result is used, numbers are written in many ways."""
    draw, lines, names = random.Random(seed), [], ["x", "y"]
    for i in range(8):
        a, b = draw.choice(names), draw.choice([draw.choice(names), draw.choice(SPELLED)])
        kinds = [
            f"{a} + {b}",
            f"{a} - {b}",
            f"{a} * {b}",
            f"{b} * {a}",
            f"{a} / {b}",
            f"{a} ** 2",
            f"-{a}",
            f"{b} - {a}",
        ]
        kinds += [
            f"torch.tanh({a})",
            f"torch.sin({a})",
            f"torch.sigmoid({a})",
            f"(0.01 * {a}).exp()",
            f"torch.clamp({a}, min=-2.50, max=1e3)",
        ]
        lines.append(f"t{i} = {draw.choice(kinds)}")
        names.append(f"t{i}")
    return lines + ["loss = " + " + ".join(names)]


def run(lines, **names):
    """Return a recording of source lines, with text that linecache knows like a notebook cell's, and its variables."""
    filename = f"<program {hash(tuple(lines))}>"
    source = "\n".join(lines) + "\n"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    names = {"torch": torch, **names}
    with torch.record() as recording:
        exec(compile(source, filename, "exec"), names)
        names["loss"].backward()
    for name, item in names.items():  # the names of a module, whose frame is gone
        if isinstance(item, torch.Tensor):
            names[name] = item
    return recording.trace(), names


def scalars(seed):
    draw = random.Random(1000 + seed)
    x, y = (draw.choice([0.5, 1 / 3, 1.2345678, -2.0, 0.1, 40.0, 1e-4]) for _ in range(2))
    return {"x": torch.tensor(x, requires_grad=True), "y": torch.tensor(y, requires_grad=True)}


# Convert a TeX formula to a Python expression by rewriting the text, without any code of the package that writes or
# checks formulas.
_FUNCTIONS = {
    "tanh": math.tanh,
    "sin": math.sin,
    "cos": math.cos,
    "sgn": lambda v: (v > 0) - (v < 0),
    "min": min,
    "max": max,
}


def worked_out(tex):
    """Return the number that a formula evaluates to; None if it contains more than this test can parse."""
    text = tex.replace(r"\left", "").replace(r"\right", "").replace(r"\cdot", "*")
    while r"\frac" in text:
        start = text.rindex(r"\frac")
        first = closing(text, start + 5)
        second = closing(text, first + 1)
        text = f"{text[:start]}(({text[start + 6 : first]})/({text[first + 2 : second]})){text[second + 1 :]}"
    text = re.sub(r"\\(tanh|sin|cos) (\([^()]*\)|[0-9.]+)", r"\1(\2)", text)
    text = (
        re.sub(r"\be\^", "E^", text)
        .replace("^{", "**(")
        .replace("{", "(")
        .replace("}", ")")
        .replace("^", "**")
    )
    text = re.sub(
        r"\[([^<>=\[\]]+?) (?:\\le|<) ([^\[\]]+?) (?:\\le|<) ([^\[\]]+)\]",
        r"((\1) <= (\2) <= (\3))",
        text,
    )
    text = text.replace("\\", "")
    if re.search(r"\b(?!tanh\b|sin\b|cos\b|min\b|max\b|E\b)[A-Za-z_]\w*", text):
        return None
    text = re.sub(r"(?<![\w.])(\d+\.?\d*|\.\d+)", r"F('\1')", text)
    return eval(
        text,
        {
            "F": Fraction,
            "E": math.e,
            **{n: lambda *v, f=f: f(*map(float, v)) for n, f in _FUNCTIONS.items()},
        },
    )


def closing(text, at):
    depth = 0
    for i in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if not depth:
            return i
    raise AssertionError(text)


def chains(t):
    """Yield every chain of equal or nearly equal formulas that a trace shows."""
    for part in (t.nodes, t.edges):
        yield from (item.tex_numbers for item in part if item.tex_numbers)
    yield from (f.tex for f in t.frames if f.tex)


@pytest.mark.parametrize("seed", range(60))
def test_every_shown_equation_of_numbers_is_true(seed):
    t, _ = run(program(seed), **scalars(seed))
    checked = 0
    for chain in chains(t):
        sides = [worked_out(side) for side in truth.split(chain)[::2]]
        for sign, left, right in zip(truth.split(chain)[1::2], sides, sides[1:]):
            if left is None or right is None:
                continue
            checked += 1
            left, right = float(left), float(right)
            if sign == "=":
                assert left == pytest.approx(right, rel=1e-12, abs=1e-300), chain
            else:
                assert sign == r"\approx" and left == pytest.approx(right, rel=0.03, abs=1e-30), (
                    chain
                )
    assert checked >= 10


@pytest.mark.parametrize("seed", range(60))
def test_every_sentence_says_whether_its_number_is_the_number(seed):
    t, _ = run(program(seed), **scalars(seed))
    known = {n.label: n.value.data for n in t.nodes}
    for frame in t.frames:
        if frame.event != "compute":
            continue
        node = t.node(frame.node)
        call, sign, number = re.fullmatch(r"\S+ = (.+) ([=≈]) (\S+)", frame.text).groups()
        assert (sign == "=") == (float(number) == node.value.data), frame.text
        assert float(number) == pytest.approx(node.value.data, rel=0.006), frame.text
        expression = re.sub(
            r"(?<![\w.])[A-Za-z]\w*(?![\w(=])", lambda m: f"({known[m[0]]!r})", call
        )
        functions = {
            "tanh": math.tanh,
            "sin": math.sin,
            "exp": math.exp,
            "sigmoid": lambda v: (1 + math.tanh(v / 2)) / 2,
        }
        functions |= {"clamp": lambda v, min, max: sorted([min, v, max])[1]}
        near = 1e-5 * max([abs(v) for v in known.values()])
        assert eval(expression, functions) == pytest.approx(node.value.data, rel=1e-4, abs=near), (
            frame.text
        )


@pytest.mark.parametrize("seed", range(0, 60, 5))
def test_numbers_stand_in_the_sentences_as_in_the_source(seed):
    lines = program(seed)
    t, _ = run(lines, **scalars(seed))
    literal = re.compile(r"(?<![\w.])-?(?:\d[\d_]*\.?\d*|\.\d+)(?:e-?\d+)?(?![\w.\]])")
    for line in lines[:-1]:
        written_there = {w.lstrip("-") for w in literal.findall(line.partition("= ")[2])}
        said = " ".join(
            f.text for f in t.frames if f.event == "compute" and t.node(f.node).source.text == line
        )
        assert {w for w in written_there if w not in said} == set(), (line, said)


@pytest.mark.parametrize(
    ("item", "text", "same", "all_digits"),
    [
        (0.25, "0.25", True, "0.25"), (0.2501, "0.250", False, "0.2501"), (1.0004, "1.00", False, "1.0004"),
        (2048.5, "2.05e+03", False, "2048.5"), (2048.0, "2048", True, "2048.0"), (4e8, "4e+08", True, "400000000.0"),
        (-0.4996, "-0.500", False, "-0.4996"), (654321, "6.54e+05", False, "654321"), (0.0, "0", True, "0.0"),
        (float("nan"), "nan", True, "nan"), (float("-inf"), "-inf", True, "-inf"), (True, "True", True, "True"),
    ],
)  # fmt: skip
def test_zeros_at_the_end_say_that_digits_were_left_out(item, text, same, all_digits):
    assert (short(item), exact(item), written(item)) == (text, same, all_digits)


def test_a_number_that_was_not_spelled_there_has_all_its_digits():
    x, third = torch.tensor(2.0, requires_grad=True), 1 / 3
    with torch.record() as recording:
        y = x * third
        y = torch.nn.LeakyReLU(2e-2)(y)
    assert [f.text.partition(" = ")[2] for f in recording.trace().frames] == [
        "x * 0.3333333333333333 ≈ 0.667",
        "leaky_relu(y, negative_slope=0.02) ≈ 0.667",
    ]
    assert trace(x * 2.0002).frames[0].text.endswith(" = x * 2.0002 ≈ 4.00")


def test_a_negative_number_keeps_its_sign_under_a_power():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.record() as recording:
        y = (-2.5) ** x  # noqa: F841
    node = recording.trace().nodes[-1]
    assert (node.call, node.tex) == ("(-2.5) ** x", r"y = \left(-2.5\right)^{x}")


@pytest.mark.parametrize(
    ("left", "right", "same", "sign"),
    [
        (r"0.667 \cdot 3", "2", False, r"\approx"), (r"0.25 \cdot 3", "0.75", True, "="),
        (r"\tanh 0.5", "0.462", False, r"\approx"), (r"1 \cdot 10^{17} + 1", r"1 \cdot 10^{17}", True, r"\approx"),
        ("1.00 - 1", "0.0003", False, ""), (r"10^{300} \cdot 10^{300}", r"\infty", True, ""),
        (r"\sum \begin{bmatrix}1 & 2\end{bmatrix}", "3", True, "="), (r"x \cdot 3", "6", True, "="),
        (r"\mathit{e}^{2}", "9", True, "="), ("e^{2}", "9", True, ""), (r"[0.5 > 0]", "1", True, "="),
    ],
)  # fmt: skip
def test_what_stands_between_two_sides(left, right, same, sign):
    assert truth.relation(left, right, same) == sign


def test_where_three_digits_mislead_there_are_more():
    x = torch.tensor(1.0003, requires_grad=True)
    assert trace(x - 1).nodes[-1].tex_numbers.endswith(r" \approx 1.0003 - 1")


def test_an_overflow_is_no_equation_of_numbers():
    x = torch.tensor(1e30, requires_grad=True)
    assert r"\overset{\mathrm{float32}}{=}" in trace(x * x).nodes[-1].tex_numbers


@pytest.mark.parametrize(
    ("function", "logits", "numbers"),
    [
        ("softmax", [1000.0, 1001.25, 999.5], "1001.25"),  # at three digits all would be 1000
        ("log_softmax", [1000.0, 1001.25, 999.5], "1001.25"),
        ("log_softmax", [0.25, 0.5, 20.5], r"\overset{\mathrm{float32}}{=}"),  # so it is with these steps in float32, too
        ("log_softmax", [0.0, 16.0], ""),  # the steps give 0 in float32, and -1.13e-7 without rounding; the kernel, which subtracts first, -1.19e-7
        ("log_softmax", [100000.3, 100001.7], ""), ("logsumexp", [20000.0, -20000.0], ""),  # too large to be worked out
    ],
)  # fmt: skip
def test_what_cancels_is_no_equation_unless_it_is_one(function, logits, numbers):
    y = getattr(torch, function)(torch.tensor(logits, requires_grad=True), 0)
    tex = trace(y, backward=False).nodes[-1].tex_numbers
    assert numbers in tex if numbers else tex == ""


@pytest.mark.parametrize("function", ["sigmoid", "tanh"])
def test_what_rounding_made_1_is_about_1(function):
    y = getattr(torch, function)(torch.tensor(30.7, requires_grad=True))
    assert y.item() == 1 and r" \approx " in trace(y).nodes[-1].tex_numbers


def test_a_bound_is_not_below_what_it_bounds():
    for seed in range(20):
        draw = random.Random(seed)
        value = Value.of([draw.uniform(-1, 1) * 10 ** draw.randint(-5, 6) for _ in range(100)])
        assert float(re.search(r"within ±(\S+),", value.text)[1]) >= max(
            abs(value.stats["min"]), abs(value.stats["max"])
        )


def test_a_derivative_that_is_one_number_is_said_once():
    x, w = torch.tensor(1.5, requires_grad=True), torch.tensor(-0.7, requires_grad=True)
    with torch.record() as recording:
        e = x.exp()
        y = e * x + w * x
        y.backward()
    said = {
        (e.child, e.slot): e.tex_numbers.rpartition("}")[2].strip()
        for e in recording.trace().edges
        if e.differentiable
    }
    assert r"\approx 4.48" in said.values() and "= -0.7" in said.values()
