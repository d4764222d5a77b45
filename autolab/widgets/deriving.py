"""Paths of an explorer: the chain rule along each, one lit at a time."""

from __future__ import annotations

from typing import Any

import traitlets as t

from ..trace.paths import Paths, local_derivatives, paths, to_json
from .asking import Asking

MOST_EDGES = 1000
"""Up to so many edges have their local derivatives on an exported page."""


class Deriving(Asking):
    """The part of an Explorer that knows local derivatives.

    local: edge id -> the derivative of its child by its parent as a matrix, numbers in the child by numbers in the parent; {} until something asks.
    ends : ids of the two nodes of which the paths are shown; [] for none.
    """

    local = t.Dict().tag(sync=True)
    ends = t.List(t.Unicode()).tag(sync=True)

    def paths(self, leaf: Any, result: Any = None) -> Paths:
        """Show the paths from `leaf` to `result`, each with its product of local derivatives; they add up to the gradient.

        leaf, result: tensors that have names in your code, or names of nodes; result None is what was explored.

        Returns the Paths: how many there are, the products, their sum, and how many multiplications it takes path by path and in
        reverse mode. Raises ValueError where no gradient flows between the two, or no node is called so, TypeError for what is no
        node's name.

        Example:

            >>> x = torch.tensor(3., requires_grad=True)
            >>> torch.explore(x * x + x).paths(x)
            3 paths, sum 7; multiplications: 2 path by path, 2 in reverse mode
        """
        last = self.trace.meta["roots"][-1] if result is None else self._named(result)
        found = paths(self.trace, start := self._named(leaf), last, self._derivatives)
        self._tell_local()
        self.ends = [start, last]
        return found

    def _named(self, node: Any) -> str:
        """The id of a node, of whatever names it; the last, where several are called so."""
        wanted = self._called(node)
        found = [n.id for n in self.trace.nodes if wanted == n.label] or [
            n.id for n in self.trace.nodes if wanted in (n.id, n.name)
        ]
        if not found:
            raise ValueError(
                f'there is no node "{wanted}"; there are {", ".join(n.label for n in self.trace.nodes[:20])}'
            )
        return found[-1]

    @property
    def _derivatives(self) -> Any:
        if self.__dict__.get("_derived", (None,))[0] is not self.trace:
            self.__dict__["_derived"] = self.trace, local_derivatives(self.trace)
        return self.__dict__["_derived"][1]

    def _tell_local(self) -> None:
        if not self.local:
            self.local = to_json(self._derivatives)

    def _export_local(self) -> dict[str, Any]:
        """For a page without a kernel."""
        few = len(self.trace.edges) <= MOST_EDGES
        return {"local": to_json(self._derivatives) if few else self.local}
