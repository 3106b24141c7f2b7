"""Read pickles of arrays without running what they say.

The Planetoid files are Python 2 pickles. A pickle may name any function of any module and have it called, so only
the names below are admitted: arrays, sparse matrices, and dictionaries of lists.
"""

import collections
import io
import pickle
from typing import Any

import numpy as np
import scipy.sparse

# Pickles written before numpy 2, scipy 1.8 and Python 3 name the older modules.
_RECONSTRUCT = np.empty(0).__reduce__()[0]
ADMITTED = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("numpy.core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("numpy._core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("scipy.sparse.csr", "csr_matrix"): scipy.sparse.csr_matrix,
    ("scipy.sparse._csr", "csr_matrix"): scipy.sparse.csr_matrix,
    ("collections", "defaultdict"): collections.defaultdict,
    ("__builtin__", "list"): list,
    ("builtins", "list"): list,
}


class _ArrayUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return ADMITTED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(
                f"the pickle names {module}.{name}, which is refused; only arrays, sparse matrices, dictionaries and"
                " lists are admitted"
            ) from None


def load_arrays(content: bytes) -> Any:
    """Unpickle arrays, sparse matrices and dictionaries of lists, from Python 2 or 3.

    Args:
        content: The whole pickle.

    Returns:
        The object.

    Raises:
        pickle.UnpicklingError: The pickle names anything else; nothing of it was called.
    """
    return _ArrayUnpickler(io.BytesIO(content), encoding="latin1").load()
