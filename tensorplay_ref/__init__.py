"""tensorplay_ref: TensorPlay's saved-tensor machinery on NumPy, small enough to read.

Use it as `import tensorplay_ref as tp`; names, arguments and defaults are TensorPlay's, else
PyTorch's.
"""

from math import e, inf, nan, pi

from numpy import finfo, iinfo

from . import autograd, creation, cuda, dtypes, functions, nn, random, utils
from .autograd import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from .creation import *  # noqa: F403
from .device import Device, DeviceType
from .dtypes import *  # noqa: F403
from .functions import *  # noqa: F403
from .random import *  # noqa: F403
from .tensor import Tensor

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
    "is_grad_enabled",
    "nan",
    "newaxis",
    "nn",
    "no_grad",
    "pi",
    "random",
    "set_grad_enabled",
    "utils",
]
__all__ += creation.__all__
__all__ += dtypes.__all__
__all__ += functions.__all__
__all__ += random.__all__
