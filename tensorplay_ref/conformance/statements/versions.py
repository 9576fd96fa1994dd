"""Version counters: what bumps them, who shares them, and the check when a slot is read."""

from __future__ import annotations

from typing import Any

from tensorplay_ref.conformance.api import Api
from tensorplay_ref.conformance.expect import equal, raises, same, true
from tensorplay_ref.conformance.functions import square
from tensorplay_ref.conformance.statement import statement

TOPIC = "versions and in-place"

MODIFIED = "one of the variables needed for gradient computation has been modified by an inplace"


@statement(TOPIC, "in place")
def every_in_place_operation_counts_one(api: Api) -> None:
    """A new tensor has version 0, and each in-place operation adds one."""
    x = api.constant([1.0, 2.0])
    found = [x._version]
    steps = (
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


@statement(TOPIC, "beside the seed")
def a_version_can_be_bumped_by_hand(api: Api) -> None:
    """increment_version adds one, to one tensor or to each of several."""
    a, b = api.constant([1.0]), api.constant([2.0])
    api.graph.increment_version(a)
    api.graph.increment_version([a, b])
    same((a._version, b._version), (2, 1), "versions")


@statement(TOPIC, "beside the seed")
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
