"""tensorplay_ref: TensorPlay's saved-tensor machinery on NumPy, small enough to read.

Use it as `import tensorplay_ref as tp`; names, arguments and defaults are TensorPlay's, else
PyTorch's.
"""

from importlib import import_module
from math import e, inf, nan, pi
from types import ModuleType
from typing import TYPE_CHECKING

from numpy import finfo, iinfo

from . import autograd, creation, dtypes, functions, random
from .autograd import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from .completion import public_names
from .creation import *  # noqa: F403
from .device import Device, DeviceType
from .dtypes import *  # noqa: F403
from .functions import *  # noqa: F403
from .random import *  # noqa: F403
from .tensor import Tensor

if TYPE_CHECKING:
    from . import cuda, inspect, nn, saving, utils

device = Device
newaxis = None
__version__ = "0.1.0"

__all__ = [
    "Device",
    "DeviceType",
    "Tensor",
    "__version__",
    "autograd",
    "cuda",
    "device",
    "e",
    "enable_grad",
    "finfo",
    "iinfo",
    "inf",
    "inspect",
    "is_grad_enabled",
    "nan",
    "newaxis",
    "nn",
    "no_grad",
    "pi",
    "random",
    "saving",
    "set_grad_enabled",
    "utils",
]
__all__ += creation.__all__
__all__ += dtypes.__all__
__all__ += functions.__all__
__all__ += random.__all__

# Imported when first asked for: a program pays for the start of what it uses.
_ON_DEMAND = ("cuda", "inspect", "nn", "saving", "utils")


def __getattr__(name: str) -> ModuleType:
    if name in _ON_DEMAND:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__dir__ = public_names(__name__)
