"""Formulas: names and numbers don't break the templates, and every formula converts to MathML."""

import numpy as np
import programs
import pytest
from latex2mathml.converter import convert

import autolab as torch
from autolab.trace.captions import formulas
from autolab.trace import trace, truth
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
        (r"{self} + {unknown}", {"self": "x"}, r"x + {\mathrm{unknown}}"),
        (r"\frac{1}{n} {self}^{T}", {"self": "x"}, r"\frac{1}{n} x^{T}"),
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
    assert (
        formulas.derivative(rule, {"self": "x", "other": "y", "result": "z", "index": "i"}) == tex
    )


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
    found = {
        tex for part in (t.nodes, t.edges) for item in part for tex in (item.tex, item.tex_numbers)
    } | {f.tex for f in t.frames}
    assert len(found) > 3
    for tex in found - {""}:
        assert convert(tex).startswith("<math")


def test_every_ops_templates_are_mathml_once_filled():
    from autolab.engine.core.record import OPS

    for op in OPS.values():
        names = dict.fromkeys([*op.params, *op.outputs, "result", "g"], "v_{3}")
        for template in [op.latex, *op.vjp_latex.values()]:
            if template:
                tex = formulas.fill(template, names)
                assert convert(tex).startswith("<math"), (op.name, tex)


def shown(y, x, gradient=None):
    """Return the formulas of the steps that send a gradient to x."""
    found = trace(y, gradient=gradient, namespace={"x": x, "y": y})
    return [
        f.tex
        for f in found.frames
        if f.event == "contribution" and found.node(f.receiver).name == "x"
    ]


def test_what_was_reduced_is_spread_and_what_was_broadcast_is_summed():
    x = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
    ones = r"\begin{bmatrix}1 & 1 & 1\end{bmatrix}"
    assert shown(x.sum(), x) == [
        rf"\bar{{x}} = \bar{{y}} \cdot \mathbf{{1}}_{{3}} = 1 \cdot \mathbf{{1}}_{{3}} = {ones}"
    ]
    assert shown((x * torch.tensor([2.0, 3.0, 5.0])).sum(), x)[0].startswith(r"\bar{x} = ")
    mean = shown(x.mean(), x)[0]
    assert mean.startswith(
        r"\bar{x} = \frac{1}{n} \cdot \bar{y} \cdot \mathbf{1}_{3} = \frac{1}{3} \cdot 1 \cdot \mathbf{1}_{3} \approx "
    )
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x + torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert shown(y, x, torch.tensor([[1.0, 2.0], [3.0, 5.0]])) == [
        r"\bar{x} = \sum_{0} \bar{y} = \sum_{0} \begin{bmatrix}1 & 2 \\ 3 & 5\end{bmatrix} = \begin{bmatrix}4 & 7\end{bmatrix}"
    ]
    x = torch.tensor(3.0, requires_grad=True)
    assert shown(x * torch.tensor([1.0, 2.0]), x, torch.tensor([10.0, 1.0])) == [
        r"\bar{x} = \sum \bar{y} \cdot c_{1} = \sum \begin{bmatrix}10 & 1\end{bmatrix} \cdot \begin{bmatrix}1 & 2\end{bmatrix} = 12"
    ]
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    assert shown(x.sum(1), x, torch.tensor([1.0, 5.0])) == [
        r"\bar{x} = \bar{y} \text{ repeated along dim 1} = \begin{bmatrix}1 & 5\end{bmatrix} \text{ repeated along dim 1}"
        r" = \begin{bmatrix}1 & 1 \\ 5 & 5\end{bmatrix}"
    ]
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.expand(2, 2)
    assert (
        trace(y, namespace={"x": x, "y": y}).nodes[-1].tex == r"y = x \cdot \mathbf{1}_{2 \times 2}"
    )


def test_a_loss_is_stated_with_the_reduction_that_was_asked_for():
    x, y = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([0.0, 4.0])
    loss = torch.nn.functional.mse_loss
    names = {"x": x, "y": y}
    assert (
        trace(loss(x, y, reduction="sum"), namespace=names).nodes[-1].tex
        == r"v_{1} = \sum (x - y)^{2}"
    )
    assert (
        trace(loss(x, y, reduction="none"), namespace=names).nodes[-1].tex == r"v_{1} = (x - y)^{2}"
    )
    assert (
        trace(loss(x, y), namespace=names).nodes[-1].tex == r"v_{1} = \frac{1}{n} \sum (x - y)^{2}"
    )
    gelu = trace(torch.nn.functional.gelu(x, approximate="tanh"), namespace=names)
    assert (
        gelu.nodes[-1].tex == r"v_{1} = \operatorname{gelu}(x)"
        and gelu.edges[0].tex == r"\frac{\partial v_{1}}{\partial x}"
    )
    b, m = torch.ones(2, requires_grad=True), torch.ones(2, 2)
    assert (
        trace(torch.addmm(b, m, m, beta=2), namespace={"b": b, "m": m}).nodes[-1].tex
        == r"v_{1} = 2 \cdot b + m \, m"
    )


def test_each_pass_has_its_own_numbers():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with torch.record() as recording:
        y = x.mean()
        y.backward(torch.tensor(6.0), retain_graph=True)
        y.backward(torch.tensor(-30.0))
    trace = recording.trace()
    rule = r"\bar{x} = \frac{1}{n} \cdot \bar{y} \cdot \mathbf{1}_{3} = \frac{1}{3} \cdot "
    assert [f.tex for f in trace.frames if f.event == "contribution"] == [
        rule + r"6 \cdot \mathbf{1}_{3} = \begin{bmatrix}2 & 2 & 2\end{bmatrix}",
        rule
        + r"\left(-30\right) \cdot \mathbf{1}_{3} = \begin{bmatrix}-10 & -10 & -10\end{bmatrix}",
    ]
    assert (
        trace.frames[-1].tex
        == r"x\mathrm{.grad} \mathrel{+}= \bar{x} \Rightarrow x\mathrm{.grad} = \begin{bmatrix}-8 & -8 & -8\end{bmatrix}"
    )


def test_what_is_passed_on_has_as_many_digits_as_it_needs():
    x = torch.tensor([10.0, 0.5], requires_grad=True)
    assert shown(torch.sigmoid(x), x, torch.tensor([9.0, 1.0])) == [
        r"\bar{x} = \bar{y} \cdot \frac{\partial y}{\partial x} \approx \begin{bmatrix}9 & 1\end{bmatrix} \cdot "
        r"\left((1 - \begin{bmatrix}0.999955 & 0.622459\end{bmatrix}) \cdot \begin{bmatrix}0.999955 & 0.622459\end{bmatrix}\right)"
        r" \approx \begin{bmatrix}0.000408750 & 0.235004\end{bmatrix}"
    ]


def test_a_vector_in_a_product_is_a_column():
    A, v = (
        torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True),
        torch.tensor([5.0, -1.0], requires_grad=True),
    )
    y = A @ v
    column = r"\begin{bmatrix}%s \\ %s\end{bmatrix}"
    matrix = r"\begin{bmatrix}1 & 2 \\ 3 & 4\end{bmatrix}"
    node = trace(y, namespace={"A": A, "v": v, "y": y}).nodes[-1]
    assert node.tex_numbers == rf"{column % (3, 11)} = {matrix} \, {column % (5, -1)}"
    assert shown(y, v, torch.tensor([1.0, 2.0]))[-1].endswith(
        rf"= {{{matrix}}}^{{T}} \, {column % (1, 2)} = {column % (7, 10)}"
    )
    y = torch.dot(v, v.detach())
    assert (
        trace(y, namespace={"v": v, "y": y}).nodes[-1].tex_numbers
        == rf"26 = {{{column % (5, -1)}}}^{{T}} \, {column % (5, -1)}"
    )


@pytest.mark.parametrize(
    ("correction", "under"), [(None, "n - 1"), (0, "n"), (1, "n - 1"), (2, "n - 2")]
)
def test_a_variance_says_what_it_divides_by_and_its_mean_is_no_gradient(correction, under):
    x = torch.tensor([[1.0, 2.0, 4.0], [3.0, 5.0, 0.0]], requires_grad=True)
    y = x.var(correction=correction)
    known = trace(y, namespace={"x": x, "y": y})
    assert known.nodes[-1].tex == rf"y = \frac{{1}}{{{under}}} \sum (x - \mu)^{{2}}"
    assert (
        known.edges[0].tex == rf"\bar{{x}} = \bar{{y}} \cdot \frac{{2}}{{{under}}} \cdot (x - \mu)"
    )
    y = x.std(1, correction=correction)
    assert (
        trace(y, namespace={"x": x, "y": y}).nodes[-1].tex
        == rf"y = \sqrt{{\frac{{1}}{{{under}}} \sum_{{1}} (x - \mu)^{{2}}}}"
    )


def test_a_mean_of_a_loss_says_how_many():
    x, y = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([0.0, 4.0])
    node = trace(torch.nn.functional.mse_loss(x, y), namespace={"x": x, "y": y}).nodes[-1]
    assert (
        node.tex_numbers
        == r"2.5 = \frac{1}{2} \sum (\begin{bmatrix}1 & 2\end{bmatrix} - \begin{bmatrix}0 & 4\end{bmatrix})^{2}"
    )


@pytest.mark.parametrize(
    ("operation", "chain"),
    [
        (lambda x, y: x.max(), r"\frac{[x = z]}{\sum [x = z]}"),
        (lambda x, y: x.amin(0), r"\frac{[x = z]}{\sum [x = z]}"),
        (lambda x, y: torch.maximum(x, y), r"([x > y] + \frac{1}{2} \cdot [x = y])"),
        (lambda x, y: torch.minimum(x, y), r"([x < y] + \frac{1}{2} \cdot [x = y])"),
    ],
)
def test_who_gets_the_gradient_at_a_tie(operation, chain):
    x, y = (
        torch.tensor([1.0, 1.0, 1.0], requires_grad=True),
        torch.tensor([0.0, 1.0, 2.0], requires_grad=True),
    )
    z = operation(x, y)
    gradient = torch.tensor([2.0, 4.0, 8.0]) if z.shape else torch.tensor(6.0)
    t = trace(z, gradient=gradient, namespace={"x": x, "y": y, "z": z})
    frame = next(
        f for f in t.frames if f.event == "contribution" and t.node(f.receiver).name == "x"
    )
    local = next(e.tex for e in t.edges if e.id == frame.edge)
    assert chain in local
    left, *rest = truth.split(frame.tex)
    assert set(rest[0::2]) == {"="}  # "=" follows from its digits, not from float32
    assert (
        truth.evaluate(rest[-3]) is not None
        and (truth.evaluate(rest[-3]) == truth.evaluate(rest[-1])).all()
    )


def test_sums_along_a_dimension_are_worked_out():
    """Check the sums digit by digit: one dimension is a row, and a sum along a dimension keeps it for the division."""
    for x, dim in (
        (torch.tensor([1.0, 2.0], requires_grad=True), 0),
        (torch.tensor([[1.0, 2.0], [0.0, 3.0]], requires_grad=True), 1),
    ):
        for operation in (torch.softmax, torch.log_softmax, torch.logsumexp, torch.sum, torch.mean):
            y = operation(x, dim)
            left, relation, right = truth.split(
                trace(y, namespace={"x": x, "y": y}).nodes[-1].tex_numbers
            )
            assert relation in ("=", r"\approx"), (operation, relation)
            assert np.allclose(
                np.ravel(truth.evaluate(left)).astype(float),
                np.ravel(truth.evaluate(right)).astype(float),
                rtol=0.01,
            )


def test_batch_norm_in_eval_mode_takes_its_statistics_for_constants():
    bn, x = torch.nn.BatchNorm1d(2), torch.randn(3, 2, requires_grad=True)
    for training in (True, False):
        rule = trace(bn.train(training)(x).sum(), namespace={"x": x}).edges[0].tex
        assert rule.startswith(r"\bar{x} = \frac{") and (r"\mathrm{mean}(" in rule) is training
        assert rule.endswith(r"\cdot \overline{v_{1}}") is not training


def test_what_the_graph_did_not_keep_is_a_symbol_and_no_placeholder():
    x = torch.tensor([1.0, -2.0], requires_grad=True)
    y = x % 2
    with torch.no_grad():
        keep = x > 0
    z = y.masked_fill(keep, 7.0)
    for node in trace(z).nodes:
        assert "{other}" not in node.tex.replace(
            r"\mathrm{other}", ""
        ) and "{value}" not in node.tex.replace(r"\mathrm{value}", "")


@pytest.mark.parametrize(
    ("compare", "inside"),
    [
        (lambda x: x == 2, "[x = 2] = [2.5 = 2]"), (lambda x: x != 2, r"[x \ne 2] = [2.5 \ne 2]"), (lambda x: x > 2, "[x > 2] = [2.5 > 2]"),

        (lambda x: torch.isfinite(x), r"[\left| x \right| < \infty] = [\left| 2.5 \right| < \infty]"),
    ],
)  # fmt: skip
def test_a_comparison_stands_in_brackets_as_it_is_no_equation(compare, inside):
    x = torch.tensor(2.5, requires_grad=True)
    with torch.record() as recording:
        m = compare(x)
    assert recording.trace().frames[0].tex == rf"m = {inside} = \mathrm{{{m.item()}}}"


def test_contributions_are_counted_for_each_result_of_an_operation():
    x = torch.tensor([1.5, 2.5], requires_grad=True)
    with torch.record() as recording:
        a, b = x.unbind()
        y = a * b + a
        y.backward()
    sent = [
        (f.text, f.tex)
        for f in recording.trace().frames
        if f.event == "contribution" and f.text.split(" to ")[-1][:1] in "ab"
    ]
    assert [text for text, _ in sent] == [
        "y sends 1 to a (contribution 1 of 2, so far 1)",
        "v1 sends 2.5 to a (contribution 2 of 2, so far 3.5)",
        "v1 sends 1.5 to b",
    ]
    assert [r"\mathrel{+}=" in tex for _, tex in sent] == [True, True, False]


def test_a_derivative_that_is_a_number_of_the_code_stands_as_it_is_written():
    with torch.record() as recording:
        p = torch.tensor(1 / 3, requires_grad=True)
        y = p * 1.0003
        z = y * -1.0003
        z.backward()
    for edge, factor in zip(
        [e for e in recording.trace().edges if e.differentiable], ["1.0003", "-1.0003"], strict=True
    ):
        assert edge.tex.endswith(f"= {factor}") and edge.tex_numbers.endswith(f"= {factor}")


def test_views_are_called_as_the_learner_called_them():
    """Before, each view was called `view`, which is not in the learner's code."""
    row = torch.tensor([1.0, 2.0], requires_grad=True)
    result = row.unsqueeze(0).squeeze(0).unsqueeze(-1).squeeze()
    formulas = [node.tex for node in torch.explore(result).trace.nodes if node.kind == "op"]
    assert [tex.split("{")[2].split("}")[0] for tex in formulas] == ["unsqueeze", "squeeze"] * 2
