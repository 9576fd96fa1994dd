"""The digits are scikit-learn's copy of UCI's, and the split keeps train and test apart."""

import hashlib
from importlib.resources import files

import numpy as np
import pytest

from tensorplay_ref.course.digits import HELD_OUT, load_digits


def test_the_file_holds_what_it_always_held() -> None:
    with np.load(str(files("tensorplay_ref.course") / "data" / "digits.npz")) as stored:
        images, labels = stored["images"], stored["labels"]
    assert (images.dtype, images.shape) == (np.uint8, (1797, 8, 8))
    assert (labels.dtype, labels.shape) == (np.uint8, (1797,))
    assert (images.min(), images.max()) == (0, 16)
    # As UCI's page counts the digits of the test part.
    assert np.bincount(labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    content = hashlib.sha256(images.tobytes() + labels.tobytes()).hexdigest()
    assert content == "87ff0c9e40dc7e2c0e34e7257799c2e3f3aec1a016363bb11cad869ec428a826"


def test_the_parts_have_the_stated_shapes_and_values() -> None:
    digits = load_digits()
    for images, labels, count in (
        (digits.train_images, digits.train_labels, 1437),
        (digits.test_images, digits.test_labels, HELD_OUT),
    ):
        assert (images.dtype, images.shape) == (np.float32, (count, 8, 8))
        assert (labels.dtype, labels.shape) == (np.int64, (count,))
        assert (images.min(), images.max()) == (0.0, 1.0)
        assert images.flags.c_contiguous and images.flags.writeable
        # Every digit is about a tenth of each part.
        assert (np.bincount(labels, minlength=10) > count / 20).all()


def test_every_image_is_in_one_part_only() -> None:
    digits = load_digits()
    with np.load(str(files("tensorplay_ref.course") / "data" / "digits.npz")) as stored:
        images = stored["images"]
        per_digit = np.bincount(stored["labels"])
    both = np.concatenate([digits.train_images, digits.test_images]) * 16
    assert sorted(image.tobytes() for image in both.astype(np.uint8)) == sorted(
        image.tobytes() for image in images
    )
    labels = np.concatenate([digits.train_labels, digits.test_labels])
    assert np.bincount(labels).tolist() == per_digit.tolist()


def test_the_split_is_the_same_everywhere_and_nobody_s_random_state_moves() -> None:
    np.random.seed(3)
    before = np.random.get_state()[1].tolist()
    first, second = load_digits(), load_digits()
    assert np.random.get_state()[1].tolist() == before
    assert first.test_labels[:10].tolist() == [0, 8, 8, 9, 8, 3, 7, 5, 0, 6]
    for one, other in zip(first, second, strict=True):
        assert np.array_equal(one, other) and not np.shares_memory(one, other)


def test_scikit_learn_ships_the_same_digits() -> None:
    datasets = pytest.importorskip("sklearn.datasets", reason="scikit-learn is not installed")
    theirs = datasets.load_digits()
    with np.load(str(files("tensorplay_ref.course") / "data" / "digits.npz")) as stored:
        assert np.array_equal(stored["images"], theirs.images)
        assert np.array_equal(stored["labels"], theirs.target)
