"use strict";

/** LN_v and FFN_v of a small layer beside exact derivatives and difference quotients. */
Explorables.velocity = (figure, data) => {
  const [paper, exact] = data.colours;
  const { xHat } = Layers.normalised(data.x, data.eps);

  const norm = Plot.panel("What LayerNorm makes of Y");
  const mlp = Plot.panel("What the mlp makes of Y");
  const readout = Controls.readout();
  const part = { min: -2, max: 2, step: 0.05 };
  const along = Controls.slider({ label: "Y along x̂", ...part, value: 1 }, draw);
  const mean = Controls.slider({ label: "mean of Y", ...part, value: 0.5 }, draw);
  const size = { min: -4, max: 0, step: 0.5, value: -2, format: Format.power };
  const step = Controls.slider({ label: "step h", ...size }, draw);
  const legend = Controls.element("div", { className: "explorable-legend" });
  legend.append(
    entry("■", paper, "LNᵥ and FFNᵥ"),
    entry("▨", exact, "exact derivative of LN"),
    entry("◇", "inherit", "difference quotient"),
  );
  const table = Controls.element("table", { className: "explorable-table" });

  figure.append(
    legend,
    Controls.element("div", { className: "explorable-plots" }, norm.element, mlp.element),
    readout,
    Controls.element("div", { className: "explorable-sliders" }, along.element, mean.element, step.element),
    table,
  );

  function entry(symbol, colour, label) {
    const drawn = Controls.element("span", { className: "explorable-symbol", textContent: symbol });
    drawn.setAttribute("aria-hidden", "true");
    drawn.style.color = colour;
    return Controls.element("span", {}, drawn, label);
  }

  /** (f(x + h y) - f(x)) / h */
  function quotient(f, y, h) {
    const [before, after] = [f(data.x, data), f(data.x.map((value, i) => value + h * y[i]), data)];
    return after.map((value, i) => (value - before[i]) / h);
  }

  /** |a - b| / |b| */
  function relativeError(a, b) {
    return Math.hypot(...a.map((value, i) => value - b[i])) / Math.hypot(...b);
  }

  const differs = (share) =>
    share < 1e-12 ? "does not differ from" : `differs by ${Format.short(100 * share)}\u00a0% from`;

  /** What is shown. */
  function values() {
    const h = 10 ** step.value;
    const y = data.velocity.map((value, i) => value + mean.value + along.value * xHat[i]);
    const norms = {
      paper: Layers.layerNormVelocity(data.x, y, data),
      exact: Layers.layerNormDerivative(data.x, y, data),
      quotient: quotient(Layers.layerNorm, y, h),
    };
    const mlps = { paper: Layers.mlpVelocity(data.x, y, data), quotient: quotient(Layers.mlp, y, h) };
    const setting = { along: along.value, mean: mean.value, h };
    return { ...setting, y, norm: norms, mlp: mlps, error: relativeError(norms.paper, norms.exact) };
  }

  function draw() {
    const shown = values();
    const channels = data.x.map((_, i) => i + 1);
    const bars = (y, shift, color, pattern, name) => ({
      type: "bar",
      x: channels.map((channel) => channel + shift),
      y,
      width: 0.36,
      marker: { color, pattern: { shape: pattern, fillmode: "overlay", fgcolor: Plot.background(), size: 6 } },
      hovertemplate: `${name}: %{y:.3f}<extra></extra>`,
    });
    const points = (y, shift) => ({
      x: channels.map((channel) => channel + shift),
      y,
      mode: "markers",
      marker: { color: Plot.text(), symbol: "diamond-open", size: 9, line: { width: 2 } },
      hovertemplate: "quotient: %{y:.3f}<extra></extra>",
    });
    const x = { title: "channel", tickvals: channels, zeroline: false };
    const { norm: norms, mlp: mlps } = shown;
    const parts = [
      bars(norms.paper, -0.2, paper, "", "LNᵥ"),
      bars(norms.exact, 0.2, exact, "/", "exact"),
      points(norms.quotient, 0.2),
    ];
    Plot.draw(norm, parts, x, {});
    Plot.draw(mlp, [bars(mlps.paper, 0, paper, "", "FFNᵥ"), points(mlps.quotient, 0)], x, {});
    readout.textContent =
      `LNᵥ ${differs(shown.error)} the exact derivative. The quotient ` +
      `${differs(relativeError(norms.quotient, norms.exact))} that derivative and ` +
      `${differs(relativeError(mlps.quotient, mlps.paper))} FFNᵥ.`;
    fillTable([["channel", channels.map(String)], ["x", data.x.map(Format.fixed)], ["Y", shown.y.map(Format.fixed)]]);
  }

  function fillTable(rows) {
    const filled = rows.map(([head, cells]) => {
      const row = Controls.element("tr", {}, Controls.element("th", { textContent: head, scope: "row" }));
      row.append(...cells.map((cell) => Controls.element("td", { textContent: cell })));
      return row;
    });
    table.replaceChildren(...filled);
  }

  return { draw, values };
};
