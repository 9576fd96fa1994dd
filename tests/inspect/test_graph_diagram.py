"""graph(y): boxes, arrows and cylinders, folded when large, the same text for equal programs."""

import re
import time
import weakref

import numpy as np
import pytest

import tensorplay_ref as tp
from tensorplay_ref.autograd.graph import saved_tensor_hooks
from tensorplay_ref.inspect import graph, saved
from tests.inspect.programs import FLOAT, constant, layers, leaf, two_layers

NODE = re.compile(r'^ *(\w+)(?:\["[^"]*"\]|\(\["[^"]*"\]\)|\[\("[^"]*"\)\]):::(\w+)$')
EDGE = re.compile(r'^ *(\w+) (?:-->|-\.->|-\.-)(?:\|"[^"]*"\|)? (\w+)$')
FRAME = re.compile(r'^ *subgraph \w+\["[^"]*"\]$|^ *end$')
STYLE = re.compile(r"^ *classDef \w+ [\w:#,-]+$")


def check_mermaid(text):
    """Every line is one of the few forms used, and edges lead between declared nodes."""
    first, *lines = text.splitlines()
    assert first == "flowchart TD"
    nodes, depth = {}, 0
    for line in lines:
        if node := NODE.match(line):
            assert node[1] not in nodes
            nodes[node[1]] = node[2]
        elif FRAME.match(line):
            depth += 1 if "subgraph" in line else -1
            assert depth >= 0
        elif edge := EDGE.match(line):
            assert edge[1] in nodes and edge[2] in nodes, line
        else:
            assert STYLE.match(line), line
    assert depth == 0
    return nodes


def test_the_text_of_a_small_program():
    loss, names = two_layers()
    lines = [re.split("  +", line) for line in repr(graph(loss, names)).splitlines()]
    assert lines == [
        ["operation", "result", "from", "saves"],
        ["w", "(3, 5) float32", "leaf, requires grad", "-"],
        ["b", "(5,) float32", "leaf, requires grad", "-"],
        ["1 Matmul", "(4, 5) float32", "w", "self: x, (4, 3) float32, 48 bytes"],
        ["2 Add", "(4, 5) float32", "1 Matmul", "-"],
        ["", "b"],
        ["3 Relu", "(4, 5) float32", "2 Add", "result: h, (4, 5) float32, 80 bytes"],
        [
            "4 Exp",
            "(4, 5) float32",
            "3 Relu",
            "result: result of 4 Exp, (4, 5) float32, 80 bytes",
        ],
        ["5 Mul", "(4, 5) float32", "4 Exp", "other: h, (4, 5) float32, kept by 3 Relu"],
        ["", "3 Relu", "self: result of 4 Exp, (4, 5) float32, kept by 4 Exp"],
        ["6 Sum", "() float32", "5 Mul", "-"],
        ["6 operations, 2 leaves; 3 storages of together 208 bytes saved"],
    ]


def test_the_diagram_shows_operations_leaves_and_saved_memory():
    loss, names = two_layers()
    diagram = graph(loss, names)
    nodes = check_mermaid(diagram.mermaid())
    assert list(nodes.values()).count("leaf") == 2
    assert list(nodes.values()).count("kept") == 3
    assert list(nodes.values()).count("operation") == 5
    assert list(nodes.values()).count("asked") == 1
    text = diagram.mermaid()
    assert 'op0["1 Matmul<br/>(4, 5) float32"]:::operation' in text
    assert 'leaf0(["w<br/>(3, 5) float32<br/>leaf, requires grad"]):::leaf' in text
    assert 'kept0[("x<br/>(4, 3) float32<br/>48 bytes")]:::kept' in text
    assert 'kept0 -.-|"self"| op0' in text


def test_jupyterlab_gets_mermaid_and_everybody_else_text():
    loss, _ = two_layers()
    diagram = graph(loss)
    bundle = diagram._repr_mimebundle_()
    assert bundle == {"text/vnd.mermaid": diagram.mermaid(), "text/plain": repr(diagram)}


def test_equal_programs_have_equal_diagrams():
    first, second = graph(two_layers()[0]), graph(two_layers()[0])
    assert first == second
    assert first.mermaid() == second.mermaid()
    assert graph(layers(50)).mermaid() == graph(layers(50)).mermaid()


def test_an_edge_tells_which_output_it_carries_if_not_the_first():
    class Pair(tp.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 1.0, a * 2.0

        @staticmethod
        def backward(ctx, first, second):
            return first + second * 2.0

    a, b = Pair.apply(leaf(3))
    diagram = graph(a + b)
    assert [(arrow.output, arrow.words) for arrow in diagram.arrows if not arrow.from_leaf] == [
        (0, ()),
        (1, ("output 1",)),
    ]
    assert 'op0 -->|"output 1"| op1' in diagram.mermaid()
    assert "1 Pair (output 1)" in repr(diagram)
    assert diagram.boxes[0].result == "(3,) float32, (3,) float32"


def test_the_results_of_a_split_are_told_each_by_its_shape():
    first, _ = (leaf(3) * 2.0).split(2)
    assert graph(first).boxes[1].result == "(2,) float32, (1,) float32"


def test_one_memory_that_two_operations_keep_is_one_cylinder():
    h = leaf(10) * 2.0
    diagram = graph(h * h)
    assert [(s.keepers, s.nbytes, s.count) for s in diagram.stores] == [
        (((1, "self, other"),), 10 * FLOAT, 1)
    ]
    assert [arrow.words for arrow in diagram.arrows if not arrow.from_leaf] == [("2 edges",)]


def test_packed_and_freed_slots_are_told():
    x = leaf(8)
    with saved_tensor_hooks(lambda t: t.numpy().astype(np.float16), lambda a: tp.tensor(a)):
        y = x.exp()
    (store,) = graph(y).stores
    assert store.nbytes == 16
    assert store.description[-1].endswith(": ndarray")
    loss, _ = two_layers()
    loss.backward()
    assert graph(loss).stores == ()
    assert sum(box.freed for box in graph(loss).boxes) == 5
    assert "2 saved freed" in graph(loss).mermaid()
    assert "2 freed" in repr(graph(loss))


def test_what_is_packed_elsewhere_is_a_cylinder_without_bytes():
    store = []
    x = leaf(8)
    with saved_tensor_hooks(lambda t: store.append(t) or len(store) - 1, store.__getitem__):
        y = x.exp()
    (cylinder,) = graph(y).stores
    assert (cylinder.nbytes, cylinder.count) == (0, 1)
    check_mermaid(graph(y).mermaid())


def test_a_deep_network_is_folded_into_one_layer_with_its_count():
    diagram = graph(layers(100))
    assert diagram.operations == 301
    assert sum(leaf_box.count for leaf_box in diagram.leaves) == 200
    # The first layer differs: its input needs no gradient.
    assert [box.count for box in diagram.boxes] == [1, 1, 1, 99, 99, 99, 1]
    text = diagram.mermaid()
    check_mermaid(text)
    assert 'subgraph repeat3_3["99 times"]' in text
    assert 'op5 -.->|"to the next"| op3' in text
    assert "99 times:" in repr(diagram)
    assert len(text.splitlines()) < 50


def test_folding_loses_no_operation_no_edge_and_no_byte():
    loss = layers(100)
    diagram, report = graph(loss), saved(loss)
    full = graph(loss, fold_above=1000)
    assert diagram.operations == full.operations == report.operations
    assert diagram.nbytes == full.nbytes == report.nbytes
    assert sum(arrow.count for arrow in diagram.arrows) == sum(a.count for a in full.arrows)
    assert sum(s.count for s in diagram.stores) == report.storages


def irregular(count):
    random = np.random.default_rng(0)
    pool = [leaf(3) * 1.0]
    for _ in range(count):
        a = pool[random.integers(len(pool))]
        b = pool[random.integers(max(0, len(pool) - 5), len(pool))]
        pool.append((b.tanh(), a + b, (a * b).tanh())[random.integers(3)])
    total = pool[0]
    for value in pool[1:]:
        total = total + value
    return total


def test_a_large_irregular_graph_sums_up_its_middle_with_counts():
    loss = irregular(300)
    diagram = graph(loss)
    assert diagram.operations == saved(loss).operations
    assert diagram.nbytes == saved(loss).nbytes
    assert len(diagram.boxes) <= 49
    (rest,) = [box for box in diagram.boxes if box.names]
    counts = [int(part.split(" × ")[1]) for part in rest.names.split(", ") if "×" in part]
    assert sum(counts) == rest.count
    check_mermaid(diagram.mermaid())
    assert rest.title in repr(diagram)


def test_ten_thousand_nodes_are_reported_in_under_two_seconds():
    loss = irregular(4500)
    assert saved(loss).operations > 10_000
    start = time.process_time()
    diagram = graph(loss)
    diagram.mermaid(), repr(diagram)
    assert time.process_time() - start < 2.0
    start = time.process_time()
    report = saved(loss)
    repr(report), report._repr_html_()
    assert time.process_time() - start < 2.0


def test_a_long_chain_needs_no_recursion():
    h = leaf(1)
    for _ in range(20_000):
        h = h * 1.0
    diagram = graph(h)
    assert [box.count for box in diagram.boxes] == [1, 19_999]


def test_names_are_escaped():
    w = leaf(3)
    text = graph(w * 2.0, {'a "quoted" <name>; end': w}).mermaid()
    check_mermaid(text)
    assert "a #34;quoted#34; #60;name#62;#59; end" in text


def test_a_leaf_alone_has_no_graph():
    assert repr(graph(leaf(3))) == "0 operations, 0 leaves; nothing saved"
    assert check_mermaid(graph(constant(3)).mermaid()) == {}


def test_several_tensors_are_asked_about_together():
    w = leaf(3)
    diagram = graph([w * 2.0, w.exp()])
    assert [box.is_root for box in diagram.boxes] == [True, True]


def test_the_diagram_keeps_nothing_alive(no_gc):
    loss, names = two_layers()
    diagram = graph(loss, names)
    watched = [weakref.ref(tensor) for tensor in (loss, *names.values())]
    del loss, names
    assert [reference() for reference in watched] == [None] * len(watched)
    assert diagram.nbytes == 208


@pytest.mark.parametrize("write", [lambda v: v.mul_(2.0), lambda v: v.__setitem__(0, 1.0)])
def test_writes_through_views_are_drawn_too(write):
    base = leaf(4) * 1.0
    write(base[1:3])
    check_mermaid(graph((base * base).sum()).mermaid())
    assert "CopySlices" in repr(graph(base.sum()))
