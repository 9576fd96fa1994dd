"""Tools built on saved-tensor hooks: `checkpoint` computes a region again instead of saving it."""

from . import checkpoint

__all__ = ["checkpoint"]
