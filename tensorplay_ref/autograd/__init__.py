"""autograd: recording operations and walking back through them.

`backward` and `grad` walk; `Function` makes operations of one's own; `graph` has the saved-tensor
hooks. Names and defaults are TensorPlay's, else PyTorch's.
"""

from ..completion import public_names
from . import function, grad_mode, graph
from .anomaly import (
    detect_anomaly,
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    set_detect_anomaly,
)
from .differentiation import backward, grad
from .function import Function, once_differentiable
from .grad_mode import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from .gradcheck import GradcheckError, gradcheck, gradgradcheck
from .graph import save_on_cpu, saved_tensor_hooks, saved_tensors_hooks

__all__ = [
    "Function",
    "GradcheckError",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "function",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "no_grad",
    "once_differentiable",
    "save_on_cpu",
    "saved_tensor_hooks",
    "saved_tensors_hooks",
    "set_detect_anomaly",
    "set_grad_enabled",
]

__dir__ = public_names(__name__)
