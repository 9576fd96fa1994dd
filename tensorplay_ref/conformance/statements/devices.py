"""Devices by name, and tensors that move between the host and an accelerator."""

from __future__ import annotations

import copy
import pickle
from typing import Any

from ..api import Api
from ..expect import equal, raises, same, true
from ..statement import statement, tensorplay_1_0, torch_2_13, torch_lacks

TOPIC = "devices"


def _kind(device: Any) -> str:
    return str(device).split(":")[0]


@statement(TOPIC, "devices")
def a_device_has_a_type_in_words(api: Api) -> None:
    """The type of a device is the text "cpu", and a new tensor lives there."""
    same(api.make_device("cpu").type, "cpu", "type")
    same(api.constant([1.0]).device.type, "cpu", "type of a new tensor's device")


@statement(TOPIC, "devices")
def a_device_prints_as_its_name(api: Api) -> None:
    """str of the host device is "cpu"."""
    same(str(api.make_device("cpu")), "cpu", "str")


@torch_lacks("DeviceType")
@statement(TOPIC, "devices")
def a_device_can_be_made_from_its_type(api: Api) -> None:
    """Device(DeviceType.CPU) is the device "cpu"."""
    same(str(api.make_device(api.DeviceType.CPU)), "cpu", "str")


@torch_2_13("compares unequal to every string", shows="does not equal its name")
@statement(TOPIC, "devices")
def a_device_equals_its_name(api: Api) -> None:
    """A device equals the string that it prints as, from either side."""
    device = api.make_device("cpu")
    true(device == "cpu" and "cpu" == device, "the device does not equal its name")


@statement(TOPIC, "devices")
def equal_devices_have_equal_hashes(api: Api) -> None:
    """Devices that are equal are one key of a dict."""
    first, second = api.make_device("cuda"), api.make_device("cuda:0")
    table = {first: 1}
    true(first != second or table.get(second) == 1, "equal devices have different hashes")
    true(api.make_device("cpu") in {api.make_device("cpu"): 1}, "the host is not found")


@tensorplay_1_0("cannot be pickled", shows="cannot pickle")
@statement(TOPIC, "devices")
def a_device_can_be_copied_and_pickled(api: Api) -> None:
    """A device survives copy, deepcopy and pickle as an equal device."""
    device = api.make_device("cpu")
    for other in (copy.copy(device), copy.deepcopy(device), pickle.loads(pickle.dumps(device))):
        true(other == device, f"{other!r} is not equal")


@torch_2_13("raises RuntimeError", shows="found RuntimeError")
@statement(TOPIC, "bad input")
def an_unknown_device_is_a_value_error(api: Api) -> None:
    """An unknown device name is a ValueError that names it."""
    raises(ValueError, lambda: api.make_device("banana"), "banana")


@tensorplay_1_0("makes a new wrapper object", shows="another object")
@statement(TOPIC, "devices")
def moving_to_where_it_is_gives_the_tensor_itself(api: Api) -> None:
    """x.to(device) gives x itself when it is there already."""
    x = api.leaf([1.0])
    true(x.to("cpu") is x, "another object was returned")


@statement(TOPIC, "devices")
def a_copy_can_be_asked_for(api: Api) -> None:
    """x.to(device, copy=True) gives a tensor with memory of its own, and is differentiated."""
    x = api.leaf([1.0])
    y = x.to(api.make_device("cpu"), copy=True)
    true(not api.same_memory(x, y), "the copy shares memory")
    (y * 3.0).sum().backward()
    equal(api, x.grad, [3.0])


@statement(TOPIC, "devices")
def a_tensor_moves_there_and_back(api: Api) -> None:
    """x.to("cuda") has the same values on that device, and .to("cpu") brings them back."""
    device = api.accelerator()
    x = api.constant([[1.0, 2.0]])
    y = x.to(device)
    same(_kind(y.device), "cuda", "the device")
    same(y.to("cpu").tolist(), [[1.0, 2.0]], "values brought back")


@statement(TOPIC, "devices")
def results_live_where_their_inputs_live(api: Api) -> None:
    """The result of an operation lives on the device of its inputs."""
    x = api.constant([1.0, 2.0]).to(api.accelerator())
    for y in (x * 2.0, x + x, x.sum(), x.exp(), x[0:1], x.reshape(2, 1)):
        same(_kind(y.device), "cuda", "the device of a result")


@statement(TOPIC, "bad input")
def mixing_devices_is_an_error_that_names_both(api: Api) -> None:
    """An operation on tensors of two devices is an error that names both devices."""
    x = api.constant([1.0])
    y = x.to(api.accelerator())
    raises(RuntimeError, lambda: x + y, "cpu", "cuda")
    raises(RuntimeError, lambda: y * x, "cpu", "cuda")


@statement(TOPIC, "devices")
def a_gradient_lives_where_its_leaf_lives(api: Api) -> None:
    """The gradient of a leaf on the accelerator is there, too."""
    x = api.leaf([2.0]).detach().to(api.accelerator()).requires_grad_()
    x.square().sum().backward()
    same(_kind(x.grad.device), "cuda", "the device of the gradient")
    equal(api, x.grad, [4.0])


@statement(TOPIC, "devices")
def a_gradient_crosses_the_link_back(api: Api) -> None:
    """A leaf on the host whose copy on the accelerator is used gets its gradient on the host."""
    x = api.leaf([2.0])
    x.to(api.accelerator()).square().sum().backward()
    same(_kind(x.grad.device), "cpu", "the device of the gradient")
    equal(api, x.grad, [4.0])


@statement(TOPIC, "devices")
def tensors_can_be_made_on_a_device(api: Api) -> None:
    """zeros, ones and tensor take a device."""
    device = api.accelerator()
    made = (
        api.zeros(2, device=device),
        api.ones(2, device=device),
        api.tensor([1.0], device=device),
    )
    same([_kind(each.device) for each in made], ["cuda"] * 3, "devices")


@statement(TOPIC, "devices")
def a_view_stays_on_its_device(api: Api) -> None:
    """A view on the accelerator shares the version counter of its base."""
    x = api.zeros(4, device=api.accelerator())
    view = x[1:3]
    view.add_(1.0)
    same((_kind(view.device), x._version), ("cuda", 1), "device of the view, version of the base")
    equal(api, x, [0.0, 1.0, 1.0, 0.0], "x")


@statement(TOPIC, 13)
def save_on_cpu_brings_tensors_back_to_their_device(api: Api) -> None:
    """What save_on_cpu moved to the host is on its device again when it is read."""
    found: list[Any] = []
    device = api.accelerator()

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    def backward(ctx: Any, gradient: Any) -> Any:
        (x,) = ctx.saved_tensors
        found.append((_kind(x.device), tuple(x.shape), x.dtype == api.float32))
        return gradient * 2.0 * x

    x = api.leaf([[1.0, 2.0, 3.0]], api.float32)
    with api.graph.save_on_cpu():
        y = api.function(forward, backward).apply(x.to(device).transpose(0, 1))
    y.sum().backward()
    same(found, [("cuda", (3, 1), True)], "device, shape, float32")
    equal(api, x.grad, [[2.0, 4.0, 6.0]])


@statement(TOPIC, 13)
def save_on_cpu_serves_second_derivatives_on_a_device(api: Api) -> None:
    """Through values that went to the host and back the second derivative of x**3 at 2 is 12."""
    x = api.leaf([2.0])
    h = x.to(api.accelerator())
    with api.graph.save_on_cpu():
        y = h**3
    (first,) = api.grad(y.sum(), x, create_graph=True)
    (second,) = api.grad(first.sum(), x)
    equal(api, second, [12.0], "the second derivative")


@statement(TOPIC, 13)
def a_device_tensor_written_to_after_offloading_is_no_error(api: Api) -> None:
    """save_on_cpu copied a device tensor, so writing to it afterwards does not matter."""
    x = api.leaf([2.0])
    h = x.to(api.accelerator()) * 1.0
    with api.graph.save_on_cpu():
        y = h.square().sum()
    with api.no_grad():
        h.zero_()
    y.backward()
    equal(api, x.grad, [4.0])


@statement(TOPIC, "devices")
def a_tensor_can_be_pinned(api: Api) -> None:
    """pin_memory gives a copy in pinned host memory, and is_pinned tells so."""
    api.accelerator()
    x = api.constant([1.0, 2.0])
    y = x.pin_memory()
    same((x.is_pinned(), y.is_pinned()), (False, True), "is_pinned")
    equal(api, y, [1.0, 2.0], "the pinned copy")


@statement(TOPIC, 13)
def save_on_cpu_may_pin_what_it_moves(api: Api) -> None:
    """save_on_cpu(pin_memory=True) gives the same gradient on an accelerator."""
    x = api.leaf([2.0, 3.0])
    h = x.to(api.accelerator())
    with api.graph.save_on_cpu(pin_memory=True):
        y = h.square().sum()
    y.backward()
    equal(api, x.grad, [4.0, 6.0])
