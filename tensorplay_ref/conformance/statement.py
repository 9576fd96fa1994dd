"""A statement about behaviour, and what is known about implementations that differ from it."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Final

from .api import Api
from .rules import RULES, Rule

REFERENCE: Final = "tensorplay_ref"

RECORDED_VERSIONS: Final[dict[str, str]] = {"torch": "2.13", "tensorplay": "1.0.0"}
"""The version of each real implementation that the differences were measured on."""

TOPICS: Final = (
    "hooks: packing",
    "hooks: what is saved",
    "hooks: unpacking",
    "hooks: stack and contexts",
    "hooks: threads and tasks",
    "save_on_cpu",
    "versions and in-place",
    "Function and ctx",
    "engine and gradients",
    "graph and nodes",
    "lifetimes and memory",
    "checkpoint",
    "devices",
    "tensors and dtypes",
    "conventions of gradients",
)


@dataclass(frozen=True)
class Difference:
    """An implementation is known to do something else than a statement says.

    ``instead`` says what it does, in one line. ``shows`` is a part of what a run of the statement
    reports there: a run that fails in another way is not this difference. ``sometimes`` is for
    races, which show in some runs only: then a run that agrees does not refute the record.
    """

    implementation: str
    version: str
    instead: str
    shows: str
    sometimes: bool = False


@dataclass(frozen=True)
class Absence:
    """An implementation is known not to offer a name that a statement needs."""

    implementation: str
    version: str
    name: str


Known = Difference | Absence
Check = Callable[[Api], None]


@dataclass(frozen=True)
class Statement:
    """One sentence about behaviour, and the function that checks it on an implementation.

    ``check`` returns when the implementation agrees, and raises otherwise. ``rule`` is the key in
    :data:`~tensorplay_ref.conformance.rules.RULES` of the rule that the statement follows from.
    """

    name: str
    topic: str
    rule: Rule
    sentence: str
    check: Check
    known: tuple[Known, ...] = ()

    def known_about(self, implementation: str) -> Known | None:
        """The recorded difference or absence of an implementation, if there is one."""
        for record in self.known:
            if record.implementation == implementation:
                return record
        return None


_registry: dict[str, Statement] = {}


def statement(topic: str, rule: Rule) -> Callable[[Check], Check]:
    """Register the decorated function as a statement; its docstring is the sentence.

    Raises ``ValueError`` for an unknown topic or rule, a missing sentence, or a name that is taken.
    """
    if topic not in TOPICS:
        raise ValueError(f"unknown topic {topic!r}; the topics are {TOPICS}")
    if rule not in RULES:
        raise ValueError(f"unknown rule {rule!r}; the rules are {tuple(RULES)}")

    def register(check: Check) -> Check:
        name = check.__name__
        sentence = " ".join((check.__doc__ or "").split())
        if not sentence:
            raise ValueError(f"{name} has no sentence")
        if name in _registry:
            raise ValueError(f"two statements are called {name}")
        _registry[name] = Statement(name, topic, rule, sentence, check)
        return check

    return register


def torch_2_13(instead: str, *, shows: str) -> Callable[[Check], Check]:
    """Record what PyTorch does instead of the decorated statement."""
    return _recorded(Difference("torch", RECORDED_VERSIONS["torch"], instead, shows))


def tensorplay_1_0(
    instead: str, *, shows: str, sometimes: bool = False
) -> Callable[[Check], Check]:
    """Record what TensorPlay does instead of the decorated statement."""
    version = RECORDED_VERSIONS["tensorplay"]
    return _recorded(Difference("tensorplay", version, instead, shows, sometimes))


def torch_lacks(name: str) -> Callable[[Check], Check]:
    """Record that PyTorch does not offer a name that the decorated statement needs."""
    return _recorded(Absence("torch", RECORDED_VERSIONS["torch"], name))


def tensorplay_lacks(name: str) -> Callable[[Check], Check]:
    """Record that TensorPlay does not offer a name that the decorated statement needs."""
    return _recorded(Absence("tensorplay", RECORDED_VERSIONS["tensorplay"], name))


def _recorded(record: Known) -> Callable[[Check], Check]:
    """A decorator that adds a record to a statement, at most one for each implementation."""

    def add(check: Check) -> Check:
        each = _registry[check.__name__]
        if each.known_about(record.implementation) is not None:
            raise ValueError(f"{each.name} has two records about {record.implementation}")
        _registry[each.name] = dataclasses.replace(each, known=(*each.known, record))
        return check

    return add


def collect(package: ModuleType) -> dict[str, Statement]:
    """All statements of a package of statement modules, in the order of the topics."""
    for module in sorted(found.name for found in pkgutil.iter_modules(package.__path__)):
        importlib.import_module(f"{package.__name__}.{module}")
    return {
        each.name: each
        for each in sorted(_registry.values(), key=lambda each: TOPICS.index(each.topic))
    }
