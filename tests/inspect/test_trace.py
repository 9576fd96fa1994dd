"""trace(): what happened, in order; only in this thread; nothing kept alive or left behind."""

import threading
import weakref

import numpy as np
import pytest

import tensorplay_ref as tp
from tensorplay_ref.accelerator import events as ledger_events
from tensorplay_ref.autograd.graph import save_on_cpu, saved_tensor_hooks
from tensorplay_ref.autograd.observer import watchers
from tensorplay_ref.inspect import saved, trace
from tensorplay_ref.utils.checkpoint import checkpoint
from tests.inspect.programs import FLOAT, constant, leaf, loss_of, network, two_layers


class Counting(saved_tensor_hooks):
    """An identity pair that counts its calls."""

    def __init__(self):
        self.packs = self.unpacks = 0
        super().__init__(self.pack, self.unpack)

    def pack(self, tensor):
        self.packs += 1
        return tensor.detach().clone()

    def unpack(self, tensor):
        self.unpacks += 1
        return tensor


def kinds(events):
    return [(event.kind, event.operation, event.slot) for event in events]


def test_the_events_of_one_multiplication_with_hooks():
    w, c = leaf(3), constant(3)
    with trace({"w": w}) as t:
        with Counting():
            y = w * c
        y.backward(tp.ones(3))
    assert kinds(t.events) == [
        ("forward", "1 Mul", ""),
        ("save", "1 Mul", "other"),
        ("pack", "1 Mul", "other"),
        ("backward", "1 Mul", ""),
        ("unpack", "1 Mul", "other"),
        ("release", "1 Mul", "other"),
        ("accumulate", "w", ""),
    ]
    assert [event.number for event in t.events] == list(range(1, 8))
    assert t.events[2].detail == "Counting: Tensor, keeps 12"


def test_the_text_has_a_line_for_each_event():
    w = leaf(3)
    with trace({"w": w}) as t:
        w.exp().sum().backward()
    lines = str(t).splitlines()
    assert lines[0].split() == [
        "event", "kind", "operation", "slot", "tensor", "bytes", "device", "detail",
    ]  # fmt: skip
    assert len(lines) == 1 + len(t.events)
    assert lines[2].split()[:3] == ["2", "save", "1"]
    assert repr(t) == t.text()
    with trace() as nothing:
        pass
    assert repr(nothing) == "no events"


def test_equal_programs_have_equal_traces():
    def run():
        with tp.cuda.simulate() as device, trace() as t:
            with save_on_cpu(pin_memory=True):
                loss = loss_of(*network(device))
            loss.backward()
            del loss
        return repr(t)

    assert run() == run()


def test_counts_agree_with_the_hooks_own_counts():
    hooks = Counting()
    with trace() as t:
        with hooks:
            loss, _ = two_layers()
        loss.backward(retain_graph=True)
        loss.backward()
    assert t.count("pack") == hooks.packs == 5
    assert t.count("unpack") == hooks.unpacks == 10
    assert t.count("release") == 5
    assert t.count("save") == len(saved(loss).records)
    assert t.count("forward") == 6
    assert t.count("backward") == 12
    assert t.count("pack", "Mul") == t.count("pack", "5 Mul") == 2


def test_memory_events_agree_with_the_ledger():
    with tp.cuda.simulate() as device:
        ledger = device.accelerator
        with ledger.recording() as told, trace() as t:
            loss = loss_of(*network(device))
            loss.backward()
        for kind in ("allocate", "free"):
            own = [(e.operation, e.nbytes) for e in t.of(kind)]
            assert own == [(e.operation, e.nbytes) for e in told if e.kind == kind]
        with trace() as t, pytest.raises(tp.cuda.OutOfMemoryError):
            tp.zeros(10**10, dtype=tp.uint8, device=device)
        assert t.count("refuse") == 1


def test_a_copy_tells_its_direction():
    with tp.cuda.simulate() as device:
        x = tp.zeros(8, device=device)
        with trace() as t:
            x.cpu()
    assert [(e.detail, e.nbytes) for e in t.of("copy")] == [("to host", 8 * FLOAT)]


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="no event is of kind 'packs'; expected one of forward"):
        trace().count("packs")


def test_numbers_are_those_of_the_graph():
    from tensorplay_ref.inspect import graph

    with trace() as t:
        loss, _ = two_layers()
    assert [e.operation for e in t.of("forward")] == [box.title for box in graph(loss).boxes]
    assert [e.slot_label for e in t.of("save")] == [
        f"{r.number} {r.operation}.{r.slot}" for r in saved(loss).records
    ]


def test_a_custom_function_is_announced_before_it_saves():
    class Square(tp.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return a * a

        @staticmethod
        def backward(ctx, grad):
            (a,) = ctx.saved_tensors
            return grad * a * 2.0

    with trace() as t:
        Square.apply(leaf(3)).sum().backward()
    assert kinds(t.events)[:2] == [
        ("forward", "1 Square", ""),
        ("save", "1 Square", "saved_tensors[0]"),
    ]
    assert t.events[0].shape == (3,)


def test_a_pack_that_fails_ends_the_trace_where_it_failed():
    def refuse(tensor):
        raise OSError("disk full")

    with trace() as t, pytest.raises(OSError, match="disk full"):
        with saved_tensor_hooks(refuse, refuse):
            leaf(3).exp()
    assert [event.kind for event in t.events] == ["forward", "save", "drop"]
    assert watchers == [] and ledger_events.RECORDERS == []


def test_a_graph_that_is_dropped_tells_so():
    with trace() as t:
        loss, _ = two_layers()
        del loss, _
    assert (t.count("drop"), t.count("release")) == (5, 0)
    assert t.saved_bytes()[-1] == 0


def test_a_slot_that_was_released_is_not_dropped_again():
    with trace() as t:
        loss, _ = two_layers()
        loss.backward()
        del loss, _
    assert (t.count("drop"), t.count("release")) == (0, 5)


def test_writes_and_conflicts():
    w = leaf(3)
    with trace() as t:
        y = (w * 1.0).exp()
        z = y.sum()
        y.add_(1.0)
        with pytest.raises(RuntimeError, match="inplace"):
            z.backward()
    assert [(e.operation, e.detail) for e in t.of("write")] == [("Add", "version 1")]
    assert [(e.operation, e.slot, e.detail) for e in t.of("conflict")] == [
        ("2 Exp", "result", "version 1, saved at 0")
    ]


def test_only_the_thread_that_opened_it_is_traced():
    def work():
        leaf(3).exp().sum().backward()

    def run(**options):
        with trace(**options) as t:
            leaf(3).tanh()
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        return t

    assert {e.operation_name for e in run().of("forward")} == {"Tanh"}
    assert {e.operation_name for e in run(all_threads=True).of("forward")} == {
        "Tanh",
        "Exp",
        "Sum",
    }


def test_threads_that_are_all_traced_lose_no_event_and_share_no_number():
    def work():
        for _ in range(50):
            leaf(3).exp()

    with trace(all_threads=True) as t:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert t.count("forward") == t.count("save") == 200
    numbers = [event.number for event in t.events]
    assert numbers == sorted(set(numbers))


def test_traces_nest():
    with trace() as outer:
        leaf(3).exp()
        with trace() as inner:
            leaf(3).tanh()
    assert outer.count("forward") == 2
    assert inner.count("forward") == 1


def test_a_trace_is_opened_once():
    t = trace()
    with t:
        pass
    with pytest.raises(RuntimeError, match="opened once"), t:
        pass


def test_nothing_is_kept_alive_while_it_is_open_nor_afterwards(no_gc):
    with trace() as t:
        loss, names = two_layers()
        watched = [weakref.ref(x) for x in (loss, loss.grad_fn, *names.values())]
        watched += [weakref.ref(slot) for slot in loss.grad_fn.input_nodes[0].saved_slots]
        del loss, names
        assert [reference() for reference in watched] == [None] * len(watched)
    assert t.count("drop") == 5


def test_named_leaves_are_not_kept_alive_either():
    w = leaf(3)
    alive = weakref.ref(w)
    t = trace({"w": w})
    with t:
        pass
    del w
    assert alive() is None


def test_nobody_is_told_outside_of_a_trace():
    with trace() as t:
        pass
    two_layers()[0].backward()
    assert t.events == []
    assert watchers == [] and ledger_events.RECORDERS == []


def test_saved_bytes_agree_with_the_report_and_fall_to_nothing():
    with trace() as t:
        loss, names = two_layers()
        report = saved(loss)
        loss.backward()
    series = t.saved_bytes()
    assert len(series) == len(t.events)
    assert max(series) == report.nbytes == 208
    assert series[-1] == 0
    forward = [e.kind for e in t.events].index("backward")
    assert series[: forward + 1] == sorted(series[: forward + 1])
    assert series[forward:] == sorted(series[forward:], reverse=True)


def test_saved_bytes_count_what_hooks_keep():
    with trace() as t:
        with saved_tensor_hooks(
            lambda tensor: tensor.numpy().astype(np.float16),
            lambda array: tp.tensor(array.astype(np.float32)),
        ):
            y = leaf(100).exp()
    assert t.saved_bytes()[-1] == 200 == saved(y).nbytes


def test_a_checkpoint_is_traced_from_save_to_second_run():
    x = leaf(3)
    with trace() as t:
        y = checkpoint(lambda a: a.exp().tanh(), x, preserve_rng_state=False)
        assert t.saved_bytes()[-1] == 3 * FLOAT
        y.sum().backward()
    assert t.count("forward", "Exp") == 2
    assert t.count("unpack") == 2
    assert t.saved_bytes()[-1] == 0


def test_order_tells_packs_and_unpacks():
    with trace() as t:
        with Counting():
            y = leaf(3).exp().tanh()
        y.sum().backward()
    assert t.order() == (
        "packed:   1 Exp.result, 2 Tanh.result\nunpacked: 2 Tanh.result, 1 Exp.result"
    )
