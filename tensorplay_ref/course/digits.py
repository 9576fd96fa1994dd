"""Real data for the notebooks: handwritten digits, small enough to ship and to train on in seconds.

Source and licence stand in ``data/README.md``: E. Alpaydin and C. Kaynak, Optical Recognition of
Handwritten Digits, UCI Machine Learning Repository, CC BY 4.0.
"""

from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

HELD_OUT = 360
_BRIGHTEST = 16


class Digits(NamedTuple):
    """Images, float32 of shape (n, 8, 8) from 0 to 1, and labels, int64 of shape (n,) from 0 to 9.

    No image is in both parts: 1,437 are for training, 360 are held out for testing.
    """

    train_images: NDArray[np.float32]
    train_labels: NDArray[np.int64]
    test_images: NDArray[np.float32]
    test_labels: NDArray[np.int64]


def load_digits() -> Digits:
    """The 1,797 UCI digits, shuffled by ``default_rng(0)`` and split; new arrays in every call."""
    with files("tensorplay_ref.course").joinpath("data/digits.npz").open("rb") as file:
        with np.load(file, allow_pickle=False) as stored:
            images = stored["images"].astype(np.float32) / np.float32(_BRIGHTEST)
            labels = stored["labels"].astype(np.int64)
    order = np.random.default_rng(0).permutation(len(labels))
    train, test = order[:-HELD_OUT], order[-HELD_OUT:]
    return Digits(images[train], labels[train], images[test], labels[test])
