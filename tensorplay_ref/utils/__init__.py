"""Tools built on saved-tensor hooks: `checkpoint` computes a region again instead of saving it."""

from ..completion import public_names
from . import checkpoint

__all__ = ["checkpoint"]

__dir__ = public_names(__name__)
