"""Wrong builds: what a check must reject, and the words it must find for it."""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from tests.course import wrong_builds

# Gets what the cells of the solved notebook define, gives what is handed to check.
Make = Callable[[ModuleType], tuple[Any, ...]]


@dataclass(frozen=True)
class WrongBuild:
    """A named mistake. ``says`` is a part of the message that the student needs."""

    step: str
    says: str
    make: Make

    @property
    def name(self) -> str:
        return self.make.__name__


_registry: list[WrongBuild] = []


def wrong(step: str, says: str) -> Callable[[Make], Make]:
    """Register a wrong build; the decorated function's name tells what is wrong with it."""

    def register(make: Make) -> Make:
        _registry.append(WrongBuild(step, says, make))
        return make

    return register


def all_wrong_builds() -> list[WrongBuild]:
    """The wrong builds of all notebooks."""
    for module in pkgutil.iter_modules(wrong_builds.__path__):
        importlib.import_module(f"{wrong_builds.__name__}.{module.name}")
    return list(_registry)
