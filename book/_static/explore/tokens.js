"use strict";

/** Sixteen tokens in the plane of their two channels, and how far apart they are in each layer. */
Explorables.tokens = (figure, data) => {
  const TRAIL = 12; // more steps of a wave would hide one another
  const FLOOR = 1e-8;

  const chooser = Controls.kindChooser(data.kinds, "diffusion", draw);
  const plane = Plot.panel("The tokens", "faint: their last twelve steps");
  const decay = Plot.panel("Relative Dirichlet energy", "of all kinds; dotted: the chosen layer");
  const readout = Controls.readout();
  const tau = Controls.slider({ label: "step τ", min: 0.05, max: 1, step: 0.05, value: 0.5 }, change);
  const lam = Controls.slider({ label: "mixing λ", min: 0, max: 1, step: 0.05, value: 0.5 }, change);
  const depth = Controls.slider({ label: "layer", min: 0, max: data.layers, step: 1, value: 8, format: String }, draw);
  const player = Player(depth, data.layers, draw);

  figure.append(
    chooser.element,
    Controls.element("div", { className: "explorable-plots" }, plane.element, decay.element),
    readout,
    Controls.element("div", { className: "explorable-sliders" }, depth.element, player.element, tau.element, lam.element),
  );

  const states = {};
  const energies = {};
  compute();

  function change() {
    compute();
    draw();
  }

  function compute() {
    for (const { name } of data.kinds) {
      const setting = { tau: tau.value, lam: lam.value };
      states[name] = Dynamics.states(name, data.attention, data.x0, data.layers, setting);
      const energy = states[name].map(Measures.dirichletEnergy);
      energies[name] = energy.map((value) => value / energy[0]);
    }
  }

  function draw() {
    drawPlane();
    drawDecay();
    const { layer, cosine, energy } = values();
    readout.setAttribute("aria-live", player.playing ? "off" : "polite");
    readout.textContent =
      `After layer ${layer} under ${chooser.kind.label}: ` +
      `mean cosine ${Format.fixed(cosine)}, relative energy ${Format.short(energy)}.`;
  }

  function drawPlane() {
    const { name, symbol } = chooser.kind;
    const colour = Plot.resolved(Plot.colourOf(chooser.kind));
    const now = states[name][depth.value];
    const recent = states[name].slice(Math.max(0, depth.value - TRAIL), depth.value + 1);
    const paths = data.digits.flatMap((_, i) => [...recent.map((state) => state[i]), [null, null]]);
    // One range for all kinds and layers, so that nothing but the tokens moves.
    const reach = 1.08 * Math.max(...Object.values(states).flat(3).map(Math.abs));
    const column = (points, c) => points.map((point) => point[c]);
    Plot.draw(
      plane,
      [
        {
          x: column(paths, 0),
          y: column(paths, 1),
          mode: "lines",
          line: { color: colour, width: 1 },
          opacity: 0.5,
          hoverinfo: "skip",
        },
        {
          x: column(now, 0),
          y: column(now, 1),
          mode: "markers",
          marker: { color: colour, symbol, size: 10, line: { color: Plot.background(), width: 1 } },
          text: data.digits.map((digit) => `a digit ${digit}`),
          hovertemplate: "%{text}<extra></extra>",
        },
      ],
      { title: "channel 1", range: [-reach, reach], zeroline: false },
      { title: "channel 2", range: [-reach, reach], zeroline: false, scaleanchor: "x" },
    );
  }

  function drawDecay() {
    const layers = energies.diffusion.map((_, layer) => layer);
    const traces = data.kinds.map((kind) => {
      const chosen = kind.name === chooser.kind.name;
      const colour = Plot.resolved(Plot.colourOf(kind));
      return {
        x: layers,
        y: energies[kind.name],
        name: kind.label,
        zorder: chosen ? 1 : 0,
        mode: "lines+markers",
        line: { color: colour, width: chosen ? 3.5 : 1.5, dash: kind.dash },
        marker: { color: colour, symbol: kind.symbol, size: chosen ? 8 : 6, maxdisplayed: 6 },
        hovertemplate: `${kind.label}, layer %{x}: %{y:.3g}<extra></extra>`,
      };
    });
    const all = Object.values(energies).flat().filter((value) => value > FLOOR);
    const y = Plot.logarithmic(Math.min(...all), Math.max(...all));
    const marked = { type: "line", xref: "x", yref: "paper", x0: depth.value, x1: depth.value, y0: 0, y1: 1 };
    Plot.draw(decay, traces, { title: "layer", range: [-0.5, data.layers + 0.5], zeroline: false }, y, {
      shapes: [{ ...marked, line: { color: Plot.muted(), width: 1.5, dash: "dot" } }],
    });
  }

  /** What is shown. */
  function values() {
    const { name } = chooser.kind;
    const state = states[name][depth.value];
    return {
      kind: name,
      tau: tau.value,
      lam: lam.value,
      layer: depth.value,
      playing: player.playing,
      state,
      cosine: Measures.meanCosine(state),
      energy: energies[name][depth.value],
      energies,
    };
  }

  return { draw, values };
};
