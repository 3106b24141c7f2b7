"use strict";

/** Measures of over-smoothing, as in wavy/diagnostics/state.py. */
const Measures = (() => {
  /** sum_i |x_i - mean(x)|^2 */
  function spread(state) {
    const mean = state[0].map((_, c) => state.reduce((sum, token) => sum + token[c], 0) / state.length);
    const squares = state.map((token) => token.reduce((sum, x, c) => sum + (x - mean[c]) ** 2, 0));
    return squares.reduce((sum, square) => sum + square, 0);
  }

  /** Mean squared distance over all ordered pairs of tokens. */
  const dirichletEnergy = (state) => (2 * spread(state)) / state.length;

  /** Mean cosine over all pairs of different tokens. */
  function meanCosine(state) {
    const unit = state.map((token) => token.map((x) => x / Math.hypot(...token)));
    return 1 - spread(unit) / (state.length - 1);
  }

  return { dirichletEnergy, meanCosine };
})();
