"""Names of operations that a policy is given: a warning of those that are nearly right."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator

from ..arguments import shown
from .function import Function
from .node import Node


def warn_of_near_misses(who: str, names: Iterable[str]) -> None:
    """Warn of each name that no operation and no Function has, but nearly: "MatMul" for "Matmul".

    No error, because a Function of that name may be defined later; nor is a name reported that
    resembles nothing, because its operation may come with a module that is not imported yet.

    Errors: TypeError for a name that is no str.
    """
    known: dict[str, str] = {}
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{who}: expected names of operations, found {shown(name)}")
        if not known:
            known = {_folded(each.__name__): each.__name__ for each in _classes()}
        meant = known.get(_folded(name), name)
        if meant != name and name not in {each.__name__ for each in _classes()}:
            warnings.warn(
                f"{who}: no operation is called {name!r} so far; did you mean {meant!r}?",
                stacklevel=3,
            )


def _classes() -> Iterator[type]:
    waiting: list[type] = [Node, Function]
    while waiting:
        found = waiting.pop()
        yield found
        waiting.extend(found.__subclasses__())


def _folded(name: str) -> str:
    return name.removesuffix("Backward").replace("_", "").lower()
