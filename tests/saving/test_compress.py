"""compress: codecs, what is left as it is, and a codec that is not installed."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np
import pytest

import tensorplay_ref as tp
from tensorplay_ref.saving import compress
from tests.saving.round_trip import bits, round_trip

PACKAGES = {"blosc2": "blosc2", "zstd": "zstandard"}


def make(codec: str, **options: Any) -> compress:
    try:
        return compress(codec, **options)
    except ImportError:
        pytest.skip(f"{PACKAGES[codec]} is not installed")


def samples() -> list[Any]:
    rng = np.random.default_rng(0)
    normal = rng.standard_normal((60, 70))
    return [
        np.tanh(normal).astype(np.float32),
        np.maximum(normal, 0).T,
        rng.integers(0, 9, (40, 50)),
        normal > 0,
        np.zeros((5, 0, 3)),
        np.array(3.0),
        normal[::-1, ::3].astype(np.float16),
        np.full((64, 64), np.nan),
    ]


@pytest.mark.parametrize("codec", ["zlib", "zstd", "blosc2"])
@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("level", [1, 9])
def test_every_codec_gives_every_bit_back(codec: str, shuffle: bool, level: int) -> None:
    policy = make(codec, level=level, shuffle=shuffle, min_bytes=0)
    for array in samples():
        assert bits(round_trip(policy, array)) == bits(array)


@pytest.mark.parametrize("codec", ["zlib", "zstd", "blosc2"])
def test_results_of_relu_become_smaller(codec: str) -> None:
    rng = np.random.default_rng(0)
    x = tp.tensor(rng.standard_normal((100, 100)).astype(np.float32)).relu()
    packed = make(codec).pack_hook(x).packed
    assert packed.parts[0].nbytes < 0.7 * x.nbytes


def test_what_does_not_become_smaller_is_left() -> None:
    noise = np.random.default_rng(0).integers(0, 256, 5000).astype(np.uint8)
    assert type(compress().pack_hook(tp.from_numpy(noise))).__name__ == "Kept"


def test_an_unpacked_tensor_can_be_written() -> None:
    policy = compress()
    unpacked = policy.unpack_hook(policy.pack_hook(tp.ones(1000)))
    assert unpacked.add_(1.0).sum().item() == 2000.0


def test_compressed_bytes_of_a_device_are_counted_on_the_host() -> None:
    with tp.cuda.simulate(capacity=100_000) as device:
        x = tp.zeros(1000, device=device)
        live = tp.cuda.memory_allocated()
        packed = compress().pack_hook(x)
        assert tp.cuda.memory_allocated() == live
        assert 0 < tp.cuda.host_memory_allocated() < 100
        del packed
        assert tp.cuda.host_memory_allocated() == 0
        del x


def test_a_missing_package_is_named_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("zstandard", "blosc2", "compression.zstd"):
        monkeypatch.setitem(sys.modules, module, None)
    for codec, package in PACKAGES.items():
        with pytest.raises(ImportError, match=rf"{package}.*tensorplay-ref\[compress\]"):
            compress(codec)
    assert importlib.import_module("zlib")


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="codec must be one of .*found 'banana'"):
        compress("banana")
    with pytest.raises(ValueError, match="level must be 1"):
        compress(level=0)
