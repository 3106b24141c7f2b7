"""Packages of an extra: imported, or named with what to install; a fault within a package stays its own."""

from __future__ import annotations

import sys

import pytest

from wavy.data import DataUnavailable
from wavy.data.extras import require as require_for_data
from wavy.extras import MissingPackage, require


@pytest.mark.parametrize("package", ["not_there", "not_there.at_all"])
def test_a_missing_package_is_named_with_its_extra(package):
    line = 'the package not_there is missing; install the extra: pip install "wavy[hosts]"'
    with pytest.raises(MissingPackage) as caught:
        require(package, "hosts")
    assert str(caught.value) == line
    assert caught.value.name == "not_there"
    with pytest.raises(DataUnavailable) as caught:
        require_for_data(package, "hosts")
    assert str(caught.value) == line


def test_a_package_that_lacks_another_is_not_called_missing(tmp_path, monkeypatch):
    (tmp_path / "half_there.py").write_text("import other_half\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="other_half") as caught:
        require("half_there", "hosts")
    assert not isinstance(caught.value, MissingPackage)


def test_a_package_that_lacks_a_module_of_its_own_is_not_called_missing():
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'xml\.nowhere'") as caught:
        require("xml.nowhere", "hosts")
    assert not isinstance(caught.value, MissingPackage)
    with pytest.raises(DataUnavailable, match=r"^No module named 'xml\.nowhere'$"):
        require_for_data("xml.nowhere", "hosts")


def test_a_module_of_a_package_is_returned():
    assert require("xml.dom", "hosts") is sys.modules["xml.dom"]
