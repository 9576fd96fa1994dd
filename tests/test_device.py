"""Device names: one object for each device, equal and hashed alike, and what bad names get."""

from __future__ import annotations

import copy
import pickle

import pytest

from tensorplay_ref.device import CPU, DEVICE_COUNT, Device, DeviceType, as_device

EVERY_DEVICE = [CPU, *(Device("cuda", index) for index in range(DEVICE_COUNT))]


@pytest.mark.parametrize(
    ("spelled", "name"),
    [
        (("cpu",), "cpu"),
        (("cpu:0",), "cpu"),
        (("CPU",), "cpu"),
        (("cpu", 0), "cpu"),
        (("cpu", -1), "cpu"),
        ((DeviceType.CPU,), "cpu"),
        (("cuda",), "cuda:0"),
        (("cuda:0",), "cuda:0"),
        (("cuda", 0), "cuda:0"),
        (("cuda", -1), "cuda:0"),
        ((DeviceType.CUDA,), "cuda:0"),
        (("cuda:1",), "cuda:1"),
        (("Cuda:1",), "cuda:1"),
        (("cuda", 1), "cuda:1"),
        ((DeviceType.CUDA, 1), "cuda:1"),
        ((Device("cuda:1"),), "cuda:1"),
        ((CPU,), "cpu"),
    ],
)
def test_every_spelling_of_a_device_gives_the_same_object(spelled: tuple, name: str) -> None:
    device = Device(*spelled)
    assert device is Device(name)
    assert repr(device) == str(device) == name


def test_the_arguments_have_names() -> None:
    assert Device(type="cuda", index=1) is Device("cuda:1")


def test_a_device_tells_its_type_and_its_index() -> None:
    assert (CPU.type, CPU.index) == ("cpu", -1)
    assert (Device("cuda").type, Device("cuda").index) == ("cuda", 0)
    assert (Device("cuda:3").type, Device("cuda:3").index) == ("cuda", 3)
    assert CPU.is_cpu() and not CPU.is_cuda()
    assert Device("cuda").is_cuda() and not Device("cuda").is_cpu()


def test_type_and_index_make_the_device_again() -> None:
    for device in EVERY_DEVICE:
        assert Device(device.type, device.index) is device


def test_only_accelerators_keep_books() -> None:
    assert CPU.accelerator is None
    ledgers = [device.accelerator for device in EVERY_DEVICE[1:]]
    assert [ledger.name for ledger in ledgers] == [str(device) for device in EVERY_DEVICE[1:]]
    assert len({id(ledger) for ledger in ledgers}) == DEVICE_COUNT


def test_device_types_have_tensorplays_numbers() -> None:
    assert [(int(kind), str(kind)) for kind in DeviceType] == [(0, "cpu"), (1, "cuda")]


def test_whatever_is_equal_hashes_equal() -> None:
    spellings = ["cpu", "cpu:0", "cuda", "cuda:0", "cuda:1", "CPU", "banana"]
    values = [*EVERY_DEVICE, *spellings, 0, None, DeviceType.CPU]
    equal_pairs = 0
    for left in values:
        for right in values:
            assert (left == right) is (right == left)
            if left == right:
                equal_pairs += 1
                assert hash(left) == hash(right)
    assert equal_pairs > len(values)


def test_a_device_equals_the_string_it_prints_as() -> None:
    assert CPU == "cpu" and "cuda:1" == Device("cuda:1")
    assert Device("cuda") == "cuda:0"
    assert CPU != "cuda:0" and CPU != Device("cuda") and CPU != 0 and CPU != "banana"
    assert {"cpu": 1, "cuda:1": 2}[Device("cuda", 1)] == 2
    assert {Device("cuda"): 3}["cuda:0"] == 3


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickled_device_comes_back_as_the_same_object(protocol: int) -> None:
    for device in EVERY_DEVICE:
        assert pickle.loads(pickle.dumps(device, protocol)) is device


def test_a_copied_device_is_the_same_object() -> None:
    for device in EVERY_DEVICE:
        assert copy.copy(device) is device
        assert copy.deepcopy({"at": device})["at"] is device


@pytest.mark.parametrize("name", ["type", "index", "accelerator", "new"])
def test_a_device_cannot_be_changed(name: str) -> None:
    with pytest.raises(AttributeError, match=f"cannot be changed.*{name} of cuda:0"):
        setattr(Device("cuda"), name, 1)
    with pytest.raises(AttributeError, match="cannot be changed"):
        delattr(Device("cuda"), name)


@pytest.mark.parametrize(
    "name",
    ["banana", "", "meta", "mps", "vulkan", "cuda:x", "cuda:", "cuda:-1", "cuda:01", " cuda"]
    + ["cuda:0\n", "cuda:\u0661", "cuda 0", "cpu:1", f"cuda:{DEVICE_COUNT}"],
)
def test_a_name_that_is_no_device_is_refused_naming_what_is_allowed(name: str) -> None:
    with pytest.raises(ValueError, match="'cpu', 'cuda'") as caught:
        Device(name)
    assert f"'cuda:{DEVICE_COUNT - 1}'" in str(caught.value)
    if ":" in name or name.isalpha():
        assert name.strip() in str(caught.value)


@pytest.mark.parametrize("index", [-2, DEVICE_COUNT])
def test_an_index_that_is_no_device_is_refused(index: int) -> None:
    with pytest.raises(ValueError, match=f"Invalid device: cuda:{index}"):
        Device("cuda", index)


@pytest.mark.parametrize("spelled", ["cuda:1", Device("cuda:1")])
def test_an_index_given_twice_is_refused(spelled: object) -> None:
    with pytest.raises(ValueError, match="index is given twice"):
        Device(spelled, 1)


@pytest.mark.parametrize("value", [3, None, 1.0, b"cpu", ["cpu"]])
def test_a_device_is_not_made_from_anything_else(value: object) -> None:
    with pytest.raises(TypeError, match="made from a string, a DeviceType or a Device"):
        Device(value)


@pytest.mark.parametrize("index", [True, "1", 1.0])
def test_an_index_is_an_int(index: object) -> None:
    with pytest.raises(TypeError, match="index of a Device must be an int"):
        Device("cuda", index)


def test_a_device_argument_may_be_left_out_or_spelled() -> None:
    assert as_device(None) is CPU
    assert as_device("cuda:1") is Device("cuda:1")
    assert as_device(DeviceType.CUDA) is Device("cuda")
    assert as_device(Device("cuda")) is Device("cuda")
    with pytest.raises(TypeError):
        as_device(1)
