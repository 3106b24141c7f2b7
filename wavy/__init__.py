"""wavy: wave residuals for attention, and the experiments of the book.

The equations are in :mod:`wavy.dynamics`, the residual connection in :mod:`wavy.residual`, the models in
:mod:`wavy.hosts`.
"""

import importlib
import sys
import warnings

from wavy.hosts.conversion import converter, wavify
from wavy.residual import Residual

# PyG 2.8 still calls torch.jit.script while it is imported; nothing that a user of wavy could mend.
warnings.filterwarnings("ignore", message="`torch.jit.script` is deprecated", category=FutureWarning)

__version__ = "0.1.0"
__all__ = ["Residual", "converter", "wavify"]

# Who has imported timm already finds wavy's models in its registry.
if "timm" in sys.modules:
    for _host in ("vit", "cait"):
        importlib.import_module(f"wavy.hosts.{_host}")
