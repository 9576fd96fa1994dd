"""nn: what networks are made of, as functions."""

from . import functional

__all__ = ["functional"]
