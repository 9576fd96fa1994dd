"""A pack that changes in place what it was given."""

from __future__ import annotations

from typing import Any

from ..api import Api
from ..expect import raises
from ..functions import square
from ..instruments import Refusal
from ..statement import statement, tensorplay_1_0

TOPIC = "hooks: packing"


def _refusing(error: Refusal) -> Any:
    def pack(tensor: Any) -> Any:
        raise error

    return pack


@tensorplay_1_0("goes on with the changed value", shows="nothing was raised")
@statement(TOPIC, 7)
def a_pack_that_writes_to_a_leaf_is_an_error(api: Api) -> None:
    """A pack that changes its input in place, here a leaf, makes the operation raise."""

    def pack(tensor: Any) -> Any:
        with api.no_grad():
            tensor.mul_(10.0)
        return tensor

    x = api.leaf([2.0])
    with api.hooks(pack, lambda packed: packed):
        raises(RuntimeError, lambda: x.sin())


@tensorplay_1_0("goes on with the changed value", shows="nothing was raised")
@statement(TOPIC, 7)
def a_pack_that_writes_to_an_intermediate_is_an_error(api: Api) -> None:
    """A pack that changes its input in place, here a result, makes the operation raise."""

    def pack(tensor: Any) -> Any:
        with api.no_grad():
            tensor.mul_(10.0)
        return tensor

    h = api.leaf([2.0]) * 1.0
    with api.hooks(pack, lambda packed: packed):
        raises(RuntimeError, lambda: h.sin())


@tensorplay_1_0("goes on with the changed value", shows="nothing was raised")
@statement(TOPIC, 7)
def a_pack_that_writes_to_an_output_is_an_error(api: Api) -> None:
    """A pack that changes the output of the operation in place makes the operation raise."""

    def pack(tensor: Any) -> Any:
        with api.no_grad():
            tensor.mul_(10.0)
        return tensor

    x = api.leaf([2.0])
    with api.hooks(pack, lambda packed: packed):
        raises(RuntimeError, lambda: x.exp())


@tensorplay_1_0("goes on with the changed value", shows="nothing was raised")
@statement(TOPIC, 7)
def a_pack_that_writes_in_a_function_is_an_error(api: Api) -> None:
    """A pack that changes in place what a custom Function saves makes apply raise."""

    def pack(tensor: Any) -> Any:
        with api.no_grad():
            tensor.mul_(10.0)
        return tensor

    h = api.leaf([2.0]) * 1.0
    with api.hooks(pack, lambda packed: packed):
        raises(RuntimeError, lambda: square(api).apply(h))


@tensorplay_1_0("goes on with the changed value", shows="nothing was raised")
@statement(TOPIC, 7)
def a_pack_that_writes_through_a_view_is_an_error(api: Api) -> None:
    """A pack that writes through a view of its input is found out as well."""

    def pack(tensor: Any) -> Any:
        with api.no_grad():
            tensor.detach()[0:1].zero_()
        return tensor

    h = api.leaf([2.0, 3.0]) * 1.0
    with api.hooks(pack, lambda packed: packed):
        raises(RuntimeError, lambda: h.sin())
