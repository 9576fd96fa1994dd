"""The design rules that the statements refer to, one sentence each."""

from __future__ import annotations

from typing import Final

Rule = int | str

RULES: Final[dict[Rule, str]] = {
    1: "One hook stack, private to each thread and each task; only the innermost pair applies.",
    2: "The context is a class: reusable, re-enterable, subclassable, a decorator; "
    "leaving removes its own entry; hooks that cannot be called are a TypeError on entering.",
    3: "A native engine that offers push and pop is told about every entry and exit.",
    4: "What is saved is what a backward formula reads for an input that needs a gradient.",
    5: "pack runs once per saved slot, in argument order, with grad off, and only when a graph "
    "is recorded; a custom Function packs inside save_for_backward; None meets no hook.",
    6: "pack gets the input itself, or a detached alias of an output; whatever it returns is kept "
    "as it is, with the unpack of the pair that is active now.",
    7: "A pack that changes its input in place is an error; an exception in a hook reaches the "
    "caller as the same object and leaves everything as before the operation.",
    8: "unpack runs at every read, in the grad mode of the reader; its result must be a Tensor of "
    "the saved shape; a floating dtype is cast back, any other change of dtype is an error.",
    9: "What unpack returns is dressed with the requires_grad and the edge recorded when saving.",
    10: "Without hooks the version at save time must still hold at read time; with hooks the "
    "packed value is the hook's own affair, but save_on_cpu keeps the check.",
    11: "A node releases its slots when it has run without retain_graph; reference counting alone "
    "frees a dropped graph; nothing recurses.",
    12: "Hooks also act on what a backward with create_graph saves while they are active.",
    13: "save_on_cpu keeps a host tensor without copying, brings others back to their device, "
    "and accepts device_type without using it.",
    "PyTorch's graph": "What PyTorch has in autograd.graph and on its nodes is offered too.",
    "Function": "Function and ctx: one gradient per tensor argument, checked for count, shape and "
    "type; arguments nested in lists, tuples and dicts are differentiated.",
    "engine": "Gradients are accumulated, never assigned; no two share a buffer; a refused "
    "backward changes none; every formula is differentiable again.",
    "in place": "An in-place operation bumps the storage's version, is recorded, rebases the "
    "history of views, and is refused on a leaf that requires grad.",
    "checkpoint": "Recompute instead of save, built on the hooks: outer hooks see the region's "
    "inputs only, and a different recomputation is a CheckpointError.",
    "devices": "The simulated accelerator has a ledger, a capacity and a clock; mixing devices "
    "is an error that names both.",
    "bad input": "Wrong use is an error that says what was expected and found; "
    "nothing is half done after it.",
    "names": "Names and defaults are TensorPlay's where it has the thing, else PyTorch's; "
    "where several gradients are possible, the convention is PyTorch's.",
}
