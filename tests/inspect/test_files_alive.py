"""files_alive(): files appear with packs and go with their owners."""

import os

import numpy as np

import tensorplay_ref as tp
from tensorplay_ref.autograd.graph import saved_tensor_hooks
from tensorplay_ref.autograd.observer import watchers
from tensorplay_ref.inspect import files_alive, new_axes, plot_files
from tests.inspect.programs import leaf


class OnDisk:
    """A file that is gone when the object is."""

    def __init__(self, path, values):
        self.path = path
        np.save(path, values)

    def __del__(self):
        os.remove(self.path)


def run(directory, owned):
    def pack(tensor):
        path = str(directory / f"{len(os.listdir(directory))}.npy")
        if owned:
            return OnDisk(path, tensor.numpy())
        np.save(path, tensor.numpy())
        return path

    def unpack(packed):
        return tp.tensor(np.load(packed.path if owned else packed))

    with files_alive(directory) as files:
        with saved_tensor_hooks(pack, unpack):
            y = leaf(3).exp().tanh().sum()
        files.look("forward done")
        y.backward()
    return files


def test_files_with_an_owner_go_and_others_stay(tmp_path):
    (tmp_path / "a").mkdir(), (tmp_path / "b").mkdir()
    owned, leaked = run(tmp_path / "a", True), run(tmp_path / "b", False)
    assert (owned.most, owned.left) == (2, 0)
    assert (leaked.most, leaked.left) == (2, 2)
    assert [(what, files) for _, what, files, _ in leaked.points] == [
        ("before", 0),
        ("pack", 1),
        ("pack", 2),
        ("forward done", 2),
        ("after", 2),
    ]
    assert watchers == []


def test_bytes_are_those_of_the_files(tmp_path):
    files = run(tmp_path, False)
    assert files.points[-1][3] == sum(p.stat().st_size for p in tmp_path.iterdir())
    assert repr(files).splitlines()[0].split() == ["event", "what", "happened", "files", "bytes"]


def test_a_directory_that_is_not_there_holds_no_files(tmp_path):
    with files_alive(tmp_path / "later") as files:
        pass
    assert (files.most, files.left) == (0, 0)


def test_the_picture_has_a_step_line_for_each_program(tmp_path):
    (tmp_path / "a").mkdir(), (tmp_path / "b").mkdir()
    programs = {"owner": run(tmp_path / "a", True), "leaks": run(tmp_path / "b", False)}
    ax = plot_files(programs)
    for line, (name, files) in zip(ax.lines, programs.items(), strict=True):
        assert line.get_label() == name
        assert list(line.get_xdata()) == [point[0] for point in files.points]
        assert list(line.get_ydata()) == [point[2] for point in files.points]
        assert line.get_drawstyle() == "steps-post"
    assert len({line.get_linestyle() for line in ax.lines}) == 2
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("event number", "files alive")
    own = new_axes()
    assert programs["owner"].plot(own) is own
