"""Layer profiles as a table and as a figure: the numbers are all there, and the axes show small changes as small."""

from __future__ import annotations

import pandas as pd
import pytest

from wavy.diagnostics.report import LABELS, plot_profiles, profile_table


def profiles():
    decay = pd.Series([1.0, 1e-1, 1e-2])
    first = pd.DataFrame({"layer": range(3), "cosine": [-0.2, 0.5, 0.9], "effective_rank": [3.0, 2, 1]})
    first = first.assign(dirichlet_energy=decay, node_variance=decay / 6)
    return {"first": first, "second": first.assign(node_variance=decay)}


def test_the_figure_holds_the_numbers_of_the_table():
    figure = plot_profiles(profiles())
    for panel, measure in zip(figure.axes, LABELS, strict=True):
        assert panel.get_ylabel() == LABELS[measure]
        for line, profile in zip(panel.lines, profiles().values(), strict=True):
            assert line.get_xdata().tolist() == [0, 1, 2]
            assert line.get_ydata().tolist() == profile[measure].tolist()
        low, high = panel.get_ylim()
        assert low < profile[measure].min()
        assert profile[measure].max() < high
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["first", "second"]
    assert set(LABELS) <= set(profiles()["first"].columns)


def test_axes_are_logarithmic_only_where_an_energy_changes_much():
    def scales(frames):
        return {name: panel.get_yscale() for name, panel in zip(LABELS, plot_profiles(frames).axes, strict=True)}

    assert [name for name, scale in scales(profiles()).items() if scale == "log"] == [
        "dirichlet_energy",
        "node_variance",
    ]
    first = profiles()["first"]
    for energy in (first["dirichlet_energy"] + 1, first["dirichlet_energy"] * 0):
        flat = {"flat": first.assign(dirichlet_energy=energy, node_variance=energy)}
        assert set(scales(flat).values()) == {"linear"}
        assert plot_profiles(flat).axes[2].get_ylim()[0] == 0


def test_a_wide_table_is_not_cut():
    profile = pd.DataFrame([{"layer": 0, "module": "m" * 90, "tokens": 9, "cosine": 1 / 3}])
    assert profile_table(profile).splitlines()[1].split() == ["0", "m" * 90, "9", "0.3333"]


def test_more_models_than_styles_are_refused():
    first = profiles()["first"]
    with pytest.raises(ValueError, match="profiles: found 5, allowed 1 to 4"):
        plot_profiles({str(k): first for k in range(5)})
