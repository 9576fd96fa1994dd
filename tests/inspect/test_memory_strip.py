"""memory_strip(): storages, views, offsets, and the cells of the picture."""

import weakref

import numpy as np

import tensorplay_ref as tp
from tensorplay_ref.inspect import memory_strip, new_axes


def grid():
    return tp.tensor(np.arange(12, dtype=np.float32).reshape(3, 4))


def test_views_share_a_storage_and_results_do_not():
    x = grid()
    strip = memory_strip(
        {"x": x, "row": x[1], "column": x[:, 1], "sum": x + 1.0, "alias": x.detach()}
    )
    assert [record.storage for record in strip.records] == [1, 1, 1, 2, 1]
    assert strip.sizes == (48, 48)
    assert strip.summary() == "5 tensors in 2 storages of together 96 bytes"


def test_offsets_lead_to_the_elements():
    x = grid()
    views = {"x": x, "row": x[1], "part": x[1:, 1:3], "turned": x.transpose(0, 1), "back": x[::2]}
    for record, view in zip(memory_strip(views).records, views.values(), strict=True):
        bytes_of_storage = x.numpy().tobytes()
        elements = [
            np.frombuffer(bytes_of_storage[offset : offset + 4], np.float32)[0]
            for offset in record.offsets
        ]
        assert elements == list(view.numpy().ravel())
        assert record.offset == record.offsets[0]


def test_an_expanded_tensor_looks_at_one_place_several_times():
    x = tp.tensor(np.arange(3, dtype=np.float64))
    (record,) = memory_strip({"x": x.expand(2, 3)}).records
    assert record.offsets == (0, 8, 16, 0, 8, 16)
    assert record.strides == (0, 8)


def test_empty_tensors_and_single_numbers():
    strip = memory_strip({"empty": tp.zeros(0, 3), "number": tp.tensor(1.0)})
    assert [record.offsets for record in strip.records] == [(), (0,)]
    assert strip.plot() is not None


def test_the_text_is_the_same_for_equal_programs():
    x, y = grid(), grid()
    assert repr(memory_strip({"x": x, "row": x[1]})) == repr(memory_strip({"x": y, "row": y[1]}))
    assert repr(memory_strip({"x": x})).splitlines() == [
        "tensor  storage  shape   dtype    strides  first byte  bytes  version",
        "x             1  (3, 4)  float32  (16, 4)           0     48        0",
        "1 tensor in 1 storage of together 48 bytes",
    ]


def test_a_write_shows_in_every_view():
    x = grid()
    row = x[1]
    row.add_(1.0)
    assert [record.version for record in memory_strip({"x": x, "row": row}).records] == [1, 1]


def test_the_picture_has_a_bar_for_the_storage_and_a_cell_for_each_element():
    x = grid()
    ax = memory_strip({"x": x, "row": x[1]}).plot()
    storage, *cells = ax.patches
    assert (storage.get_x(), storage.get_width()) == (0, 48)
    assert [(cell.get_x(), cell.get_width()) for cell in cells] == [
        (offset, 4) for offset in (*range(0, 48, 4), *range(16, 32, 4))
    ]
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == ["storage 1", "x", "row"]
    assert [text.get_text() for text in ax.texts] == [*map(str, range(12)), *map(str, range(4))]
    assert [t.get_text() for t in ax.get_legend().get_texts()] == [
        "bytes of a storage",
        "looks into storage 1",
    ]
    assert ax.get_xlabel() == "byte of the storage"
    own = new_axes()
    assert memory_strip({"x": x}).plot(own) is own


def test_the_strip_keeps_nothing_alive(no_gc):
    x = grid()
    strip, alive = memory_strip({"x": x}), weakref.ref(x)
    del x
    assert alive() is None
    assert strip.sizes == (48,)
