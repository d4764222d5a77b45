"""Runs code the way a notebook does: one cell after another, the last expression echoed, errors and warnings kept."""

import ast
import contextlib
import io
import re
import warnings

_ADDRESS = re.compile(r"0x[0-9a-f]+")
_INTERNAL = re.compile(r" \(Triggered internally at [^)]*\)")
_FRAME = re.compile(r'  File "(?!<s>)[^"]*", line \d+, in .*\n(?:    .*\n)*')


class _Redirect(ast.NodeTransformer):
    """Sends `import torch…` to another module and leaves the names that code binds as they were."""

    def __init__(self, modules):
        self.modules = modules  # "torch" -> "autolab"

    def _target(self, dotted):
        for old, new in self.modules.items():
            if dotted == old or dotted.startswith(old + "."):
                return new + dotted[len(old) :]
        return dotted

    def visit_Import(self, node):
        statements = []
        for alias in node.names:
            target = self._target(alias.name)
            if alias.asname or "." not in alias.name:
                statements.append(
                    ast.Import(
                        [
                            ast.alias(
                                target,
                                alias.asname or (alias.name if target != alias.name else None),
                            )
                        ]
                    )
                )
            else:  # `import torch.cuda` loads the submodule and binds `torch`
                package = alias.name.partition(".")[0]
                statements += [
                    ast.Import([ast.alias(target, "_loaded")]),
                    ast.Import([ast.alias(self._target(package), package)]),
                ]
        return [ast.fix_missing_locations(ast.copy_location(s, node)) for s in statements]

    def visit_ImportFrom(self, node):
        node.module = self._target(node.module)
        return node


def run_cell(code: str, namespace: dict, modules: dict | None = None) -> tuple[str, list[str]]:
    """What a notebook shows for the cell `code`, and its warnings as "Category: text"; memory addresses read 0x….

    modules: which imported modules to replace, {"torch": "autolab"}. An error is shown as its last line, "Type:
    message"."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            tree = _Redirect(modules or {}).visit(ast.parse(code))
            last = (
                ast.Expression(tree.body.pop().value)
                if tree.body and isinstance(tree.body[-1], ast.Expr)
                else None
            )
            exec(compile(tree, "<s>", "exec"), namespace)
            value = eval(compile(last, "<s>", "eval"), namespace) if last is not None else None
            if value is not None:
                print(repr(value))
        except Exception as error:
            print(f"{type(error).__name__}: {error}")
    texts = [f"{w.category.__name__}: {_INTERNAL.sub('', str(w.message))}" for w in caught]
    return masked(out.getvalue().rstrip("\n")), [masked(t) for t in texts]


def masked(text: str) -> str:
    """`text` without what depends on the process: memory addresses, and stack frames that are not the cell's own."""
    return _FRAME.sub("", _ADDRESS.sub("0x…", text))
