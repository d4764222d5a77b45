"""Formulas: names and numbers go into templates without breaking them, and every one of them is MathML in the end."""

import programs
import pytest
from latex2mathml.converter import convert

import autolab as torch
from autolab.trace import formulas, trace
from autolab.trace.values import Value


@pytest.mark.parametrize(
    ("label", "tex"),
    [
        ("x", "x"), ("v3", "v_{3}"), ("x_1", "x_{1}"), ("alpha", r"\alpha"), ("theta2", r"\theta_{2}"),
        ("loss", r"\mathrm{loss}"), ("fc1.weight", r"\mathrm{fc1.weight}"), ("my_var", r"\mathrm{my\_var}"),
        ("y(2)", "y_{(2)}"), ("v3(2)", "{v_{3}}_{(2)}"),
        ("3", "3"), ("-0.5", "-0.5"), ("1.5e-07", r"1.5 \cdot 10^{-7}"), ("params['w']", r"\mathrm{params['w']}"),
    ],
)  # fmt: skip
def test_symbols(label, tex):
    assert formulas.symbol(label) == tex
    convert(tex)


@pytest.mark.parametrize(
    ("template", "names", "tex"),
    [
        (r"{self} \cdot {other}", {"self": "x", "other": "v_{3}"}, r"x \cdot v_{3}"),
        (r"e^{{self}}", {"self": "v_{3}"}, "e^{v_{3}}"),
        (r"\frac{{self}}{{other}}", {"self": "x", "other": "2"}, r"\frac{x}{2}"),
        (r"{self}_{{index}}", {"self": "v_{3}", "index": "0"}, "{v_{3}}_{0}"),
        (r"\mathrm{self}({self})", {"self": "x"}, r"\mathrm{self}(x)"),
        (r"{self} + {unknown}", {"self": "x"}, "x + {unknown}"),
    ],
)
def test_templates(template, names, tex):
    assert formulas.fill(template, names) == tex
    convert(tex)


@pytest.mark.parametrize(
    ("rule", "tex"),
    [
        ("{g}", "1"),
        ("-{g}", "-1"),
        (r"{g} \cdot {other}", "y"),
        (r"-{g} \cdot \frac{{self}}{{other}^{2}}", r"-\frac{x}{y^{2}}"),
        (r"\frac{{g}}{{other}}", r"\frac{1}{y}"),
        (r"{result} \cdot ({g} - \sum {g} \cdot {result})", None),
        (r"\sum {g}", None),
        (r"{g}[{index}]", None),
        (r"\mathrm{view}({g})", None),
    ],
)
def test_local_derivatives_are_what_the_gradient_is_multiplied_with(rule, tex):
    assert formulas.derivative(rule, {"self": "x", "other": "y", "result": "z", "index": "i"}) == tex


@pytest.mark.parametrize(
    ("array", "tex"),
    [
        (2.0, "2"), (-0.5, "-0.5"), (1.5e-7, r"1.5 \cdot 10^{-7}"), (float("nan"), r"\mathrm{nan}"),
        (float("-inf"), r"-\infty"),
        ([1.0, -2.0], r"\begin{bmatrix}1 & -2\end{bmatrix}"), ([[1.0], [2.0]], r"\begin{bmatrix}1 \\ 2\end{bmatrix}"),
        ([1.0] * 5, None), ([[[1.0]]], None), ([], None), (True, r"\mathrm{True}"),
    ],
)  # fmt: skip
def test_few_numbers_are_written_out_many_are_not(array, tex):
    assert formulas.numbers(Value.of(array)) == tex


def test_a_sign_inside_a_formula_gets_parentheses():
    x = torch.tensor(-2.0, requires_grad=True)
    y = torch.tensor(3.0, requires_grad=True)
    node = trace(y * x).nodes[-1]
    assert (node.tex, node.tex_numbers) == (r"v_{1} = y \cdot x", r"-6 = 3 \cdot \left(-2\right)")


def test_the_chain_rule_stands_in_the_frames_with_numbers():
    x = torch.tensor(3.0, requires_grad=True)
    y = torch.tensor(-2.0, requires_grad=True)
    s = x * y
    z = s**2
    tex = [f.tex for f in trace(z).frames if f.tex]
    assert tex == [
        r"s = x \cdot y = 3 \cdot \left(-2\right) = -6",
        r"z = s^{2} = \left(-6\right)^{2} = 36",
        r"\bar{z} = 1",
        r"\bar{s} = \bar{z} \cdot \frac{\partial z}{\partial s} = 1 \cdot \left(-12\right) = -12",
        r"\bar{x} = \bar{s} \cdot \frac{\partial s}{\partial x} = \left(-12\right) \cdot \left(-2\right) = 24",
        r"\bar{y} = \bar{s} \cdot \frac{\partial s}{\partial y} = \left(-12\right) \cdot 3 = -36",
        r"x\mathrm{.grad} = \bar{x} = 24",
        r"y\mathrm{.grad} = \bar{y} = -36",
    ]


def test_matrices_show_the_rule_with_symbols():
    A = torch.ones(2, 3, requires_grad=True)
    B = torch.ones(3, 4, requires_grad=True)
    C = A @ B
    t = trace(C.sum())
    node = next(n for n in t.nodes if n.name == "C")
    assert (node.tex, node.tex_numbers) == (r"C = A \, B", "")
    assert [e.tex for e in t.edges if e.child == node.id] == [
        r"\bar{A} = \bar{C} \, B^{T}",
        r"\bar{B} = A^{T} \, \bar{C}",
    ]


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_every_formula_of_a_recording_is_mathml(name):
    recording = torch.record()
    try:
        with recording:
            programs.PROGRAMS[name](torch)
    except RuntimeError:
        assert name == "backward_twice"
    t = recording.trace()
    found = {tex for part in (t.nodes, t.edges) for item in part for tex in (item.tex, item.tex_numbers)} | {
        f.tex for f in t.frames
    }
    assert len(found) > 3
    for tex in found - {""}:
        assert convert(tex).startswith("<math")


def test_every_ops_templates_are_mathml_once_filled():
    from autolab.engine.core.op import OPS

    for op in OPS.values():
        names = dict.fromkeys([*op.params, *op.outputs, "result", "g"], "v_{3}")
        for template in [op.latex, *op.vjp_latex.values()]:
            if template:
                tex = formulas.fill(template, names)
                assert convert(tex).startswith("<math"), (op.name, tex)
