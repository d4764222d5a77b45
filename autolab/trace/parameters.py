"""Name parameters and buffers in a recording by their path in the module whose forward is running."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import names

if TYPE_CHECKING:
    from .build import Builder
    from .drafts import Draft


class Parameters:
    """The parameter names of one recording."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        # id of a root module -> (the module, id of a parameter or buffer -> its path, the nodes named this way)
        self._modules: dict[int, tuple[Any, dict[int, str], list[Draft]]] = {}
        self._prefixed: set[Any] = set()

    def name(self, draft: Draft, modules: list[Any], operands: dict[str, Any]) -> None:
        """Name the operands that belong to the modules whose forward is running; the outermost is last in `modules`."""
        if not modules:
            return
        root = modules[-1]
        if id(root) not in self._modules:
            self._meet(root)
        _, paths, drafts = self._modules[id(root)]
        for name, item in operands.items():
            parent = self._builder.draft(draft.operands[name][0])
            if parent.kind != "op" and not parent.name and id(item) in paths:
                parent.name = paths[id(item)]
                drafts.append(parent)

    def _meet(self, root: Any) -> None:
        """Register a root module. If two modules have parameters with the same path, begin both names with the
        variable's."""
        paths = {id(part): path for path, part in [*root.named_parameters(), *root.named_buffers()]}
        self._modules[id(root)] = root, paths, []
        known = set(paths.values())
        alike = [
            m
            for m, other, _ in self._modules.values()
            if m is not root and known & {*other.values()} and not paths.keys() & other.keys()
        ]
        for module in [*alike, root] if alike else []:
            _, paths, drafts = self._modules[id(module)]
            prefix = names.module_name(names.namespace(names.caller()), module)
            if not prefix or module in self._prefixed:
                continue
            self._prefixed.add(module)
            for draft in drafts:
                draft.name = f"{prefix}.{draft.name}"
            paths.update({key: f"{prefix}.{path}" for key, path in paths.items()})
