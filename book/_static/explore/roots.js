"use strict";

/** The roots z of one mode in the complex plane, and its amplitude against depth. */
Explorables.roots = (figure, data) => {
  const FLOOR = 1e-12;
  const RANGE = { min: -1, max: 4, step: 0.05 }; // of the real part of mu
  const LAYERS = Array.from({ length: data.layers + 1 }, (_, layer) => layer);
  const TURN = Array.from({ length: 181 }, (_, i) => (i * Math.PI) / 90);
  const SWEEP = Array.from({ length: 101 }, (_, i) => RANGE.min + i * RANGE.step);

  const chooser = Controls.kindChooser(data.kinds, "full", draw);
  const plane = Plot.panel("The roots z and the unit circle", "faint: their path as Re μ goes from −1 to 4");
  const layer = Controls.element("sup", { textContent: "layer" });
  const depth = Plot.panel("Amplitude |x| of the mode", "dashed: |z|", layer, "; open symbols: x is negative");
  const readout = Controls.readout();
  const real = Controls.slider({ label: "Re μ", ...RANGE, value: 1 }, draw);
  const imaginary = Controls.slider({ label: "Im μ", min: -1, max: 1, step: 0.05, value: 0 }, draw);
  const tau = Controls.slider({ label: "step τ", min: 0.05, max: 2, step: 0.05, value: 0.5 }, draw);
  const lam = Controls.slider({ label: "mixing λ", min: 0, max: 1, step: 0.05, value: 0.5 }, draw);

  figure.append(
    chooser.element,
    Controls.element("div", { className: "explorable-plots" }, plane.element, depth.element),
    readout,
    Controls.element(
      "div",
      { className: "explorable-sliders" },
      real.element,
      imaginary.element,
      tau.element,
      lam.element,
    ),
  );

  /** A complex mode is a real state of two tokens, its real and its imaginary part; A multiplies it by 1 - mu. */
  function amplitude(kind, mu, setting) {
    const attention = [[1 - mu[0], mu[1]], [-mu[1], 1 - mu[0]]];
    const states = Dynamics.states(kind, attention, [[1], [0]], data.layers, setting);
    return states.map(([re, im]) => [re[0], im[0]]);
  }

  /** What is shown. */
  function values() {
    const kind = chooser.kind.name;
    const mu = [real.value, imaginary.value];
    const setting = { tau: tau.value, lam: lam.value };
    const roots = Spectrum.modeFactors(kind, mu, setting);
    return { kind, mu, ...setting, roots, mode: amplitude(kind, mu, setting) };
  }

  function draw() {
    const shown = values();
    lam.disabled = !chooser.kind.mixed;
    drawPlane(shown);
    drawDepth(shown);
    const found = shown.roots.map(Format.complex).join(" and ");
    const condition = Regimes.condition(shown.kind, shown.mu, shown);
    readout.textContent = `${condition} z = ${found}. ${Regimes.fate(shown.roots)}`;
  }

  function drawPlane({ kind, mu, roots, ...setting }) {
    const colour = Plot.resolved(Plot.colourOf(chooser.kind));
    const paths = SWEEP.flatMap((re) => Spectrum.modeFactors(kind, [re, mu[1]], setting));
    const reach = Math.max(1.4, 1.2 * Spectrum.modulus(roots[0]));
    const dtick = reach < 1.5 ? 0.5 : reach < 4 ? 1 : undefined;
    const dots = (points, marker, more) => ({
      x: points.map((z) => z[0]),
      y: points.map((z) => z[1]),
      mode: "markers",
      marker: { color: colour, ...marker },
      hoverinfo: "skip",
      ...more,
    });
    const traces = [
      {
        x: TURN.map(Math.cos),
        y: TURN.map(Math.sin),
        mode: "lines",
        line: { color: Plot.muted(), width: 1.5 },
        hoverinfo: "skip",
      },
      dots(paths, { size: 4, opacity: 0.3 }),
      dots(roots, { size: 12, symbol: chooser.kind.symbol, line: { color: Plot.background(), width: 1 } }, {
        hoverinfo: "x+y",
      }),
    ];
    const bound = { x: -1, y: 0, text: "τ²μ = 4", ax: 46, ay: -26, arrowcolor: Plot.muted(), arrowhead: 2 };
    Plot.draw(
      plane,
      traces,
      { title: "Re z", range: [-reach, reach], dtick },
      { title: "Im z", range: [-reach, reach], dtick, scaleanchor: "x" },
      { annotations: kind === "full" && mu[1] === 0 ? [{ ...bound, font: { color: Plot.text() } }] : [] },
    );
  }

  function drawDepth({ mu, roots, mode }) {
    const colour = Plot.resolved(Plot.colourOf(chooser.kind));
    const sizes = mode.map(Spectrum.modulus);
    const rate = Spectrum.modulus(roots[0]);
    const rates = LAYERS.map((layer) => rate ** layer);
    const open = (z) => mu[1] === 0 && z[0] < 0;
    const seen = [...sizes, ...rates].filter((value) => value > FLOOR && Number.isFinite(value));
    const y = Plot.logarithmic(Math.min(0.1, ...seen), Math.max(10, ...seen));
    const traces = [
      { x: LAYERS, y: rates, mode: "lines", line: { color: Plot.muted(), width: 2, dash: "dash" }, hoverinfo: "skip" },
      {
        x: LAYERS,
        y: sizes.map((size) => (size > FLOOR ? size : null)),
        mode: "lines+markers",
        line: { color: colour, width: 1 },
        marker: { color: colour, size: 7, symbol: mode.map((z) => chooser.kind.symbol + (open(z) ? "-open" : "")) },
        hovertemplate: "layer %{x}: %{y:.3g}<extra></extra>",
      },
    ];
    Plot.draw(depth, traces, { title: "layer", range: [-0.5, data.layers + 0.5], zeroline: false }, y);
  }

  return { draw, values };
};
