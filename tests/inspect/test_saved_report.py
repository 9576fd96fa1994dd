"""saved(y): one row for each slot, sums once for each storage, and nothing is disturbed."""

import re
import weakref

import numpy as np
import pytest

import tensorplay_ref as tp
from tensorplay_ref.autograd.graph import save_on_cpu, saved_tensor_hooks
from tensorplay_ref.inspect import saved
from tests.inspect.programs import FLOAT, constant, layers, leaf, two_layers


def squeezed(table):
    """The lines of a table with two blanks between its cells."""
    return [re.sub("  +", "  ", line.strip()) for line in table.splitlines()]


def words(before, shape, after):
    return [*before.split(", "), shape, *after.split(", ")]


def test_the_report_of_a_small_program():
    loss, names = two_layers()
    assert [line.split("  ") for line in squeezed(repr(saved(loss, names)))] == [
        [
            "row", "operation", "slot", "is", "shape", "dtype", "bytes", "device", "version",
            "unpacked by", "keeps", "shares with",
        ],
        words("1, 1 Matmul, self, constant x", "(4, 3)", "float32, 48, cpu, 0, -, 48, -"),
        words("2, 3 Relu, result, result h", "(4, 5)", "float32, 80, cpu, 0, -, 80, -"),
        words("3, 4 Exp, result, result", "(4, 5)", "float32, 80, cpu, 0, -, 80, -"),
        words("4, 5 Mul, self, input from 4 Exp", "(4, 5)", "float32, 80, cpu, 0, -, 80, row 3"),
        words("5, 5 Mul, other, input h", "(4, 5)", "float32, 80, cpu, 0, -, 80, row 2"),
        ["5 slots of 6 operations keep 3 storages of together 208 bytes"],
    ]  # fmt: skip


def test_equal_programs_have_equal_reports():
    first, second = two_layers()[0], two_layers()[0]
    assert repr(saved(first)) == repr(saved(second))
    assert saved(first)._repr_html_() == saved(second)._repr_html_()


def test_a_storage_that_two_slots_keep_is_counted_once():
    x = leaf(10)
    report = saved((x * 2 * (x * 2)) * 1.0)
    assert [record.shares_with for record in report.records] == [None, None]
    h = x * 2
    report = saved(h * h)
    assert [(r.slot, r.shares_with) for r in report.records] == [("self", None), ("other", 1)]
    assert report.nbytes == 10 * FLOAT
    assert report.storages == 1


def test_a_slice_keeps_its_whole_storage():
    x = leaf(100) * 1.0
    report = saved(x[:3].exp() * x[3:6])
    by_slot = {(r.operation, r.slot): r for r in report.records}
    assert by_slot["Mul", "other"].nbytes == 3 * FLOAT
    assert by_slot["Mul", "other"].keeps == 100 * FLOAT


def test_bytes_of_leaves_are_told_apart():
    w, x = leaf(3, 5), constant(4, 3) * 1.0
    x.requires_grad = True
    report = saved(x @ w)
    assert report.nbytes == (12 + 15) * FLOAT == report.leaf_nbytes
    assert "of which 108 are the leaves' own" in report.summary()


@pytest.mark.parametrize(
    ("role", "name"), [("leaf", "w"), ("constant", "c"), ("input", "h"), ("result", "y")]
)
def test_roles_and_given_names(role, name):
    w, c = leaf(3), constant(3)
    h = w * c
    y = (h * w).exp()
    report = saved(y, {"w": w, "c": c, "h": h, "y": y})
    assert (role, name) in [(record.role, record.name) for record in report.records]


def test_packed_slots_tell_their_pair_and_what_they_keep():
    def to_half(tensor):
        return tensor.numpy().astype(np.float16)

    def from_half(array):
        return tp.tensor(array.astype(np.float32))

    x = leaf(8)
    with saved_tensor_hooks(to_half, from_half):
        y = x.exp()
    (record,) = saved(y).records
    assert record.packed_as == "ndarray"
    assert (record.nbytes, record.keeps) == (8 * FLOAT, 8 * 2)
    assert record.version_now is None


def test_an_index_keeps_no_memory_here():
    store = []

    def pack(tensor):
        store.append(tensor.detach().clone())
        return len(store) - 1

    x = leaf(8)
    with saved_tensor_hooks(pack, store.__getitem__):
        y = x.exp()
    (record,) = saved(y).records
    assert (record.packed_as, record.keeps) == ("int", 0)
    assert record.unpacked_by == "list"


def test_save_on_cpu_is_named_and_its_memory_is_on_the_host():
    with tp.cuda.simulate() as device:
        x = leaf(8, device=device)
        with save_on_cpu():
            y = x.exp()
        (record,) = saved(y).records
        assert (record.unpacked_by, record.device, record.kept_on) == (
            "save_on_cpu",
            "cuda:0",
            "cpu",
        )
        assert record.keeps == 8 * FLOAT


def test_a_packed_object_with_parts_is_looked_into():
    class Packed:
        __slots__ = ("parts", "path")

        def __init__(self, tensor):
            self.parts = {"values": [tensor.numpy().copy()], "scale": np.ones(2, np.float32)}
            self.path = "x.npy"

    x = leaf(8)
    with saved_tensor_hooks(Packed, lambda packed: tp.tensor(packed.parts["values"][0])):
        y = x.exp()
    assert saved(y).nbytes == 8 * FLOAT + 2 * FLOAT


def test_reading_the_report_calls_no_hook_and_changes_nothing():
    calls = []

    def unpack(tensor):
        calls.append(tensor)
        return tensor

    x = leaf(3, 3)
    with saved_tensor_hooks(lambda tensor: tensor, unpack):
        y = (x.exp() * x).sum()
    versions = [slot._version for slot in y.grad_fn.input_nodes[0].saved_slots]
    report = saved(y, {"x": x})
    repr(report), report._repr_html_(), report.bytes_by_operation()
    assert calls == []
    assert [slot._version for slot in y.grad_fn.input_nodes[0].saved_slots] == versions
    assert x._version == 0 and x.grad is None
    y.backward()
    values = x.detach().numpy()
    np.testing.assert_allclose(x.grad.numpy(), np.exp(values) * (1 + values), rtol=1e-6)


def test_asking_about_a_leaf_leaves_it_alone():
    x = leaf(3)
    assert repr(saved(x)) == "0 operations, nothing saved"
    assert x._leaf is None
    assert repr(saved(constant(3))) == "0 operations, nothing saved"


def test_freed_slots_are_shown_as_freed():
    loss, _ = two_layers()
    loss.backward()
    report = saved(loss)
    assert all(record.freed for record in report.records)
    assert report.nbytes == 0
    assert report.summary().endswith("keep no storage; 5 slots freed")
    assert "freed" in repr(report)


def test_a_write_shows_as_a_version_that_moved_on():
    y = leaf(3) * 1.0
    z = y.exp() * y
    y.add_(1.0)
    (record,) = [r for r in saved(z).records if r.slot == "other"]
    assert (record.version, record.version_now) == (0, 1)
    assert "0, now 1" in repr(saved(z))


def test_a_custom_function_names_its_slots_by_position():
    class Twice(tp.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, None, b)
            return a * b

        @staticmethod
        def backward(ctx, grad):
            a, _, b = ctx.saved_tensors
            return grad * b, grad * a

    report = saved(Twice.apply(leaf(3), leaf(3, seed=1)))
    assert [r.slot for r in report.records] == ["saved_tensors[0]", "saved_tensors[2]"]


def test_the_report_keeps_nothing_alive(no_gc):
    loss, names = two_layers()
    report = saved(loss, names)
    watched = [weakref.ref(tensor) for tensor in (loss, *names.values())]
    del loss, names
    assert [reference() for reference in watched] == [None] * len(watched)
    assert report.nbytes == 208


def test_html_is_escaped_and_holds_every_cell():
    x = leaf(3)
    report = saved(x.exp() * x, {"<x>": x})
    page = report._repr_html_()
    assert "&lt;x&gt;" in page and "<x>" not in page
    assert page.count("<tr>") == 1 + len(report.records)


def test_a_name_that_is_no_tensor_is_refused():
    with pytest.raises(TypeError, match=r"names\['x'\] must be a Tensor, found int"):
        saved(leaf(3).exp(), {"x": 3})
    with pytest.raises(TypeError, match="expected a Tensor .* found str at position 0"):
        saved("y")


def test_bars_are_the_bytes_of_each_operation():
    loss, names = two_layers()
    report = saved(loss, names)
    ax = report.plot()
    new, shared = ax.containers
    assert [bar.get_width() for bar in new] == [48, 80, 80, 0]
    assert [bar.get_width() for bar in shared] == [0, 0, 0, 160]
    assert sum(bar.get_width() for bar in new) == report.nbytes
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        "1 Matmul", "3 Relu", "4 Exp", "5 Mul",
    ]  # fmt: skip
    assert ax.get_xlabel() == "kept alive (bytes)"
    assert ax.get_title(loc="left") == "Saved for backward"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "kept by this operation",
        "kept by an operation above already",
    ]


def test_many_operations_are_summed_up_by_name_in_the_bars():
    report = saved(layers(30))
    ax = report.plot()
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == ["Matmul × 30", "Tanh × 30"]
    assert sum(bar.get_width() for bar in ax.containers[0]) == report.nbytes
