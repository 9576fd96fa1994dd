"""The check of the version when a saved tensor is read."""

from __future__ import annotations

from typing import Any

from ..api import Api
from ..expect import equal, raises, true
from ..functions import square
from ..statement import statement, tensorplay_1_0, torch_2_13

TOPIC = "versions and in-place"

MODIFIED = "one of the variables needed for gradient computation has been modified by an inplace"


@statement(TOPIC, 10)
def a_saved_input_that_was_changed_is_an_error(api: Api) -> None:
    """An input saved without hooks and changed in place is an error in backward."""
    x = api.leaf([2.0, 3.0])
    h = x * 1.0
    y = h.square().sum()
    with api.no_grad():
        h.add_(1.0)
    raises(RuntimeError, y.backward, MODIFIED)
    true(x.grad is None, "x got a gradient")


@statement(TOPIC, 10)
def a_saved_output_that_was_changed_is_an_error(api: Api) -> None:
    """An output saved without hooks and changed in place is an error in backward."""
    y = api.leaf([2.0, 3.0]).exp()
    s = y.sum()
    with api.no_grad():
        y.add_(1.0)
    raises(RuntimeError, s.backward, MODIFIED)


@statement(TOPIC, 10)
def a_changed_leaf_is_an_error(api: Api) -> None:
    """A parameter updated in place between forward and backward is an error in backward."""
    w = api.leaf([2.0, 3.0])
    y = w.square().sum()
    with api.no_grad():
        w.sub_(0.1)
    raises(RuntimeError, y.backward, MODIFIED)


@statement(TOPIC, 10)
def a_change_through_a_view_is_an_error(api: Api) -> None:
    """A write through a slice of a saved tensor is found out."""
    h = api.leaf([2.0, 3.0]) * 1.0
    y = h.square().sum()
    with api.no_grad():
        h[0:1].mul_(2.0)
    raises(RuntimeError, y.backward, MODIFIED)


@statement(TOPIC, 10)
def a_change_through_a_detached_alias_is_an_error(api: Api) -> None:
    """A write through h.detach() is found out."""
    h = api.leaf([2.0, 3.0]) * 1.0
    y = h.square().sum()
    h.detach().zero_()
    raises(RuntimeError, y.backward, MODIFIED)


@statement(TOPIC, 10)
def a_recorded_change_is_an_error_too(api: Api) -> None:
    """An in-place operation that is recorded spoils what was saved before it as well."""
    h = api.leaf([2.0, 3.0]) * 1.0
    y = h.square().sum()
    h += 1.0
    raises(RuntimeError, (y + h.sum()).backward, MODIFIED)


@statement(TOPIC, 10)
def what_a_function_saved_is_checked(api: Api) -> None:
    """Reading ctx.saved_tensors is an error when a saved tensor was changed in place."""
    h = api.leaf([2.0, 3.0]) * 1.0
    y = square(api).apply(h).sum()
    with api.no_grad():
        h.add_(1.0)
    raises(RuntimeError, y.backward, MODIFIED)


@tensorplay_1_0("names the versions only", shows="lacks '1, 3'")
@statement(TOPIC, 10)
def the_error_names_shape_and_versions(api: Api) -> None:
    """The error names the shape and both versions: it is at version 2, expected version 0."""
    h = api.leaf([[2.0, 3.0, 4.0]]) * 1.0
    y = h.square().sum()
    with api.no_grad():
        h.add_(1.0).add_(1.0)
    error = str(raises(RuntimeError, y.backward, MODIFIED))
    for fragment in ("1, 3", "version 2", "version 0"):
        true(fragment in error, f"the message lacks {fragment!r}: {error}")


@statement(TOPIC, 10)
def the_version_counts_from_saving(api: Api) -> None:
    """A change before the operation that saves is no error, only one after it."""
    x = api.leaf([2.0])
    h = x * 1.0
    h.add_(1.0)
    y = h.square().sum()
    y.backward()
    equal(api, x.grad, [6.0])


@statement(TOPIC, 10)
def a_change_and_its_undoing_is_an_error(api: Api) -> None:
    """The version only counts up: changing a value and changing it back is still an error."""
    h = api.leaf([2.0]) * 1.0
    y = h.square().sum()
    with api.no_grad():
        h.add_(1.0)
        h.sub_(1.0)
    raises(RuntimeError, y.backward, MODIFIED)


@torch_2_13("saves after forward, so the changed value", shows="nothing was raised")
@statement(TOPIC, 10)
def a_change_inside_forward_after_saving_is_an_error(api: Api) -> None:
    """A tensor that forward saves and then changes in place is an error when it is read."""

    def forward(ctx: Any, x: Any) -> Any:
        h = x * 2.0
        ctx.save_for_backward(h)
        h.add_(1.0)
        return h * 1.0

    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient * ctx.saved_tensors[0]

    y = api.function(forward, backward).apply(api.leaf([2.0]))
    raises(RuntimeError, lambda: y.sum().backward(), MODIFIED)


@statement(TOPIC, 10)
def under_identity_hooks_the_version_is_not_checked(api: Api) -> None:
    """With hooks the packed value is their own affair: no error, and the changed value counts."""
    x = api.leaf([2.0, 3.0])
    h = x * 1.0
    with api.hooks(lambda tensor: tensor, lambda packed: packed):
        y = h.square().sum()
    with api.no_grad():
        h.add_(1.0)
    y.backward()
    equal(api, x.grad, [6.0, 8.0])


@statement(TOPIC, 10)
def under_copying_hooks_a_change_does_not_matter(api: Api) -> None:
    """With a pack that copies, the gradient is that of the value at saving."""
    x = api.leaf([2.0, 3.0])
    h = x * 1.0
    with api.hooks(lambda tensor: tensor.detach().clone(), lambda packed: packed):
        y = h.square().sum()
    with api.no_grad():
        h.add_(1.0)
    y.backward()
    equal(api, x.grad, [4.0, 6.0])


@statement(TOPIC, 10)
def a_refused_backward_changes_no_gradient(api: Api) -> None:
    """A backward that finds a changed tensor leaves the gradients that were there before."""
    x = api.leaf([2.0])
    (x * 3.0).sum().backward()
    h = x * 1.0
    y = h.square().sum()
    with api.no_grad():
        h.add_(1.0)
    raises(RuntimeError, y.backward)
    equal(api, x.grad, [3.0])
