"""What is shown of objects and functions: what they are, their arguments and state; no address."""

from __future__ import annotations

import inspect
import pkgutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import pytest

import tensorplay_ref as tp
from tensorplay_ref import saving
from tensorplay_ref.autograd import graph
from tensorplay_ref.utils import checkpoint as checkpoints


def pack(tensor: Any) -> Any:
    return tensor


class Store:
    def unpack(self, packed: Any) -> Any:
        return packed


class Kept(saving.Policy):
    """A policy of one's own."""

    def __init__(self, share: float, **options: Any) -> None:
        super().__init__(**options)
        self.share = share


def handle(removed: bool = False) -> Any:
    found = leaf.register_hook(pack)
    if removed:
        found.remove()
    return found


def handle_of_a_graph_that_is_gone() -> Any:
    return (leaf * 2.0).register_hook(pack)


def multi_handle(removed: bool = False) -> Any:
    found = graph.register_multi_grad_hook([leaf, leaf * 2.0], pack, mode="any")
    if removed:
        found.remove()
    return found


def slot(hooks: Any = None, freed: bool = False) -> Any:
    if hooks is None:
        y = leaf * leaf
    else:
        with hooks:
            y = leaf * leaf
    kept = y.grad_fn._raw_saved_self
    if freed:
        y.sum().backward()
        leaf.grad = None
    return kept


def packed(policy: Any) -> Any:
    """What the policy has put into a slot."""
    return slot(policy).data


leaf = tp.ones(3, requires_grad=True)

TEXTS: list[tuple[Callable[[], Any], str]] = [
    (
        lambda: graph.saved_tensor_hooks(pack, Store().unpack),
        "saved_tensor_hooks(pack, Store.unpack)",
    ),
    (
        lambda: graph.saved_tensor_hooks(lambda t: t, Store()),
        "saved_tensor_hooks(<lambda>, a Store)",
    ),
    (lambda: graph.save_on_cpu(), "save_on_cpu(pin_memory=False)"),
    (lambda: graph.save_on_cpu(pin_memory=True), "save_on_cpu(pin_memory=True)"),
    (lambda: saving.cast("float16"), "cast('float16')"),
    (lambda: saving.cast(tp.float16, min_bytes=8), "cast(float16, min_bytes=8)"),
    (lambda: saving.quantize(4, axis=None), "quantize(4, axis=None)"),
    (lambda: saving.on_disk(), "on_disk()"),
    (lambda: saving.offload(pin_memory=True), "offload(pin_memory=True)"),
    (lambda: saving.compress("zlib", level=3), "compress('zlib', level=3)"),
    (lambda: saving.bitmask(also=["Step"]), "bitmask(also=['Step'])"),
    (lambda: saving.choose(pack), "choose(pack)"),
    (
        lambda: saving.only(("Exp", "Tanh"), saving.cast("float16")),
        "only(('Exp', 'Tanh'), cast('float16'))",
    ),
    (
        lambda: saving.compose(saving.on_disk(), graph.saved_tensor_hooks(pack, pack)),
        "compose(on_disk(), saved_tensor_hooks(pack, pack))",
    ),
    (lambda: Kept(0.5, skip_leaves=False), "Kept(0.5, skip_leaves=False)"),
    (slot, "SavedTensor(float32 (3,), version 0)"),
    (
        lambda: slot(graph.saved_tensor_hooks(lambda t: str(t.shape), Store().unpack)),
        "SavedTensor(float32 (3,), packed as str, unpacked by Store)",
    ),
    (lambda: slot(freed=True), "SavedTensor(freed)"),
    (lambda: slot(graph.saved_tensor_hooks(pack, pack), freed=True), "SavedTensor(freed)"),
    (lambda: packed(saving.cast("float16")), "Kept(float32 (3,), version 0)"),
    (
        lambda: packed(saving.cast("float16", skip_leaves=False)),
        "Shared(Packed(parts=(tensor([1., 1., 1.], dtype=float16),), note=dtype('float32')))",
    ),
    (
        lambda: packed(saving.on_disk(min_bytes=0, skip_leaves=False)).packed.note[0],
        "ArrayFile(float32 (3,), 12 bytes)",
    ),
    (handle, "RemovableHandle(pack)"),
    (lambda: handle(removed=True), "RemovableHandle(removed)"),
    (handle_of_a_graph_that_is_gone, "RemovableHandle(its graph is gone)"),
    (multi_handle, "MultiGradHandle(pack, mode='any', tensors=2)"),
    (lambda: multi_handle(removed=True), "MultiGradHandle(removed)"),
    (lambda: tp.Generator().manual_seed(3), "Generator('cpu', seed=3)"),
    (tp.no_grad, "no_grad()"),
    (tp.enable_grad, "enable_grad()"),
    (lambda: tp.set_grad_enabled(True), "set_grad_enabled(mode=True)"),
    (tp.autograd.detect_anomaly, "detect_anomaly(check_nan=True)"),
    (
        lambda: tp.autograd.set_detect_anomaly(False),
        "set_detect_anomaly(mode=False, check_nan=True)",
    ),
    (lambda: graph.disable_saved_tensors_hooks("no"), "disable_saved_tensors_hooks('no')"),
    (graph.allow_mutation_on_saved_tensors, "allow_mutation_on_saved_tensors()"),
    (
        lambda: checkpoints.set_checkpoint_early_stop(False),
        "set_checkpoint_early_stop(False)",
    ),
    (
        lambda: checkpoints.create_selective_checkpoint_contexts(pack)[1],
        "SelectiveContext(pack, second run, copies=False)",
    ),
    (
        lambda: checkpoints.SelectiveCheckpointContext(is_recompute=False),
        "SelectiveCheckpointContext(is_recompute=False)",
    ),
    (lambda: tp.cuda.simulate(), "simulate(profile='lesson', index=0)"),
    (
        lambda: tp.cuda.simulate(300_000, index=1),
        "simulate(profile='lesson', index=1, capacity=300000)",
    ),
]


@pytest.mark.parametrize(("make", "text"), TEXTS, ids=[text for _, text in TEXTS])
def test_an_object_says_what_it_is_and_its_state(make: Callable[[], Any], text: str) -> None:
    assert repr(make()) == text


def test_an_open_context_keeps_its_text_and_decorates_again_and_again() -> None:
    context = graph.disable_saved_tensors_hooks("no")
    with context:
        assert repr(context) == "disable_saved_tensors_hooks('no')"

    @graph.disable_saved_tensors_hooks("no")
    def enter() -> None:
        graph.save_on_cpu().__enter__()

    for _ in range(2):
        with pytest.raises(RuntimeError, match="no"):
            enter()


def test_a_mutation_guard_says_how_many_values_it_has_cloned() -> None:
    x = tp.ones(3)
    with graph.allow_mutation_on_saved_tensors() as guard:
        y = leaf * x
        x.add_(1.0)
        assert repr(guard) == "MutationGuard(open, 1 cloned)"
        assert "cloned before it is changed" in repr(y.grad_fn._raw_saved_other.data)  # type: ignore[union-attr]
    assert repr(guard) == "MutationGuard(left, 1 cloned)"


def _modules() -> Iterator[Any]:
    for found in pkgutil.walk_packages(tp.__path__, "tensorplay_ref."):
        if not {"__main__", "conformance", "course"} & set(found.name.split(".")):
            yield import_module(found.name)


PUBLIC = sorted(
    {
        value
        for module in _modules()
        for name, value in vars(module).items()
        if name in getattr(module, "__all__", ()) and value is not tp.autograd.Function
        if getattr(value, "__module__", "").startswith("tensorplay_ref")
    },
    key=lambda each: f"{each.__module__}.{getattr(each, '__qualname__', each)}",
)


def test_no_public_class_prints_as_an_address() -> None:
    classes = [each for each in PUBLIC if isinstance(each, type)]
    assert len(classes) > 40
    assert [each for each in classes if each.__repr__ is object.__repr__] == []


def test_no_signature_holds_an_address() -> None:
    functions = [each for each in PUBLIC if inspect.isfunction(each)]
    for each in PUBLIC:
        if isinstance(each, type):
            functions += [member for member in vars(each).values() if inspect.isfunction(member)]
    assert len(functions) > 400
    assert [each for each in functions if " at 0x" in str(inspect.signature(each))] == []


def test_what_is_imported_on_demand_is_there_and_not_before() -> None:
    names = ("cuda", "inspect", "nn", "saving", "utils")
    program = (
        "import sys, tensorplay_ref as tp\n"
        f"for name in {names}:\n"
        "    there = f'tensorplay_ref.{name}' in sys.modules\n"
        "    assert name in dir(tp) and name in tp.__all__ and (name != 'inspect' or not there)\n"
        "    assert getattr(tp, name).__name__ == f'tensorplay_ref.{name}'\n"
        "assert 'matplotlib' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
