"""tensorplay_ref: TensorPlay's saved-tensor machinery on NumPy, small enough to read.

import tensorplay_ref as tp
"""

from . import autograd, cuda, dtypes
from .autograd import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from .creation import *  # noqa: F403
from .device import Device, DeviceType
from .dtypes import *  # noqa: F403
from .tensor import Tensor
