"""House style of figures: every kind can be told from every other, and a changed figure changes its summary."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb

from wavy.companion.figures import DASHES, LABELS, MARKERS, PALETTE, legend_above, lines, summary, use_house_style
from wavy.dynamics import KINDS


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    rows = [(kind, depth, seed) for kind in reversed(KINDS) for depth in (2, 4, 8) for seed in range(3)]
    table = pd.DataFrame(rows, columns=["residual", "depth", "seed"])
    return table.assign(accuracy=rng.random(len(table)))


def luminance(colour):
    """Relative luminance of the W3C's contrast rules."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def seen_with(colour, deficiency):
    """The colour as people without red or green cones see it (Vienot, Brettel and Mollon 1999, in linear light)."""
    to_lms = np.array([[17.8824, 43.5161, 4.11935], [3.45565, 27.1554, 3.86714], [0.0299566, 0.184309, 1.46709]])
    missing = {
        "protanopia": [[0, 2.02344, -2.52581], [0, 1, 0], [0, 0, 1]],
        "deuteranopia": [[1, 0, 0], [0.494207, 0, 1.24827], [0, 0, 1]],
    }[deficiency]
    linear = np.array([c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)])
    linear = np.clip(np.linalg.inv(to_lms) @ np.array(missing) @ to_lms @ linear, 0, 1)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)


@pytest.mark.parametrize("table", [PALETTE, MARKERS, DASHES, LABELS])
def test_every_kind_has_a_style(table):
    assert tuple(table) == KINDS


def test_kinds_differ_in_grey_by_marker():
    assert len(set(MARKERS.values())) == len(set(LABELS.values())) == len(KINDS)


@pytest.mark.parametrize("deficiency", ["protanopia", "deuteranopia"])
def test_colours_stay_apart_for_the_colour_blind(deficiency):
    seen = [seen_with(colour, deficiency) for colour in PALETTE.values()]
    distances = [np.linalg.norm(a - b) for i, a in enumerate(seen) for b in seen[:i]]
    assert min(distances) > 0.2


@pytest.mark.parametrize("colour", PALETTE.values())
def test_colours_stand_out_on_white(colour):
    assert 1.05 / (luminance(colour) + 0.05) > 2


def test_lines_have_the_colour_of_their_kind_and_the_order_of_the_book(frame):
    axes = lines(frame, "depth", "accuracy")
    handles, labels = axes.get_legend_handles_labels()
    assert labels == [LABELS[kind] for kind in KINDS]
    assert [to_rgb(handle.get_color()) for handle in handles] == [to_rgb(PALETTE[kind]) for kind in KINDS]


def test_a_kind_looks_the_same_without_the_others(frame):
    axes = lines(frame[frame["residual"] == "light"], "depth", "accuracy")
    assert to_rgb(axes.lines[0].get_color()) == to_rgb(PALETTE["light"])
    assert axes.lines[0].get_marker() == MARKERS["light"]


def test_lines_show_the_mean_and_the_bars_the_range(frame):
    one = frame[frame["residual"] == "full"]
    axes = lines(one, "depth", "accuracy", spread=("pi", 100))
    by_depth = one.groupby("depth")["accuracy"]
    np.testing.assert_allclose(axes.lines[0].get_ydata(), by_depth.mean())
    bars = np.array([[bar[0, 1], bar[-1, 1]] for bar in axes.collections[0].get_segments()])
    np.testing.assert_allclose(bars, by_depth.agg(["min", "max"]))


def test_a_bar_stands_beside_a_point_with_one_value(frame):
    one = frame[frame["residual"] == "full"]
    first = one["depth"].min()
    lonely = pd.concat([one[one["depth"] == first], one[one["depth"] > first].drop_duplicates("depth")])
    bars = lines(lonely, "depth", "accuracy", spread=("pi", 100)).collections[0].get_segments()
    assert bars[0][0, 1] < bars[0][-1, 1]


def test_whole_numbers_have_ticks_at_whole_numbers(frame):
    axes = lines(frame.replace({"depth": {2: 0, 4: 1, 8: 2}}), "depth", "accuracy")
    ticks = axes.get_xticks()
    np.testing.assert_array_equal(ticks, ticks.round())
    halves = lines(frame.assign(depth=frame["depth"] / 16), "depth", "accuracy").get_xticks()
    assert (halves != halves.round()).any()


def test_a_legend_above_covers_nothing(frame):
    use_house_style()
    axes = lines(frame, "depth", "accuracy", spread=("pi", 100))
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    legend_above(axes)
    axes.figure.canvas.draw()
    legend = axes.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == names
    assert legend.get_window_extent().y0 >= axes.bbox.y1
    assert legend.get_window_extent().x1 <= axes.figure.bbox.x1


def test_text_is_readable_on_a_phone(frame):
    """At a width of 400 pixels, of which the page leaves 360 to a figure, no text is below 9 pixels."""
    use_house_style()
    axes = lines(frame, "depth", "accuracy")
    axes.figure.canvas.draw()
    scale = 360 / (axes.figure.get_figwidth() * 72)
    texts = [axes.xaxis.label, axes.yaxis.label, *axes.get_xticklabels(), *axes.get_yticklabels()]
    texts += axes.get_legend().get_texts()
    assert min(text.get_fontsize() for text in texts) * scale >= 9


def test_unknown_kind_and_missing_column_are_named(frame):
    with pytest.raises(ValueError, match="residual: found wvae, allowed diffusion, full"):
        lines(frame.replace("light", "wvae"), "depth", "accuracy")
    with pytest.raises(ValueError, match="frame: found no column loss, allowed residual, depth"):
        lines(frame, "depth", "loss")
    with pytest.raises(ValueError, match="frame: found no column loss"):
        summary(frame, "loss")


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30))
def test_summary_is_that_of_numpy(values):
    table = summary(pd.DataFrame({"residual": "full", "y": values}), "y")
    expected = [len(values), np.mean(values), *np.quantile(values, [0, 0.25, 0.5, 0.75, 1])]
    np.testing.assert_allclose(table.iloc[0, 2:].to_numpy(dtype=float), expected, rtol=1e-9, atol=1e-9)


def test_summary_keeps_the_order_of_the_book_and_all_groups(frame):
    table = summary(frame, ["seed", "accuracy"], ["residual", "depth"])
    assert list(table.columns) == ["quantity", "residual", "depth", "count", "mean", "min", "25%", "50%", "75%", "max"]
    expected = [(y, kind, depth) for y in ("seed", "accuracy") for kind in KINDS for depth in (2, 4, 8)]
    assert list(table[["quantity", "residual", "depth"]].itertuples(index=False, name=None)) == expected


@pytest.mark.parametrize("quantity", ["mean", "max", "count"])
def test_a_changed_figure_changes_its_summary(frame, quantity):
    before = summary(frame, "accuracy")[quantity]
    extra = frame.iloc[[0]].assign(accuracy=2.0)
    assert not before.equals(summary(pd.concat([frame, extra]), "accuracy")[quantity])
