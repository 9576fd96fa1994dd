"""The hook stack, and the class whose objects push on it."""

from __future__ import annotations

from typing import Any

from tensorplay_ref.conformance.api import Api
from tensorplay_ref.conformance.expect import Recorder, equal, raises, same, true
from tensorplay_ref.conformance.statement import statement

TOPIC = "hooks: stack and contexts"


@statement(TOPIC, 1)
def only_the_innermost_pair_packs(api: Api) -> None:
    """Of nested contexts only the innermost packs; the outer one is back when it is left."""
    outer, inner = Recorder(), Recorder()
    x = api.leaf([2.0])
    with api.hooks(outer.pack, outer.unpack):
        x.sin()
        with api.hooks(inner.pack, inner.unpack):
            x.sin()
            x.cos()
        x.sin()
    x.sin()
    same((len(outer.packed), len(inner.packed)), (2, 2), "packs of the outer and the inner pair")


@statement(TOPIC, 1)
def pairs_do_not_compose(api: Api) -> None:
    """Nested pairs do not compose: times 10 inside times 100 gives times 10."""
    x = api.leaf([3.0])
    with api.hooks(lambda tensor: tensor.detach() * 100.0, lambda packed: packed):
        with api.hooks(lambda tensor: tensor.detach() * 10.0, lambda packed: packed):
            y = x.square()
    y.sum().backward()
    equal(api, x.grad, [60.0])


@statement(TOPIC, 1)
def three_levels_are_left_one_by_one(api: Api) -> None:
    """Three nested contexts pack in the order 1 2 3 2 1 as they are entered and left."""
    order: list[int] = []

    def context(number: int) -> Any:
        def pack(tensor: Any) -> Any:
            order.append(number)
            return tensor.detach()

        return api.hooks(pack, lambda packed: packed)

    x = api.leaf([2.0])
    with context(1):
        x.sin()
        with context(2):
            x.sin()
            with context(3):
                x.sin()
            x.sin()
        x.sin()
    same(order, [1, 2, 3, 2, 1], "which context packed")


@statement(TOPIC, 2)
def an_exception_in_the_body_takes_the_pair_off(api: Api) -> None:
    """An exception in the body leaves the context and goes on to the caller."""
    recorder = Recorder()
    x = api.leaf([2.0])

    def body() -> None:
        with api.hooks(recorder.pack, recorder.unpack):
            raise KeyError("body")

    raises(KeyError, body)
    x.sin()
    same(len(recorder.packed), 0, "packs after the exception")


@statement(TOPIC, 2)
def an_exception_in_an_inner_body_keeps_the_outer_pair(api: Api) -> None:
    """An exception that leaves an inner context leaves the outer pair active."""
    outer = Recorder()
    x = api.leaf([2.0])
    with api.hooks(outer.pack, outer.unpack):
        try:
            with api.hooks(lambda tensor: 1, lambda packed: packed):
                raise KeyError("body")
        except KeyError:
            pass
        x.sin()
    same(len(outer.packed), 1, "packs of the outer pair")


@statement(TOPIC, 2)
def entering_gives_none(api: Api) -> None:
    """``with saved_tensors_hooks(pack, unpack) as value`` binds None."""
    with api.hooks(lambda tensor: tensor, lambda packed: packed) as value:
        same(value, None, "the value of as")


@statement(TOPIC, 2)
def a_context_that_is_not_entered_does_nothing(api: Api) -> None:
    """Creating the context installs nothing; entering does."""
    recorder = Recorder()
    context = api.hooks(recorder.pack, recorder.unpack)
    api.leaf([2.0]).sin()
    same(len(recorder.packed), 0, "packs before entering")
    with context:
        api.leaf([2.0]).sin()
    same(len(recorder.packed), 1, "packs inside")


@statement(TOPIC, 2)
def a_context_can_be_entered_by_hand(api: Api) -> None:
    """Calls of __enter__ and __exit__ install and remove the pair like a with statement."""
    recorder = Recorder()
    x = api.leaf([2.0])
    context = api.hooks(recorder.pack, recorder.unpack)
    context.__enter__()
    x.sin()
    context.__exit__(None, None, None)
    x.sin()
    same(len(recorder.packed), 1, "packs")


@statement(TOPIC, 2)
def a_context_can_be_used_again(api: Api) -> None:
    """One context object can be entered again after it was left."""
    recorder = Recorder()
    x = api.leaf([2.0])
    context = api.hooks(recorder.pack, recorder.unpack)
    for expected in (1, 2):
        with context:
            x.sin()
        x.sin()
        same(len(recorder.packed), expected, "packs")


@statement(TOPIC, 2)
def a_context_can_be_entered_inside_itself(api: Api) -> None:
    """One context object can be entered while it is active; it ends with the outer exit."""
    recorder = Recorder()
    x = api.leaf([2.0])
    context = api.hooks(recorder.pack, recorder.unpack)
    with context:
        with context:
            x.sin()
        x.sin()
    x.sin()
    same(len(recorder.packed), 2, "packs")


@statement(TOPIC, 2)
def a_context_is_a_decorator(api: Api) -> None:
    """A context object decorates a function: the pair is active in each of its calls."""
    recorder = Recorder()
    x = api.leaf([2.0])
    decorate = api.hooks(recorder.pack, recorder.unpack)
    true(callable(decorate), "the context cannot be called, so it is no decorator")

    @decorate  # type: ignore[untyped-decorator]
    def operation() -> Any:
        return x.sin()

    operation()
    operation()
    x.sin()
    same(len(recorder.packed), 2, "packs")


@statement(TOPIC, 2)
def a_decorated_function_may_call_itself(api: Api) -> None:
    """A decorated function that calls itself packs in every call and leaves nothing behind."""
    recorder = Recorder()
    x = api.leaf([2.0])
    decorate = api.hooks(recorder.pack, recorder.unpack)
    true(callable(decorate), "the context cannot be called, so it is no decorator")

    @decorate  # type: ignore[untyped-decorator]
    def operation(depth: int) -> None:
        x.sin()
        if depth:
            operation(depth - 1)

    operation(2)
    x.sin()
    same(len(recorder.packed), 3, "packs")


@statement(TOPIC, 2)
def the_context_can_be_subclassed(api: Api) -> None:
    """A subclass that chooses its own pair works like the class."""
    recorder = Recorder()
    base = api.graph.saved_tensors_hooks
    true(isinstance(base, type), "saved_tensors_hooks is not a class")

    def __init__(self: Any) -> None:
        base.__init__(self, recorder.pack, recorder.unpack)

    counting = type("Counting", (base,), {"__init__": __init__})
    with counting():
        api.leaf([2.0]).sin()
    same(len(recorder.packed), 1, "packs")


@statement(TOPIC, 2)
def a_context_shows_its_hooks(api: Api) -> None:
    """A context object has its hooks as pack_hook and unpack_hook."""
    recorder = Recorder()
    context = api.hooks(recorder.pack, recorder.unpack)
    same(getattr(context, "pack_hook", None), recorder.pack, "pack_hook")
    same(getattr(context, "unpack_hook", None), recorder.unpack, "unpack_hook")


@statement(TOPIC, 2)
def both_spellings_are_one_object(api: Api) -> None:
    """saved_tensor_hooks and saved_tensors_hooks are the same object."""
    true(api.graph.saved_tensor_hooks is api.graph.saved_tensors_hooks, "two different objects")


@statement(TOPIC, 2)
def a_star_import_brings_both_spellings(api: Api) -> None:
    """__all__ of autograd.graph holds saved_tensor_hooks, saved_tensors_hooks and save_on_cpu."""
    missing = {"saved_tensor_hooks", "saved_tensors_hooks", "save_on_cpu"} - set(api.graph.__all__)
    same(sorted(missing), [], "missing from __all__")


@statement(TOPIC, 2)
def autograd_exports_the_plural(api: Api) -> None:
    """autograd exports saved_tensors_hooks of its graph module, the same object."""
    exported = getattr(api.module.autograd, "saved_tensors_hooks", None)
    true(exported is api.graph.saved_tensors_hooks, f"autograd exports {exported}")


@statement(TOPIC, 2)
def autograd_exports_the_singular(api: Api) -> None:
    """autograd exports saved_tensor_hooks, the canonical name."""
    exported = getattr(api.module.autograd, "saved_tensor_hooks", None)
    true(exported is api.graph.saved_tensors_hooks, f"autograd exports {exported}")


@statement(TOPIC, 2)
def hooks_that_cannot_be_called_are_refused(api: Api) -> None:
    """Entering with a pack or an unpack that cannot be called is a TypeError."""
    for pair in ((1, 2), (None, None), (lambda tensor: tensor, None), (None, lambda packed: packed)):

        def enter(pair: Any = pair) -> None:
            with api.hooks(*pair):
                pass

        raises(TypeError, enter)


@statement(TOPIC, 2)
def hooks_are_checked_on_entering(api: Api) -> None:
    """Creating a context with wrong hooks is no error; a refused entry leaves the stack as before."""
    context = api.hooks(1, 2)
    raises(TypeError, context.__enter__)
    same(api.innermost_pair(), None, "the innermost pair after the refusal")


@statement(TOPIC, 2)
def the_refusal_names_the_argument(api: Api) -> None:
    """The TypeError about a hook that cannot be called names the argument: unpack_hook."""
    context = api.hooks(lambda tensor: tensor, 7)
    raises(TypeError, context.__enter__, "unpack_hook")


@statement(TOPIC, 2)
def both_hooks_must_be_given(api: Api) -> None:
    """A missing hook is a TypeError that names it."""
    raises(TypeError, lambda: api.graph.saved_tensors_hooks(lambda tensor: tensor), "unpack_hook")


@statement(TOPIC, 2)
def hooks_can_be_given_by_name(api: Api) -> None:
    """The arguments are called pack_hook and unpack_hook."""
    recorder = Recorder()
    with api.graph.saved_tensors_hooks(unpack_hook=recorder.unpack, pack_hook=recorder.pack):
        api.leaf([2.0]).sin()
    same(recorder.counts, (1, 0), "calls of pack and unpack")


@statement(TOPIC, 2)
def leaving_out_of_order_removes_ones_own_pair(api: Api) -> None:
    """Entering A, then B, then leaving A removes A's pair: B packs on."""
    first, second = Recorder(), Recorder()
    x = api.leaf([2.0])
    a = api.hooks(first.pack, first.unpack)
    b = api.hooks(second.pack, second.unpack)
    a.__enter__()
    b.__enter__()
    a.__exit__(None, None, None)
    x.sin()
    b.__exit__(None, None, None)
    x.sin()
    same((len(first.packed), len(second.packed)), (0, 1), "packs of A and of B")


@statement(TOPIC, 1)
def a_context_may_be_opened_inside_pack(api: Api) -> None:
    """A context opened and left inside pack does not disturb the one that is packing."""
    recorder = Recorder()

    def pack(tensor: Any) -> Any:
        with api.hooks(lambda inner: inner, lambda packed: packed):
            return recorder.pack(tensor)

    x = api.leaf([2.0])
    with api.hooks(pack, recorder.unpack):
        x.sin()
        x.cos()
    same(len(recorder.packed), 2, "packs")
