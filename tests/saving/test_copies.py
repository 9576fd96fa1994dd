"""A copied policy has the options of the original, and nothing of what that has packed."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tensorplay_ref as tp
from tensorplay_ref import saving
from tensorplay_ref.autograd.graph import save_on_cpu


def nothing(operation: str, tensor: Any) -> None:
    return None


def anything(operation: str, tensor: Any) -> bool:
    return True


POLICIES: dict[str, Callable[[Path], Any]] = {
    "on_disk": lambda folder: saving.on_disk(folder, min_bytes=0),
    "cast": lambda folder: saving.cast(tp.float16),
    "quantize": lambda folder: saving.quantize(),
    "bitmask": lambda folder: saving.bitmask(),
    "offload": lambda folder: saving.offload(),
    "compress": lambda folder: saving.compress(min_bytes=0),
    "compose": lambda folder: saving.compose(
        saving.on_disk(folder, min_bytes=0), saving.cast("bfloat16")
    ),
    "save_on_cpu": lambda folder: save_on_cpu(),
    "choose": lambda folder: saving.choose(nothing),
    "only by a function": lambda folder: saving.only(anything, saving.quantize()),
    "only": lambda folder: saving.only("Exp", saving.on_disk(folder, min_bytes=0)),
}
COPIERS: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda policy: pickle.loads(pickle.dumps(policy)),
}
CASES = [(name, copier) for name in POLICIES for copier in COPIERS]


def gradient(policy: Any) -> list[float]:
    x = tp.tensor([0.5, -1.0, 2.0], requires_grad=True)
    with policy:
        y = (x.exp() * x).sum()
    y.backward()
    assert x.grad is not None
    return x.grad.tolist()


@pytest.mark.parametrize(("name", "copier"), CASES)
def test_a_copy_works_like_the_original_and_beside_it(
    name: str, copier: str, tmp_path: Path
) -> None:
    policy = POLICIES[name](tmp_path)
    expected = gradient(policy)
    twin = COPIERS[copier](policy)
    assert type(twin) is type(policy) and vars(twin).keys() == vars(policy).keys()
    assert gradient(twin) == expected and gradient(policy) == expected
    assert not list(tmp_path.iterdir())


def test_a_copy_makes_files_of_its_own(tmp_path: Path) -> None:
    policy = saving.on_disk(tmp_path, min_bytes=0)
    x = tp.ones(3, requires_grad=True)
    with policy:
        y = x.exp()
    twin = copy.deepcopy(policy)
    assert policy.directory is not None and twin.directory is None
    with twin:
        z = x.exp()
    assert twin.directory not in (None, policy.directory)
    del y, z
    assert not list(tmp_path.iterdir())
