"""Paths in an explorer: the chain rule along each path, highlighted one at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import traitlets as t

from ..trace.questions import what_if
from ..trace.questions.paths import Paths, local_derivatives, paths, to_json
from .asking import Asking

MOST_EDGES = 1000
"""Up to so many edges have their local derivatives on an exported page."""


class Deriving(Asking):
    """The part of an Explorer that computes local derivatives.

    local: edge id -> the derivative of its child with respect to its parent, as a matrix (numbers in the child, numbers
        in the parent); {} until it is needed.
    ends : ids of the two nodes whose paths are shown; [] for none.
    tried: the number that `what_if` changed, as a page shows it: {"node", "at", "value"}, node "lr" for the learning
    rate.
    """

    local = t.Dict().tag(sync=True)
    ends = t.List(t.Unicode()).tag(sync=True)
    tried = t.Dict().tag(sync=True)

    def paths(self, leaf: Any, result: Any = None) -> Paths:
        """Show the paths from `leaf` to `result`, each with its product of local derivatives; they add up to the
        gradient.

        leaf, result: tensors that have names in your code, or names of nodes; result None is the explored result.

        Returns the Paths: how many there are, the products, their sum, and how many multiplications it takes path by
        path and in reverse mode. Raises ValueError if no gradient flows between the two or a name is unknown, TypeError
        for anything that can't name a node.

        Example:

            >>> x = torch.tensor(3., requires_grad=True)
            >>> torch.explore(x * x + x).paths(x)
            3 paths, sum 7; multiplications: 5 path by path, 4 in reverse mode
        """
        last = self.trace.meta["roots"][-1] if result is None else self._named(result)
        found = paths(self.trace, start := self._named(leaf), last, self._derivatives)
        self._tell_local()
        self.ends = [start, last]
        return found

    def what_if(self, node: Any, value: Any, at: int | tuple[int, ...] = ()) -> what_if.WhatIf:
        """Change a number, run the graph again, and show before and after, with the change that the gradient predicted.

        node: a leaf or a constant, as a tensor that has a name in your code or the name of a node; "lr" for the
        learning rate of every `optimizer.step()`. value: a number, or an array of the node's shape. at: where in a
        tensor the number is; () for all of it.

        Your tensors are not changed, and steps, formulas and Details still show the recording. A page shows the
        change of one number.

        Raises ValueError for a computed node, for another shape, and if an operation in between cannot be run again (it
        says which); TypeError for anything that can't name a node.

        Example:

            >>> x = torch.tensor(3., requires_grad=True)
            >>> found = torch.explore(x * x + x).what_if(x, 3.01)
            >>> found
            v2: 12 → 12.1; moved by 0.01: predicted 0.07, happened 0.0701; the rest, 9.98e-05, is curvature
            >>> found.predicted, found.changes["v2"][0]
            (0.07, 12.0)
        """
        called = self._called(node)
        rate = called == "lr" and called not in {one.label for one in self.trace.nodes}
        id, place = (
            "lr" if rate else self._named(called),
            (at,) if isinstance(at, int) else tuple(at),
        )
        found = what_if.changed(self.trace, id, value, place, self._derivatives)
        shape = () if rate else self.trace.node(id).shape or ()
        if np.ndim(value) == 0 and len(place) == len(shape):
            self._tell_local()
            flat = int(np.ravel_multi_index(place, shape, mode="wrap")) if shape else 0
            self.tried = {"node": id, "at": flat, "value": float(value)}
        return found

    def _named(self, node: Any) -> str:
        """Return a node's id, given anything that identifies it; the last one if several have the same name."""
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
        """Compute the local derivatives for a page without a kernel."""
        few = len(self.trace.edges) <= MOST_EDGES
        return {"local": to_json(self._derivatives) if few else self.local}
