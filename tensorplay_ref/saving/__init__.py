"""saving: ready policies for saved tensors, each a pair of saved-tensor hooks with a contract.

`with cast("float16"): loss = model(x)` keeps what the operations inside save in half precision.
Exact policies give the very gradients of a run without them: `offload`, `on_disk`, `compress`,
`bitmask`. The others state the error of each element: `cast`, `quantize`. `only` and `choose`
select tensors, `compose` applies two policies one after the other.
"""

from ..autograd.packing import packing_operation
from ..completion import public_names
from .bitmask import bitmask
from .cast import cast
from .choose import choose, only
from .compose import compose
from .compress import compress
from .offload import offload
from .on_disk import on_disk
from .policy import Policy
from .quantize import quantize

__all__ = [
    "Policy",
    "bitmask",
    "cast",
    "choose",
    "compose",
    "compress",
    "offload",
    "on_disk",
    "only",
    "packing_operation",
    "quantize",
]

__dir__ = public_names(__name__)
