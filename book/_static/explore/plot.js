"use strict";

/** The interactive figures by name: each is made by a function of (element to fill, data). */
const Explorables = {};

/** Plotly in the theme of the page: no mode bar, no zoom, nothing fetched. */
const Plot = (() => {
  const CONFIG = { displayModeBar: false, displaylogo: false, doubleClick: false, scrollZoom: false };
  const THEMED = "var(--pst-color-text-base)";
  const GRID = "rgba(128, 128, 128, 0.25)"; // visible on white and on black
  const SIZE = 13;

  /** The colour of a kind; black is that of the text, which is light in dark mode. */
  const colourOf = (kind) => (kind.colour === "#000000" ? THEMED : kind.colour);

  /** Plotly needs colours in numbers. */
  function resolved(colour) {
    const name = /^var\((.*)\)$/.exec(colour);
    return name ? getComputedStyle(document.documentElement).getPropertyValue(name[1]).trim() : colour;
  }

  const text = () => resolved(THEMED);
  const muted = () => resolved("var(--pst-color-text-muted)");
  const background = () => resolved("var(--pst-color-background)");

  /** A box to be drawn in, with a heading and a line that explains what is drawn. */
  function panel(title, ...note) {
    const heading = Controls.element("div", { className: "explorable-title", textContent: title });
    const remark = Controls.element("div", { className: "explorable-note" }, ...note);
    const box = Controls.element("div", { className: "explorable-plot" });
    box.setAttribute("role", "img");
    box.setAttribute("aria-label", title);
    new ResizeObserver(() => box.data && Plotly.Plots.resize(box)).observe(box);
    return { element: Controls.element("div", { className: "explorable-panel" }, heading, remark, box), box };
  }

  const axis = (options) => ({
    color: text(),
    gridcolor: GRID,
    zerolinecolor: muted(),
    tickfont: { size: SIZE },
    fixedrange: true,
    exponentformat: "power",
    ...options,
    title: { text: options.title, standoff: 6, font: { size: SIZE } },
  });

  /** A logarithmic axis from `low` to `high`, with a tick at powers of ten, eight or fewer. */
  function logarithmic(low, high) {
    const range = [Math.log10(low) - 0.1, Math.log10(high) + 0.1];
    const tickfont = { size: SIZE / 1.25 }; // Plotly draws powers of ten larger by this factor
    return { type: "log", range, dtick: Math.ceil((range[1] - range[0]) / 8), tickfont, zeroline: false };
  }

  /** Draw traces with the axes x and y into a panel's box. */
  function draw({ box }, traces, x, y, options = {}) {
    const layout = {
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: SIZE, color: text() },
      margin: { l: 52, r: 10, t: 8, b: 44 },
      showlegend: false,
      hovermode: "closest",
      dragmode: false,
      xaxis: axis(x),
      yaxis: axis(y),
      ...options,
    };
    Plotly.react(box, traces, layout, CONFIG);
  }

  return { colourOf, resolved, text, muted, background, panel, logarithmic, draw };
})();
