"""Pickles are read without running what they name."""

import collections
import os
import pickle

import numpy as np
import pytest
import scipy.sparse

from wavy.data.graphs.pickles import load_arrays


class Call:
    """An object whose pickle asks for a call."""

    def __init__(self, function, *arguments):
        self.reduced = function, arguments

    def __reduce__(self):
        return self.reduced


@pytest.mark.parametrize("protocol", range(6))
def test_a_pickle_cannot_run_a_command(tmp_path, protocol):
    witness = tmp_path / "was-here"
    content = pickle.dumps(Call(os.mkdir, str(witness)), protocol=protocol)
    with pytest.raises(pickle.UnpicklingError, match=r"names (posix|nt|os)\.mkdir, which is refused"):
        load_arrays(content)
    assert not witness.exists()
    pickle.loads(content)  # the same pickle is harmful where nothing is refused
    assert witness.exists()


@pytest.mark.parametrize(
    ("function", "argument"), [(eval, "1"), (getattr, "x"), (np.load, "x"), (collections.deque, [])]
)
def test_refused_names_are_told(function, argument):
    with pytest.raises(pickle.UnpicklingError) as caught:
        load_arrays(pickle.dumps(Call(function, argument)))
    assert f".{function.__name__}," in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_dotted_name_does_not_lead_out_of_an_admitted_module():
    content = b"\x80\x04\x8c\x05numpy\x8c\x12ndarray.__reduce__\x93."
    with pytest.raises(pickle.UnpicklingError, match=r"numpy\.ndarray.__reduce__"):
        load_arrays(content)


def test_python_2_arrays_keep_every_byte():
    content = (
        b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
        b"(K\x01K\x02\x85cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
        b"\x89U\x02\x80\xfftb."
    )
    assert load_arrays(content).tolist() == [128, 255]


@pytest.mark.parametrize("protocol", [3, 4])
def test_what_graphs_need_survives(protocol):
    dense = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert (load_arrays(pickle.dumps(dense, protocol=protocol)) == dense).all()
    sparse = load_arrays(pickle.dumps(scipy.sparse.csr_matrix(dense), protocol=protocol))
    assert (sparse.toarray() == dense).all()
    neighbours = collections.defaultdict(list, {0: [1, 1], 1: [0]})
    assert load_arrays(pickle.dumps(neighbours, protocol=protocol)) == neighbours
