"""wavy: wave residuals for attention, and the experiments of the book.

The equations are in :mod:`wavy.dynamics`, the residual connection in :mod:`wavy.residual`, the models in
:mod:`wavy.hosts`.
"""

from wavy.residual import Residual

__version__ = "0.1.0"
__all__ = ["Residual"]
