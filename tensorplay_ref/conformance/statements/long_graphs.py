"""Long and broad graphs: nothing recurses."""

from __future__ import annotations

from ..api import Api
from ..expect import equal, same
from ..instruments import Parcels, collector_off
from ..statement import statement

TOPIC = "lifetimes and memory"


@statement(TOPIC, 11)
def a_long_chain_is_walked_without_recursion(api: Api) -> None:
    """A chain of 100,000 operations is walked and freed without a RecursionError."""
    x = api.leaf(1.0)
    y = x
    for _ in range(100_000):
        y = y + 1.0
    y.backward()
    equal(api, x.grad, 1.0)
    z = x
    for _ in range(100_000):
        z = z + 1.0
    del z


@statement(TOPIC, 11)
def a_long_chain_of_functions_is_walked_without_recursion(api: Api) -> None:
    """A chain of 20,000 custom Functions is walked and freed without a RecursionError."""
    function = api.function(lambda ctx, x: x + 1.0, lambda ctx, gradient: gradient)
    x = api.leaf(1.0)
    y = x
    for _ in range(20_000):
        y = function.apply(y)
    y.backward()
    equal(api, x.grad, 1.0)


@statement(TOPIC, 11)
def a_long_chain_is_freed_under_identity_hooks(api: Api) -> None:
    """A chain of 20,000 operations that save, packed by identity hooks, is freed unwalked."""
    with collector_off():
        parcels = Parcels(api, detach=False)
        y = api.leaf(0.5)
        with parcels.context:
            for _ in range(20_000):
                y = y.sin()
        same(parcels.alive, 20_000, "packed objects alive")
        del y
        same(parcels.alive, 0, "packed objects alive after dropping the result")


@statement(TOPIC, "engine")
def ten_thousand_consumers_are_added_up(api: Api) -> None:
    """A result with 10,000 consumers gets the sum of their gradients."""
    x = api.leaf(1.0)
    h = x * 1.0
    total = h
    for _ in range(9_999):
        total = total + h
    total.backward()
    equal(api, x.grad, 10_000.0)
