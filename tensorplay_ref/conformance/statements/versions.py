"""Version counters: what bumps them and who shares them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..api import Api
from ..expect import equal, raises, same
from ..statement import statement, tensorplay_lacks

TOPIC = "versions and in-place"

MODIFIED = "one of the variables needed for gradient computation has been modified by an inplace"


@statement(TOPIC, "in place")
def every_in_place_operation_counts_one(api: Api) -> None:
    """A new tensor has version 0, and each in-place operation adds one."""
    x = api.constant([1.0, 2.0])
    found = [x._version]
    steps: tuple[Callable[[], Any], ...] = (
        lambda: x.add_(1.0),
        lambda: x.mul_(2.0),
        lambda: x.copy_(api.constant([5.0, 6.0])),
        lambda: x.fill_(3.0),
        lambda: x.zero_(),
    )
    for step in steps:
        step()
        found.append(x._version)
    same(found, [0, 1, 2, 3, 4, 5], "versions")


@statement(TOPIC, "in place")
def an_assignment_to_an_element_counts_one(api: Api) -> None:
    """x[0] = 3 adds one to the version of x."""
    x = api.constant([1.0, 2.0])
    x[0] = 3.0
    same(x._version, 1, "the version")
    equal(api, x, [3.0, 2.0], "x")


@statement(TOPIC, "in place")
def writes_count_under_no_grad(api: Api) -> None:
    """An in-place operation under no_grad counts too."""
    x = api.leaf([1.0])
    with api.no_grad():
        x.add_(1.0)
    same(x._version, 1, "the version")


@statement(TOPIC, "in place")
def views_share_the_counter(api: Api) -> None:
    """A write through a view counts for the base, and a write to the base for the view."""
    x = api.constant([[1.0, 2.0], [3.0, 4.0]])
    row, column = x[0], x.transpose(0, 1)
    row.add_(1.0)
    x.add_(1.0)
    same((x._version, row._version, column._version), (2, 2, 2), "versions")


@statement(TOPIC, "in place")
def a_detached_alias_shares_the_counter(api: Api) -> None:
    """x.detach() shares memory and version counter with x."""
    x = api.constant([1.0, 2.0])
    alias = x.detach()
    alias.add_(1.0)
    same(x._version, 1, "the version of x")
    equal(api, x, [2.0, 3.0], "x")


@statement(TOPIC, "in place")
def a_clone_has_its_own_counter(api: Api) -> None:
    """A clone starts at version 0, and writes to it do not count for the original."""
    x = api.constant([1.0])
    x.add_(1.0)
    copy = x.clone()
    same(copy._version, 0, "the version of the clone")
    copy.add_(1.0)
    same((x._version, copy._version), (1, 1), "versions")


@statement(TOPIC, "in place")
def reading_does_not_count(api: Api) -> None:
    """Operations that write nothing leave the version alone."""
    x = api.constant([1.0, 2.0])
    x + x, x.exp(), x[0], x.sum(), x.reshape(2, 1)
    same(x._version, 0, "the version")


@statement(TOPIC, "bad input")
def a_write_that_fails_does_not_count(api: Api) -> None:
    """An in-place operation with an unfit shape raises, and leaves value and version as before."""
    x = api.constant([1.0, 2.0])
    raises((RuntimeError, ValueError), lambda: x.add_(api.constant([1.0, 2.0, 3.0])))
    same(x._version, 0, "the version")
    equal(api, x, [1.0, 2.0], "x")


@tensorplay_lacks("autograd.graph.increment_version")
@statement(TOPIC, "PyTorch's graph")
def a_version_can_be_bumped_by_hand(api: Api) -> None:
    """increment_version adds one, to one tensor or to each of several."""
    a, b = api.constant([1.0]), api.constant([2.0])
    api.graph.increment_version(a)
    api.graph.increment_version([a, b])
    same((a._version, b._version), (2, 1), "versions")


@tensorplay_lacks("autograd.graph.increment_version")
@statement(TOPIC, "PyTorch's graph")
def a_version_bumped_by_hand_is_noticed(api: Api) -> None:
    """A tensor whose version was bumped by hand after saving is an error in backward."""
    h = api.leaf([1.0]) * 1.0
    y = h.square().sum()
    api.graph.increment_version(h)
    raises(RuntimeError, y.backward, MODIFIED)


@statement(TOPIC, "in place")
def the_version_cannot_be_set(api: Api) -> None:
    """Assigning to _version is an AttributeError."""
    x = api.constant([1.0])

    def assign() -> None:
        x._version = 7

    raises(AttributeError, assign)
    same(x._version, 0, "the version")
