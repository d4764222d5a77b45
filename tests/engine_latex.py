"""Evaluates the formulas of op records: a parser for the LaTeX they are written in, over NumPy arrays.

Grammar: sums of products of powers; `\\frac`, `\\sqrt`, functions with or without parentheses, `|x|`, `[condition]` (1
or 0), `\\begin{cases}`,
`\\max(a, b)`, `\\sum` (over everything that follows in the product, along `axis`), `^{T}`, `\\,` between matrices.
"""

from __future__ import annotations

import math
import re

import numpy as np

TOKEN = (
    r"\s+|\\left(?![a-z])|\\right(?![a-z])|(?P<var>\{(?:%s)\})|(?P<text>\\(?:text|mathrm)\{[^{}]*\})|(?P<begin>\\(?:begin|end)\{cases\})"
    r"|(?P<command>\\[A-Za-z]+|\\[\\,])|(?P<number>\d+\.?\d*)|(?P<other>.)"
)  # %s: the names of the values


class Unsupported(Exception):
    """The formula says something that is not a number for each element: a shape, a picture, an index."""


_each = np.vectorize
FUNCTIONS = {
    "\\sin": np.sin,
    "\\cos": np.cos,
    "\\tan": np.tan,
    "\\sinh": np.sinh,
    "\\cosh": np.cosh,
    "\\tanh": np.tanh,
    "\\ln": np.log,
    "\\arcsin": np.arcsin,
    "\\arccos": np.arccos,
    "\\arctan": np.arctan,
    "\\det": np.linalg.det,
    "\\Gamma": _each(math.gamma),
    "\\exp": np.exp,
    "\\sigma": lambda x: 1 / (1 + np.exp(-x)),
    "\\Phi": _each(lambda x: 0.5 * (1 + math.erf(x / math.sqrt(2)))),
    "\\varphi": lambda x: np.exp(-x * x / 2) / math.sqrt(2 * math.pi),
    "erf": _each(math.erf),
    "sgn": np.sign,
    "trunc": np.trunc,
    "round": lambda x, decimals=0: np.round(x, int(decimals)),
    "arsinh": np.arcsinh,
    "arcosh": np.arccosh,
    "artanh": np.arctanh,
    "tril": np.tril,
    "triu": np.triu,
    "\\max": np.maximum,
    "\\min": np.minimum,
}


RELATIONS = {
    "<": np.less,
    ">": np.greater,
    "=": np.equal,
    "\\le": np.less_equal,
    "\\ge": np.greater_equal,
    "\\ne": np.not_equal,
}
LOGIC = {"\\land": np.logical_and, "\\lor": np.logical_or, "\\oplus": np.logical_xor}
CLOSERS = {
    *LOGIC,
    ")",
    "]",
    "}",
    ",",
    "|",
    "&",
    "?",
    ":",
    "\\\\",
    "\\rfloor",
    "\\rceil",
    "\\end{cases}",
}


def evaluate(formula: str, values: dict, axis=None):
    """The number (or array) that `formula` states, with `values` for its placeholders `{name}` (None: no number).
    Raises Unsupported."""
    parser = _Parser(formula, values, axis)
    result = parser.relation()
    if parser.peek() == "?":
        result = parser.choice(result)
    if parser.peek() is not None:
        raise Unsupported(f"{parser.peek()!r} in {formula}")
    return np.asarray(result)


class _Matrix(np.ndarray):
    """An inverse: what follows is multiplied as a matrix."""


class _Parser:
    def __init__(self, formula, values, axis):
        self.values, self.axis, self.at = values, axis, 0
        token = TOKEN % "|".join(map(re.escape, values))
        self.tokens = [m[0] for m in re.finditer(token, formula) if m.lastgroup]

    def peek(self, ahead=0):
        k = self.at + ahead
        return self.tokens[k] if k < len(self.tokens) else None

    def take(self, expected=None):
        token = self.peek()
        if token is None or (expected is not None and token != expected):
            raise Unsupported(f"{expected!r} expected, {token!r} found")
        self.at += 1
        return token

    def relation(self):
        """An expression, or a chain of comparisons as 1.0 or 0.0, joined by and, or, exclusive or."""
        result = self._comparison()
        while self.peek() in LOGIC:
            combine, right = LOGIC[self.take()], self._comparison()
            result = np.asarray(combine(np.asarray(result) != 0, np.asarray(right) != 0), float)
        return result

    def _comparison(self):
        if self.peek() == "\\lnot":
            self.take()
            return np.asarray(np.asarray(self._comparison()) == 0, float)
        left, truth = self.expression(), None
        while self.peek() in RELATIONS:
            compare, right = RELATIONS[self.take()], self.expression()
            holds = compare(left, right)
            truth, left = (holds if truth is None else truth & holds), right
        return left if truth is None else np.asarray(truth, float)

    def choice(self, condition):
        self.take("?")
        yes = self.expression()
        self.take(":")
        return np.where(np.asarray(condition) != 0, yes, self.expression())

    def expression(self):
        sign = 1.0
        while self.peek() in ("-", "+"):
            sign = -sign if self.take() == "-" else sign
        total = sign * self.product()
        while self.peek() in ("+", "-"):
            operator = self.take()
            term = self.product()
            total = total + term if operator == "+" else total - term
        return total

    def product(self):
        result = self.power()
        while (
            self.peek() is not None
            and self.peek() not in CLOSERS
            and self.peek() not in RELATIONS
            and self.peek() not in "+-"
        ):
            operator = self.take() if self.peek() in ("\\cdot", "/", "\\,", "\\odot") else ""
            right = self.power()
            matrices = operator == "\\," or not operator and isinstance(result, _Matrix)
            result = (
                result / right
                if operator == "/"
                else self._matrix(result, right)
                if matrices
                else result * right
            )
        return result

    @staticmethod
    def _matrix(a, b):
        """The matrix product; a vector is a column, its transpose a row."""
        if np.ndim(a) < 1 or np.ndim(b) < 1:
            return a * b
        if np.ndim(a) == 1 and np.ndim(b) == 2 and b.shape[0] == 1:
            return a[:, None] * b
        return a @ b

    def power(self):
        matrix = self.peek() == "{A}"  # PyTorch's name for a matrix: its power -1 is the inverse
        base = self.atom()
        while self.peek() == "^":
            self.take()
            if matrix and self.tokens[self.at : self.at + 2] == ["{", "-"]:
                self.at += 2
                base = np.linalg.inv(base) if self.take() == "1" else np.linalg.inv(base).T
                base = np.asarray(base).view(_Matrix)
                self.take("}")
            elif self.peek() == "{" and self.peek(1) == "T":
                self.at += 3
                base = np.swapaxes(base, -1, -2) if np.ndim(base) > 1 else np.reshape(base, (1, -1))
            else:
                base = np.power(np.asarray(base, float), self.argument())
        if self.peek() in ("_", "["):
            raise Unsupported("an index")
        return base

    def argument(self):
        """What stands in braces, or a single atom."""
        if self.peek() == "{":
            self.take()
            value = self.expression()
            self.take("}")
            return value
        return self.atom()

    def _skip_dim(self):
        """The `_{{dim}}` of a sum: what it says is `axis`."""
        if self.peek() == "_":
            self.take()
            depth = 0
            while True:
                if (self.peek() or "").startswith("\\text"):
                    raise Unsupported("a sum over what words say")
                depth += {"{": 1, "}": -1}.get(self.take(), 0)
                if not depth:
                    return

    def argument_name(self):
        self.take("{")
        name = self.take()
        self.take("}")
        return name

    def atom(self):
        token = self.take()
        if token[1:-1] in self.values and token[0] == "{":
            if self.values[token[1:-1]] is None:
                raise Unsupported(f"{token} is not a number")
            return self.values[token[1:-1]]
        if token == "{":
            value = self.expression()
            self.take("}")
            return value
        if token[0].isdigit():
            return float(token)
        if token in ("(", "[", "|", "\\lfloor", "\\lceil"):
            return self._bracket(token)
        if token.startswith("\\mathrm{"):
            return self._function(token[8:-1])
        if token == "\\begin{cases}":
            return self._cases()
        match token:
            case "\\frac":
                return self.argument() / self.argument()
            case "\\sqrt":
                return np.sqrt(self.argument())
            case "\\sum":
                self._skip_dim()
                return np.sum(self.product(), axis=self.axis, keepdims=True)
            case "\\prod":
                self._skip_dim()
                return np.prod(self.product(), axis=self.axis, keepdims=True)
            case "\\mu" if "self" in self.values:
                return np.mean(self.values["self"], axis=self.axis, keepdims=True)
            case "\\log":
                self.take("_")
                base = self.argument()
                return np.log(self._operand()[0]) / np.log(base)
            case "\\pi":
                return math.pi
            case "\\infty":
                return math.inf
            case "e":
                return math.e
            case "n" if "n" in self.values:
                return self.values["n"]
        return self._function(token)

    def _bracket(self, opener):
        value = self.relation() if opener == "[" else self.expression()
        self.take(
            {"(": ")", "[": "]", "|": "|", "\\lfloor": "\\rfloor", "\\lceil": "\\rceil"}[opener]
        )
        return {"|": np.abs, "\\lfloor": np.floor, "\\lceil": np.ceil}.get(opener, lambda v: v)(
            value
        )

    def _function(self, name):
        if name not in FUNCTIONS:
            raise Unsupported(name)
        power = None
        if self.peek() == "^":
            self.take()
            power = self.argument()
            if np.any(np.asarray(power) < 0):
                raise Unsupported(f"the inverse of {name}")
        if (
            self.peek() == "_"
            and name in ("\\max", "\\min")
            and self.peek(1) == "{"
            and self.peek(2) == "{dim}"
        ):
            self._skip_dim()
        if self.peek() == "_":
            raise Unsupported("a subscript")
        operands = self._operand()
        if name in ("\\max", "\\min") and len(operands) != 2:
            value = getattr(np, name[1:])(operands[0], axis=self.axis, keepdims=True)
        else:
            value = FUNCTIONS[name](*operands)
        return value if power is None else value**power

    def _operand(self):
        """The operands of a function: a parenthesis, or the next factor (`\\ln \\sum x`, `\\cos {self}`)."""
        if self.peek() != "(":
            return [self.power()]
        self.take()
        values = [self.expression()]
        while self.peek() == ",":
            self.take()
            values.append(self.expression())
        self.take(")")
        return values

    def _cases(self):
        rows = []
        while True:
            value = self.expression()
            self.take("&")
            if self.peek().startswith("\\text"):
                self.take()
                rows.append((None, value))
            else:
                rows.append((self.relation(), value))
            if self.take() == "\\end{cases}":
                break
        result = rows[-1][1]
        for condition, value in reversed(rows[:-1]):
            result = np.where(np.asarray(condition) != 0, value, result)
        return result
