"""Dot plots: where the dots stand, and which are hollow."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from wavy.companion.dots import KIND_STYLES, depth_styles, dots, height_for
from wavy.dynamics import KINDS


@pytest.fixture
def ax():
    yield plt.subplots()[1]
    plt.close("all")


FRAME = pd.DataFrame(
    [
        ("b", "light", 10.0, False),
        ("b", "diffusion", 80.0, True),
        ("a", "diffusion", 20.0, True),
        ("b", "light", 30, 0),
    ],
    columns=["setting", "residual", "test", "trains"],
)


def drawn(ax):
    """(value, row, colour, whether filled) of each dot."""
    marks = [line for line in ax.lines if line.get_marker() != "None" and len(line.get_xdata())]
    return {
        (line.get_xdata()[0], round(line.get_ydata()[0]), line.get_color(), line.get_markerfacecolor() != "white")
        for line in marks
    }


def test_a_dot_is_the_mean_of_its_row_and_group(ax):
    dots(FRAME, "test", "setting", "residual", KIND_STYLES, ax, filled="trains")
    black, orange = KIND_STYLES["diffusion"].colour, KIND_STYLES["light"].colour
    assert drawn(ax) == {(80, 0, black, True), (20, 1, black, True), (20, 0, orange, False)}


def test_a_line_reaches_from_the_least_to_the_greatest(ax):
    dots(FRAME, "test", "setting", "residual", KIND_STYLES, ax)
    spans = [tuple(line.get_xdata()) for line in ax.lines if len(line.get_xdata()) == 2]
    assert (10, 30) in spans


def test_rows_stand_in_the_order_of_their_appearance_from_above(ax):
    dots(FRAME, "test", "setting", "residual", KIND_STYLES, ax)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["b", "a"]
    assert ax.yaxis_inverted()


def test_the_legend_has_the_groups_that_are_there_in_the_order_of_the_styles(ax):
    dots(FRAME, "test", "setting", "residual", KIND_STYLES, ax)
    assert [text.get_text() for text in ax.figure.legends[0].get_texts()] == ["diffusion", "light wave"]


def test_the_axes_of_a_figure_share_one_legend(ax):
    other = ax.figure.add_axes((0, 0, 0.1, 0.1))
    for axes, frame in ((ax, FRAME), (other, FRAME.replace("light", "full"))):
        dots(frame, "test", "setting", "residual", KIND_STYLES, axes)
    (legend,) = ax.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["diffusion", "light wave", "full wave"]


def test_dots_of_one_row_do_not_hide_each_other(ax):
    frame = pd.DataFrame([("a", kind, 50.0) for kind in KINDS], columns=["setting", "residual", "test"])
    dots(frame, "test", "setting", "residual", KIND_STYLES, ax)
    heights = sorted(line.get_ydata()[0] for line in ax.lines if len(line.get_xdata()) == 1)
    assert len(set(heights)) == len(KINDS)
    assert -0.5 < heights[0] < heights[-1] < 0.5


def test_deeper_is_darker_and_each_depth_has_its_marker():
    styles = depth_styles([20, 2, 8])
    assert list(styles) == [2, 8, 20]
    lightness = [sum(style.colour) for style in styles.values()]
    assert lightness == sorted(lightness, reverse=True)
    assert len({style.marker for style in styles.values()}) == 3


def test_more_depths_than_markers_are_refused():
    assert len(depth_styles(list(range(7)))) == 7
    with pytest.raises(ValueError, match="depths: found 8, allowed 7"):
        depth_styles(list(range(8)))


def test_more_rows_need_more_height():
    assert height_for(20) > height_for(10) > 0
