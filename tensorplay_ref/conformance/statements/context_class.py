"""The class of the contexts: reusable, a decorator, subclassable, and its names and arguments."""

from __future__ import annotations

from typing import Any

from ..api import Api
from ..expect import raises, same, true
from ..instruments import Recorder
from ..statement import statement, tensorplay_1_0, torch_2_13, torch_lacks

TOPIC = "hooks: stack and contexts"


@tensorplay_1_0("is a generator, which runs once", shows="_GeneratorContextManager")
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


@tensorplay_1_0("is a generator, which runs once", shows="_GeneratorContextManager")
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


@torch_2_13("has no __call__", shows="no decorator")
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


@torch_2_13("has no __call__", shows="no decorator")
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


@tensorplay_1_0("is a function", shows="not a class")
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


@tensorplay_1_0("is a generator without attributes", shows="found None")
@statement(TOPIC, 2)
def a_context_shows_its_hooks(api: Api) -> None:
    """A context object has its hooks as pack_hook and unpack_hook."""
    recorder = Recorder()
    context = api.hooks(recorder.pack, recorder.unpack)
    same(getattr(context, "pack_hook", None), recorder.pack, "pack_hook")
    same(getattr(context, "unpack_hook", None), recorder.unpack, "unpack_hook")


@torch_lacks("autograd.graph.saved_tensor_hooks")
@statement(TOPIC, 2)
def both_spellings_are_one_object(api: Api) -> None:
    """saved_tensor_hooks and saved_tensors_hooks are the same object."""
    true(api.graph.saved_tensor_hooks is api.graph.saved_tensors_hooks, "two different objects")


@torch_2_13("knows the plural only", shows="['saved_tensor_hooks']")
@tensorplay_1_0("__all__ names the plural only", shows="['saved_tensor_hooks']")
@statement(TOPIC, 2)
def a_star_import_brings_both_spellings(api: Api) -> None:
    """__all__ of autograd.graph holds saved_tensor_hooks, saved_tensors_hooks and save_on_cpu."""
    missing = {"saved_tensor_hooks", "saved_tensors_hooks", "save_on_cpu"} - set(api.graph.__all__)
    same(sorted(missing), [], "missing from __all__")


@torch_2_13("exports it from autograd.graph only", shows="exports None")
@statement(TOPIC, 2)
def autograd_exports_the_plural(api: Api) -> None:
    """autograd exports saved_tensors_hooks of its graph module, the same object."""
    exported = getattr(api.module.autograd, "saved_tensors_hooks", None)
    true(exported is api.graph.saved_tensors_hooks, f"autograd exports {exported}")


@torch_2_13("knows the plural only, and in autograd.graph", shows="exports None")
@tensorplay_1_0("autograd exports the plural only", shows="exports None")
@statement(TOPIC, 2)
def autograd_exports_the_singular(api: Api) -> None:
    """autograd exports saved_tensor_hooks, the canonical name."""
    exported = getattr(api.module.autograd, "saved_tensor_hooks", None)
    true(exported is api.graph.saved_tensors_hooks, f"autograd exports {exported}")


@statement(TOPIC, 2)
def hooks_that_cannot_be_called_are_refused(api: Api) -> None:
    """Entering with a pack or an unpack that cannot be called is a TypeError."""
    for pair in (
        (1, 2),
        (None, None),
        (lambda tensor: tensor, None),
        (None, lambda packed: packed),
    ):

        def enter(pair: Any = pair) -> None:
            with api.hooks(*pair):
                pass

        raises(TypeError, enter)


@statement(TOPIC, 2)
def hooks_are_checked_on_entering(api: Api) -> None:
    """Creating a context with wrong hooks is no error; a refused entry leaves the stack alone."""
    context = api.hooks(1, 2)
    raises(TypeError, context.__enter__)
    same(api.innermost_pair(), None, "the innermost pair after the refusal")


@torch_2_13("names the types of both arguments", shows="incompatible function arguments")
@tensorplay_1_0("names neither", shows="must both be callable")
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
