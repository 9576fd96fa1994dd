"""Mistakes in notebook 07: moving saved tensors to the host, and keeping parameters."""

from typing import Any

from tests.course.builds import wrong


def offload_class(lesson: Any, **methods: Any) -> Any:
    """The solution with some methods replaced."""
    return (type("SaveOnCpu", (lesson.SaveOnCpu,), methods),)


@wrong("07.save_on_cpu", says="the device of the first of the pair is 'cuda:0', expected 'cpu'")
def moves_nothing(lesson: Any) -> Any:
    return offload_class(lesson, pack=lambda self, tensor: (tensor, tensor.device))


@wrong("07.save_on_cpu", says="the device of what was saved on cuda:1 is 'cuda:0'")
def brings_everything_to_the_first_device(lesson: Any) -> Any:
    return offload_class(lesson, unpack=lambda self, packed: packed[0].to("cuda"))


@wrong("07.save_on_cpu", says="the device of what was saved on cuda:0 is 'cpu', expected 'cuda:0'")
def never_brings_anything_back(lesson: Any) -> Any:
    return offload_class(lesson, unpack=lambda self, packed: packed[0])


@wrong("07.save_on_cpu", says="whether a host tensor shares its memory is False, expected True")
def copies_what_is_on_the_host(lesson: Any) -> Any:
    def pack(self: Any, tensor: Any) -> Any:
        return tensor.to("cpu", copy=True), tensor.device

    return offload_class(lesson, pack=pack)


@wrong("07.save_on_cpu", says="pack returned a float32 tensor of shape (3, 2), expected a pair")
def forgets_the_device(lesson: Any) -> Any:
    return offload_class(lesson, pack=lambda self, tensor: tensor.to("cpu"))


@wrong("07.save_on_cpu", says="bytes on the device beside x is")
def keeps_the_tensor_in_a_list(lesson: Any) -> Any:
    kept: list[Any] = []

    def pack(self: Any, tensor: Any) -> Any:
        kept.append(tensor.detach())
        return lesson.SaveOnCpu.pack(self, tensor)

    return offload_class(lesson, pack=pack)


@wrong("07.save_on_cpu", says="bytes left on the host by a step is")
def keeps_the_copies_in_a_list(lesson: Any) -> Any:
    kept: list[Any] = []

    def pack(self: Any, tensor: Any) -> Any:
        packed = lesson.SaveOnCpu.pack(self, tensor)
        kept.append(packed)
        return packed

    return offload_class(lesson, pack=pack)


@wrong("07.save_on_cpu", says="bytes copied to device is")
def keeps_what_it_brought_back(lesson: Any) -> Any:
    class Pair(tuple):  # type: ignore[type-arg]
        back: Any = None

    def pack(self: Any, tensor: Any) -> Any:
        return Pair(lesson.SaveOnCpu.pack(self, tensor))

    def unpack(self: Any, packed: Any) -> Any:
        packed[0].to(packed[1])
        return packed[0].to(packed[1])

    return offload_class(lesson, pack=pack, unpack=unpack)


def skip_class(lesson: Any, **methods: Any) -> Any:
    """The solution with some methods replaced, and the lesson's Kept."""
    return type("SkipLeaves", (lesson.SkipLeaves,), methods), lesson.Kept


@wrong("07.skip_leaves", says="whether w.T is kept is False, expected True")
def moves_transposed_parameters(lesson: Any) -> Any:
    def pack(self: Any, tensor: Any) -> Any:
        if tensor.is_leaf and tensor.requires_grad:
            return lesson.Kept(tensor)
        return self.hooks.pack(tensor)

    return skip_class(lesson, pack=pack)


@wrong("07.skip_leaves", says="whether data is kept is True, expected False")
def keeps_every_leaf(lesson: Any) -> Any:
    def pack(self: Any, tensor: Any) -> Any:
        base = tensor if tensor._base is None else tensor._base
        return lesson.Kept(tensor) if base.is_leaf else self.hooks.pack(tensor)

    return skip_class(lesson, pack=pack)


@wrong("07.skip_leaves", says="whether the result of an operation is kept is True, expected False")
def keeps_whatever_requires_a_gradient(lesson: Any) -> Any:
    def pack(self: Any, tensor: Any) -> Any:
        return lesson.Kept(tensor) if tensor.requires_grad else self.hooks.pack(tensor)

    return skip_class(lesson, pack=pack)


@wrong("07.skip_leaves", says="whether a view of a result is kept is True, expected False")
def keeps_every_view(lesson: Any) -> Any:
    def pack(self: Any, tensor: Any) -> Any:
        if tensor._base is not None and tensor.requires_grad:
            return lesson.Kept(tensor)
        return lesson.SkipLeaves.pack(self, tensor)

    return skip_class(lesson, pack=pack)


@wrong("07.skip_leaves", says="whether a parameter is kept is False, expected True")
def keeps_nothing(lesson: Any) -> Any:
    return skip_class(lesson, pack=lambda self, tensor: self.hooks.pack(tensor))


@wrong("07.skip_leaves", says="what a Kept holds is another object than expected")
def keeps_a_copy(lesson: Any) -> Any:
    def pack(self: Any, tensor: Any) -> Any:
        packed = lesson.SkipLeaves.pack(self, tensor)
        return lesson.Kept(tensor.clone()) if isinstance(packed, lesson.Kept) else packed

    return skip_class(lesson, pack=pack)


@wrong("07.skip_leaves", says="hooks.pack called once, expected never")
def packs_what_it_keeps_as_well(lesson: Any) -> Any:
    def pack(self: Any, tensor: Any) -> Any:
        packed = self.hooks.pack(tensor)
        kept = lesson.SkipLeaves.pack(self, tensor)
        return kept if isinstance(kept, lesson.Kept) else packed

    return skip_class(lesson, pack=pack)
