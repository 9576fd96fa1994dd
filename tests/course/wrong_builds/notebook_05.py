"""Mistakes in notebook 05: the slot and the context manager."""

from typing import Any

from tests.course.builds import wrong


def slot_class(lesson: Any, **methods: Any) -> Any:
    """The lesson's slot with some methods replaced."""
    return type("SavedTensor", (lesson.SavedTensor,), methods)


@wrong("05.saved_tensor", says="a slot saved under two pairs and read after both: step 2")
def looks_the_unpack_up_at_reading(lesson: Any) -> Any:
    def unpack(self: Any) -> Any:
        if lesson.hook_stack:
            return lesson.hook_stack[-1][1](self.kept)
        self.unpack_hook = None
        return lesson.SavedTensor.unpack(self)

    return slot_class(lesson, unpack=unpack), lesson.hook_stack


@wrong("05.saved_tensor", says="no error at a read after a change in place")
def never_compares_versions(lesson: Any) -> Any:
    def unpack(self: Any) -> Any:
        return self.kept if self.unpack_hook is None else self.unpack_hook(self.kept)

    return slot_class(lesson, unpack=unpack), lesson.hook_stack


@wrong("05.saved_tensor", says="unpack called once, expected twice (one slot)")
def keeps_what_it_unpacked(lesson: Any) -> Any:
    def unpack(self: Any) -> Any:
        if self.unpack_hook is None:
            return lesson.SavedTensor.unpack(self)
        if not hasattr(self, "value"):
            self.value = lesson.SavedTensor.unpack(self)
        return self.value

    return slot_class(lesson, unpack=unpack), lesson.hook_stack


@wrong("05.saved_tensor", says="outer packs")
def packs_with_the_outermost_pair(lesson: Any) -> Any:
    def init(self: Any, tensor: Any) -> None:
        inner = lesson.hook_stack[1:]
        del lesson.hook_stack[1:]
        lesson.SavedTensor.__init__(self, tensor)
        lesson.hook_stack.extend(inner)

    return slot_class(lesson, __init__=init), lesson.hook_stack


@wrong("05.saved_tensor", says="saving and two reads: step 1 is 'saved'")
def packs_at_the_first_read(lesson: Any) -> Any:
    class SavedTensor:
        def __init__(self, tensor: Any) -> None:
            self.tensor, self.version = tensor, tensor._version
            self.pair = lesson.hook_stack[-1] if lesson.hook_stack else None
            self.packed = ()

        def unpack(self) -> Any:
            if self.pair is None:
                if self.version != self.tensor._version:
                    raise RuntimeError("version")
                return self.tensor
            if self.packed == ():
                self.packed = (self.pair[0](self.tensor),)
            return self.pair[1](self.packed[0])

    return SavedTensor, lesson.hook_stack


@wrong("05.saved_tensor", says="what unpack gets for None is another object than expected")
def takes_none_for_not_packed(lesson: Any) -> Any:
    def init(self: Any, tensor: Any) -> None:
        lesson.SavedTensor.__init__(self, tensor)
        if self.kept is None:
            self.kept = tensor

    return slot_class(lesson, __init__=init), lesson.hook_stack


@wrong("05.saved_tensor", says="grad mode inside pack is [True], expected [False]")
def packs_with_grad_on(lesson: Any) -> Any:
    def init(self: Any, tensor: Any) -> None:
        self.kept, self.version, self.unpack_hook = tensor, tensor._version, None
        if lesson.hook_stack:
            pack, self.unpack_hook = lesson.hook_stack[-1]
            self.kept = pack(tensor)

    return slot_class(lesson, __init__=init), lesson.hook_stack


@wrong("05.saved_tensor", says="changed in place")
def compares_versions_under_hooks_too(lesson: Any) -> Any:
    def init(self: Any, tensor: Any) -> None:
        lesson.SavedTensor.__init__(self, tensor)
        self.tensor = tensor

    def unpack(self: Any) -> Any:
        if self.tensor._version != self.version:
            raise RuntimeError("a saved tensor was changed in place after version 0")
        return self.kept if self.unpack_hook is None else self.unpack_hook(self.kept)

    return slot_class(lesson, __init__=init, unpack=unpack), lesson.hook_stack


def context_class(lesson: Any, **methods: Any) -> Any:
    """The solution with some methods replaced, and the lesson's slot."""
    return type("SavedTensorHooks", (lesson.SavedTensorHooks,), methods), lesson.SavedTensor


@wrong("05.context_manager", says="after the body: the pair packs', expected 'after the body: nob")
def never_leaves(lesson: Any) -> Any:
    return context_class(lesson, __exit__=lambda self, *error: None)


@wrong("05.context_manager", says="an error in the body: step 2 is 'after the error: the inner")
def leaves_only_without_an_error(lesson: Any) -> Any:
    def leave(self: Any, kind: Any, *rest: Any) -> None:
        if kind is None:
            lesson.hook_stack.pop()

    return context_class(lesson, __exit__=leave)


@wrong("05.context_manager", says="an error in the body: step 1 is 'after the error: the outer")
def swallows_the_error(lesson: Any) -> Any:
    def leave(self: Any, *error: Any) -> bool:
        lesson.hook_stack.pop()
        return True

    return context_class(lesson, __exit__=leave)


@wrong("05.context_manager", says="two contexts: step 2 is 'between the two ends: nobody packs'")
def empties_the_stack(lesson: Any) -> Any:
    return context_class(lesson, __exit__=lambda self, *error: lesson.hook_stack.clear())


@wrong("05.context_manager", says="two contexts: step 1 is 'inside: the outer pair packs'")
def lets_the_outermost_pair_win(lesson: Any) -> Any:
    return context_class(
        lesson,
        __enter__=lambda self: lesson.hook_stack.insert(0, self.pair),
        __exit__=lambda self, *error: lesson.hook_stack.pop(0) and None,
    )


@wrong("05.context_manager", says="one context: step 1 is 'before the body: the pair packs'")
def is_on_when_it_is_made(lesson: Any) -> Any:
    def init(self: Any, pack: Any, unpack: Any) -> None:
        lesson.hook_stack.append((pack, unpack))

    return context_class(lesson, __init__=init, __enter__=lambda self: None)


@wrong("05.context_manager", says="again and again: step 3 is 'left once: nobody")
def puts_back_what_it_found_at_its_last_entry(lesson: Any) -> Any:
    def enter(self: Any) -> None:
        self.before = [] if getattr(self, "inside", False) else list(lesson.hook_stack)
        self.inside = True
        lesson.hook_stack.append(self.pair)

    def leave(self: Any, *error: Any) -> None:
        self.inside = False
        lesson.hook_stack[:] = self.before

    return context_class(lesson, __enter__=enter, __exit__=leave)


@wrong("05.context_manager", says="is 'back in another pair: the pair packs', expected")
def takes_off_the_first_equal_pair(lesson: Any) -> Any:
    return context_class(lesson, __exit__=lambda self, *error: lesson.hook_stack.remove(self.pair))


@wrong("05.context_manager", says="no error on entering with a wrong pack, expected TypeError")
def takes_everything_for_a_hook(lesson: Any) -> Any:
    return context_class(lesson, __enter__=lambda self: lesson.hook_stack.append(self.pair))


@wrong("05.context_manager", says="the TypeError on entering with a wrong unpack does not name")
def does_not_say_which_hook_is_wrong(lesson: Any) -> Any:
    def enter(self: Any) -> None:
        if not all(map(callable, self.pair)):
            raise TypeError("pack must be callable")
        lesson.hook_stack.append(self.pair)

    return context_class(lesson, __enter__=enter)


@wrong("05.context_manager", says="after a wrong pack the refused pair is on hook_stack")
def looks_after_it_has_put_the_pair_on(lesson: Any) -> Any:
    def enter(self: Any) -> None:
        lesson.hook_stack.append(self.pair)
        for name, hook in zip(("pack", "unpack"), self.pair, strict=True):
            if not callable(hook):
                raise TypeError(f"{name} must be callable")

    return context_class(lesson, __enter__=enter)


@wrong(
    "05.context_manager", says="a refused context: step 2 is 'after a wrong unpack: a refused pa"
)
def looks_at_pack_first_and_at_unpack_too_late(lesson: Any) -> Any:
    def enter(self: Any) -> None:
        if not callable(self.pair[0]):
            raise TypeError("pack must be callable")
        lesson.hook_stack.append(self.pair)
        if not callable(self.pair[1]):
            raise TypeError("unpack must be callable")

    return context_class(lesson, __enter__=enter)
