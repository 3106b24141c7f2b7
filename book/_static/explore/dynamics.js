"use strict";

/**
 * The residual kinds, as in wavy/dynamics.py and wavy/residual.py.
 * A state is an array of N tokens, each an array of channels.
 */
const Dynamics = (() => {
  const diffusion = (x, ax, tau) => tau * ax + (1 - tau) * x;
  const mix = (wave, x, ax, { tau, lam }) => lam * wave + (1 - lam) * diffusion(x, ax, tau);

  /** One entry of (W): the next state and the next velocity. */
  function wave(x, ax, y, tau) {
    const velocity = y + tau * (ax - x);
    return [x + tau * velocity, velocity];
  }

  /** One entry of a layer: (state, A X, memory) to (state, memory). The memory is a velocity or the previous state. */
  const STEPS = {
    diffusion: (x, ax, memory, { tau }) => [diffusion(x, ax, tau), memory],
    full: (x, ax, velocity, { tau }) => wave(x, ax, velocity, tau),
    light: (x, ax, previous, { tau, lam }) => [diffusion(x, ax, tau) + lam * (x - previous), x],
    mix_full: (x, ax, velocity, setting) => {
      const [state, next] = wave(x, ax, velocity, setting.tau);
      return [mix(state, x, ax, setting), next];
    },
    mix_light: (x, ax, previous, setting) =>
      [mix(x + setting.tau ** 2 * (ax - x) + (x - previous), x, ax, setting), x],
  };
  const WITH_VELOCITY = ["full", "mix_full"];

  const entrywise = (state, entry) => state.map((token, i) => token.map((x, c) => entry(x, i, c)));

  function product(attention, state) {
    const column = (row, c) => row.reduce((sum, weight, j) => sum + weight * state[j][c], 0);
    return attention.map((row) => state[0].map((_, c) => column(row, c)));
  }

  /** The states X^0 ... X^L under one kind with frozen attention; the memory starts at rest. */
  function states(kind, attention, start, layers, setting) {
    const found = [start];
    let state = start;
    let memory = WITH_VELOCITY.includes(kind) ? entrywise(start, () => 0) : start;
    for (let layer = 0; layer < layers; layer += 1) {
      const ax = product(attention, state);
      const pairs = entrywise(state, (x, i, c) => STEPS[kind](x, ax[i][c], memory[i][c], setting));
      state = entrywise(pairs, (pair) => pair[0]);
      memory = entrywise(pairs, (pair) => pair[1]);
      found.push(state);
    }
    return found;
  }

  return { states };
})();
