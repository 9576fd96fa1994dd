"""What a module shows to completion: its public names, and not what it imports for itself."""

from __future__ import annotations

import sys
from collections.abc import Callable


def public_names(module: str) -> Callable[[], list[str]]:
    """A `__dir__` for the module of this name: what its `__all__` lists, and what Python sets."""

    def __dir__() -> list[str]:
        names = vars(sys.modules[module])
        return sorted({*names["__all__"], *(name for name in names if name.startswith("__"))})

    return __dir__
