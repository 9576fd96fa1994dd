"""nn: what networks are made of, as functions."""

from ..completion import public_names
from . import functional

__all__ = ["functional"]

__dir__ = public_names(__name__)
