"""Recompute the sentences of steps with a separate evaluator that sees only the printed text: Python's `ast` for the
calls, NumPy for the operations, differences for the gradients."""

import ast
import re
import warnings

import numpy as np
import programs
import pytest
import sentence_programs
import torch_programs

import autolab

PROGRAMS = {**programs.PROGRAMS, **torch_programs.PROGRAMS, **sentence_programs.PROGRAMS}
SIGN = re.compile(r" ([=≈]) (?!.* [=≈] )")
CONTRIBUTION = re.compile(
    r"(?P<by>.+?) (?:sends|would send) (?P<value>.+?)(?P<hooked>, as its hooks leave it,)? to (?P<to>.+?)"
    r"(?: \(contribution (?P<k>\d+) of \d+, so far (?P<total>.+?)\))?(?:; .*)?"
)
INTEGERS = {"sum": np.sum, "mean": np.mean, "prod": np.prod, "amax": np.max, "amin": np.min}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def reduction(function):
    return lambda x, dim=None, keepdim=False: function(
        x, axis=tuple(dim) if isinstance(dim, list) else dim, keepdims=keepdim
    )


def extreme(value, place):
    """Return all extreme values, or values and positions along one dimension."""
    return lambda x, dim=None, keepdim=False: (
        value(x)
        if dim is None
        else (value(x, axis=dim, keepdims=keepdim), place(x, axis=dim, keepdims=keepdim))
    )


def log_softmax(x, dim):
    return x - np.log(np.sum(np.exp(x - x.max()), axis=dim, keepdims=True)) - x.max()


def part(x, dim=0, start=0, end=2**62, step=1):
    return np.take(x, range(start, min(end, x.shape[dim]), step), axis=dim)


def split(x, dim, split_size=None, split_sizes=None):
    return np.split(
        x,
        np.cumsum(split_sizes)[:-1] if split_sizes else range(split_size, x.shape[dim], split_size),
        axis=dim,
    )


FUNCTIONS = {
    "tanh": np.tanh, "exp": np.exp, "log": np.log, "sin": np.sin, "cos": np.cos, "sqrt": np.sqrt, "abs": np.abs, "sigmoid": sigmoid,
    "relu": lambda x: np.maximum(x, 0), "clone": lambda x, memory_format=None: x, "detach": lambda x: x, "neg": lambda x: -x,
    "softmax": lambda x, dim: np.exp(log_softmax(x, dim)), "log_softmax": log_softmax, "t": lambda x: x.T,
    "addmm": lambda b, x, y: b + x @ y, "mse_loss": lambda x, y: np.mean((x - y) ** 2),
    "nll_loss": lambda x, c: -np.mean([row[int(k)] for row, k in zip(x, c)]),
    "view": lambda x, size: x.reshape(size), "unsafe_view": lambda x, size: x.reshape(size),
    "transpose": lambda x, dim0, dim1: np.swapaxes(x, dim0, dim1),
    "unsqueeze": lambda x, dim: np.expand_dims(x, dim), "squeeze": np.squeeze, "expand": lambda x, size: np.broadcast_to(x, size),
    "select": lambda x, dim, index: np.take(x, index, axis=dim), "slice": part, "cat": lambda *xs, dim: np.concatenate(xs, dim),
    "stack": lambda *xs, dim: np.stack(xs, dim), "unbind": lambda x, dim: list(np.moveaxis(x, dim, 0)), "split": split, "split_with_sizes": split,
    "where": lambda c, x, y: np.where(c, x, y), "masked_fill": lambda x, mask, value: np.where(mask, value, x), "add_": lambda x, y: x + y,
    "mul_": lambda x, y: x * y, "sub_": lambda x, y: x - y, "zero_": lambda x: x * 0, "fill_": lambda x, value: x * 0 + value, "maximum": np.maximum,
    "clamp": lambda x, min=-np.inf, max=np.inf: np.clip(x, min, max), "pow": np.power, "cumsum": lambda x, dim: np.cumsum(x, dim), "dot": np.dot,
    "outer": np.outer, "logsumexp": lambda x, dim: np.log(np.sum(np.exp(x), axis=tuple(dim))),
    "leaky_relu": lambda x, negative_slope: np.where(x > 0, x, x * negative_slope),
    "cube": lambda x: x**3, "reciprocal": lambda x: 1 / x, "rsqrt": lambda x: x**-0.5, "square": lambda x: x * x, "norm": np.linalg.norm,
    "index": lambda x, *at: x[tuple(np.asarray(i, int if np.asarray(i).dtype.kind == "f" else None) for i in at)],
    "argmax": lambda x, dim: np.argmax(x, dim),
    "sort": lambda x, dim: (np.sort(x, dim), np.argsort(x, dim, kind="stable")), "permute": lambda x, dims: np.transpose(x, dims),
    "flip": lambda x, dims: np.flip(x, dims),
    "max": extreme(np.max, np.argmax), "min": extreme(np.min, np.argmin),
    **{name: reduction(f) for name, f in INTEGERS.items()},
}  # fmt: skip
BINARY = {
    ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.divide, ast.Pow: np.power, ast.MatMult: np.matmul,
    ast.Gt: np.greater, ast.Lt: np.less, ast.GtE: np.greater_equal, ast.LtE: np.less_equal, ast.Eq: np.equal, ast.NotEq: np.not_equal,
}  # fmt: skip


class Unknown(Exception):
    """The evaluator cannot handle this text."""


def evaluated(tree, values):
    """Return the numbers of an expression; `values`: the numbers of its names."""
    if isinstance(tree, ast.Name):
        if tree.id not in values:
            raise Unknown(tree.id)
        return values[tree.id]
    if isinstance(tree, ast.Constant):
        return tree.value
    if isinstance(tree, ast.UnaryOp):
        return -evaluated(tree.operand, values)
    if isinstance(tree, ast.BinOp):
        return BINARY[type(tree.op)](evaluated(tree.left, values), evaluated(tree.right, values))
    if isinstance(tree, ast.Compare):
        return BINARY[type(tree.ops[0])](
            evaluated(tree.left, values), evaluated(tree.comparators[0], values)
        )
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id in FUNCTIONS:
        try:
            given = {k.arg: ast.literal_eval(k.value) for k in tree.keywords}
        except ValueError:  # memory_format=row-major
            raise Unknown(ast.dump(tree)) from None
        return FUNCTIONS[tree.func.id](*(evaluated(a, values) for a in tree.args), **given)
    if isinstance(tree, ast.Attribute) and tree.attr == "data":
        return evaluated(tree.value, values)
    raise Unknown(ast.dump(tree))


def numbers(text):
    """Return the printed numbers; raise Unknown for a summary of many numbers, or a truncated matrix."""
    words = re.sub(r"-?\b(nan|inf)\b", lambda m: f"float('{m[0]}')", text)
    if "..." in text or not re.fullmatch(r"[\[\](), \d.e+naifloTrueFs'-]+", words):
        raise Unknown(text)
    return eval(words, {"float": float})


def close(a, b, terms=0.0):
    """Return whether numbers agree up to float32 and three digits; `terms`: the magnitude of the terms in their sum."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    if a.shape != b.shape:
        return False
    room = 0.006 * np.maximum(np.maximum(np.abs(a), np.abs(b)), terms) + 3e-6 * max(
        [1.0, *np.abs(a[np.isfinite(a)]).ravel()]
    )
    with np.errstate(invalid="ignore"):
        return bool(np.all((np.abs(a - b) <= room) | (a == b) | (np.isnan(a) & np.isnan(b))))


class Reading:
    """One recording, read sentence by sentence."""

    def __init__(self, trace):
        self.trace, self.names, self.checked, self.grads, self.held = trace, {}, 0, {}, {}
        labels = {}
        for node in trace.nodes:
            for out in node.outputs:
                labels[out.label] = out.value
            labels[node.label] = node.value
        self.values = {f"L{i}": v for i, v in enumerate(labels.values())}
        self.known = dict(zip(labels, self.values))
        self.pattern = re.compile(
            "|".join(
                rf"(?<![\w.\[]){re.escape(n)}(?![\w\[(]|\.\d|\.\w)"
                for n in sorted(labels, key=len, reverse=True)
            )
        )

    def read(self):
        for frame in self.trace.frames:
            node = self.trace.node(frame.node) if frame.node else None
            try:
                getattr(self, frame.event, lambda *_: None)(frame.text, frame, node)
            except Unknown:
                continue
            self.checked += 1
        return self.checked

    def tree(self, call):
        """Return a call as a Python ast with labels as names; labels that are numbers stay numbers."""
        spelled = self.pattern.sub(
            lambda m: m[0] if re.fullmatch(r"-?[\d.e+-]+|True|False", m[0]) else self.known[m[0]],
            call,
        )
        try:
            return ast.parse(
                spelled.replace(f"{spelled.partition('(')[0]}(", f"{call.partition('(')[0]}(", 1)
                if "(" in call
                else spelled,
                mode="eval",
            ).body
        except SyntaxError:
            raise Unknown(call) from None

    def env(self):
        return {name: np.asarray(v.data, dtype=float)
                for name, v in self.values.items() if v is not None and v.data is not None}  # fmt: skip

    def compute(self, text, frame, node):
        sentence = text.partition("; ")[0] if "; under" in text or "; no gradient" in text else text
        if "; " in sentence:
            raise Unknown("a remark")
        made, _, rest = sentence.partition(" = ")
        found = SIGN.split(rest)
        if len(found) != 3:
            raise Unknown(text)
        call, sign, printed = found
        said, result = numbers(printed), evaluated(self.tree(call), self.env())
        several = made.count(", ") and isinstance(said, tuple) or printed.startswith("(")
        shown = list(said) if several else [said]
        results = list(result) if several or isinstance(result, (list, tuple)) else [result]
        stored = [o.value for o in node.results] or [node.value]
        assert len(shown) == len(stored), text
        for number, value, worked in zip(shown, stored, results):
            exact = np.array_equal(
                np.asarray(number, float), np.asarray(value.data, float), equal_nan=True
            )
            assert close(number, worked), (text, worked)
            assert (sign == "≈") or exact, text
        assert sign == "=" or any(
            not np.array_equal(np.asarray(n, float), np.asarray(v.data, float))
            for n, v in zip(shown, stored)
        ), text

    def seed(self, text, frame, node):
        if found := re.search(r": the gradient of (.+) with respect to itself is 1$", text):
            self.arrive(frame, found[1], 1.0, True)
        elif found := re.search(r": (.+) (?:is|would be) given the gradient (.+)$", text):
            self.arrive(frame, found[1], numbers(found[2]), True)
        else:
            raise AssertionError(text)

    def arrive(self, frame, label, value, first):
        at = self.grads.setdefault(frame.run, {})
        at[label] = np.asarray(value, float) if first or label not in at else at[label] + value

    def hook(self, text, frame, node):
        found = re.fullmatch(r"a hook changed the gradient of (.+) from (.+) to (.+)", text)
        assert close(numbers(found[2]), self.grads[frame.run][found[1]]), text
        self.grads[frame.run][found[1]] = np.asarray(numbers(found[3]), float)

    def contribution(self, text, frame, node):
        found = CONTRIBUTION.fullmatch(text)
        assert found, text
        value = numbers(found["value"])
        before = self.grads[frame.run].get(found["to"])
        self.arrive(frame, found["to"], value, found["k"] in (None, "1") and before is None)
        if found["total"]:
            assert close(numbers(found["total"]), self.grads[frame.run][found["to"]]), text
            self.grads[frame.run][found["to"]] = np.asarray(numbers(found["total"]), float)
        expected, terms = self.passed_on(frame, node)
        assert close(value, expected, terms) != bool(found["hooked"]), (text, expected)
        assert not (found["hooked"] and frame.tex), "what hooks made of it is no local derivative"

    def passed_on(self, frame, node):
        """Return the gradients of the node's results times the derivative of its call, computed by differences along
        the edge of this frame only."""
        edge = next(e for e in self.trace.edges if e.id == frame.edge)
        slots = [e for e in self.trace.edges if e.child == node.id and not e.update]
        target, env = self.trace.node(edge.parent).output_label(edge.parent_nr), self.env()
        tree, name = self.tree(node.call), self.known[target]
        # the same tensor may be several operands, so change only this slot's
        uses = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == name]
        mine = [
            e.slot for e in slots if self.trace.node(e.parent).output_label(e.parent_nr) == target
        ].index(edge.slot)
        if mine >= len(uses):
            raise Unknown(node.call)
        uses = sorted(uses, key=lambda n: n.col_offset)
        uses[mine].id = "changed"
        at = np.asarray(env[name], float)
        labels = [o.label for o in node.outputs] or [node.label]
        grads = [self.grads[frame.run].get(label) for label in labels]
        if all(g is None for g in grads):
            raise Unknown("the gradient has not been said")

        def results(x):
            found = evaluated(tree, {**env, "changed": x})
            return list(found) if isinstance(found, (list, tuple)) else [found]

        total, terms, step = np.zeros_like(at), np.zeros_like(at), 1e-6
        for place in np.ndindex(at.shape):
            up, down = at.copy(), at.copy()
            up[place], down[place] = up[place] + step, down[place] - step
            for grad, high, low in zip(grads, results(up), results(down)):
                if not np.isfinite([np.sum(high), np.sum(low)]).all():
                    raise Unknown("no difference of numbers that are not finite")
                if grad is not None and np.asarray(high).dtype.kind == "f":
                    parts = grad * (np.asarray(high) - low) / (2 * step)
                    total[place] += float(np.sum(parts))
                    terms[place] += float(np.sum(np.abs(parts)))
        return total, terms

    def accumulate(self, text, frame, node):
        found = re.fullmatch(
            r"(.+?)\.grad (?:is now|would become) (.+?)(?:: (.+) (?:was|would be) added to what it (?:held|holds))?",
            text,
        )
        assert found, text
        now = numbers(found[2])
        arrived = self.grads[frame.run].get(found[1])
        if found[3] is None and arrived is not None:
            assert close(now, arrived), text
        elif found[1] in self.held:
            assert close(now, self.held[found[1]] + numbers(found[3])), text
        self.held[found[1]] = np.asarray(now, float)

    def clear(self, text, frame, node):
        self.held.pop(node.label, None)

    def update(self, text, frame, node):
        equations = re.findall(r"= (-?[\d.(][^=≈,;]*?) ([=≈]) (-?[\d.e+-]+)(?=$|,|;)", text)
        for left, sign, right in equations:
            worked = float(
                eval(
                    re.sub(
                        r"√\(([^()]*)\)|sqrt\(([^()]*)\)",
                        lambda m: f"(({m[1] or m[2]})**0.5)",
                        left,
                    ).replace("^", "**"),
                    {},
                )
            )
            assert close(worked, float(right)), text
            assert sign == "≈" or abs(worked - float(right)) <= 1e-6 * max(1, abs(worked)), text
        if change := re.search(r" from (\S.*) to (\S.*)$", text):
            assert close(numbers(change[2]), self.trace.node(frame.receiver).value.data), text
            self.values[self.known[self.trace.node(frame.receiver).label]] = self.trace.node(
                frame.receiver
            ).value
        elif not equations:
            raise Unknown(text)


def recording_of(program):
    recording = autolab.record()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with recording:
                program(autolab)
        except RuntimeError:
            assert recording.trace().meta["error"] is not None
    return recording.trace()


FEW = {"convolutional": 1, "evaluation": 0, "only_some": 2, "not_finite": 6}
"""Programs about whose sentences the evaluator can say but this much."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_sentences_are_true(name):
    trace = recording_of(PROGRAMS[name])
    with np.errstate(all="ignore"):
        checked = Reading(trace).read()
    told = sum(
        f.event in ("compute", "contribution", "accumulate", "seed", "update", "hook")
        for f in trace.frames
    )
    assert checked >= FEW.get(name, max(1, told // 2)), f"{checked} of {told}"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x * 3 = [3, 6]", "x * 3 = [3, 7]"),
        ("sends [3, 3]", "sends [3, 2]"),
        (".grad is now [3, 3]", ".grad is now [3, 9]"),
        ("= [3, 6]", "≈ [3, 6]"),
    ],
)
def test_the_evaluator_notices_a_wrong_number(old, new):
    def program(torch):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x * 3
        y.sum().backward()

    trace = recording_of(program)
    assert any(old in f.text for f in trace.frames)
    for frame in trace.frames:
        object.__setattr__(frame, "text", frame.text.replace(old, new))
    with pytest.raises(AssertionError):
        Reading(trace).read()
