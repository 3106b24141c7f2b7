"use strict";

/** LayerNorm and mlp of one token with their velocities, as in wavy/layers/; the activation is GELU. */
const Layers = (() => {
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const product = (row, matrix) => matrix[0].map((_, k) => row.reduce((sum, v, j) => sum + v * matrix[j][k], 0));
  const plus = (a, b) => a.map((value, i) => value + b[i]);

  /** xhat = r (x - m) and the factor r = 1/sqrt(s^2 + eps). */
  function normalised(x, eps) {
    const centred = x.map((value) => value - mean(x));
    const scale = 1 / Math.sqrt(mean(centred.map((value) => value ** 2)) + eps);
    return { xHat: centred.map((value) => value * scale), scale };
  }

  const layerNorm = (x, { gamma, beta, eps }) =>
    normalised(x, eps).xHat.map((value, i) => gamma[i] * value + beta[i]);

  /** LN_v: the factor alone. */
  function layerNormVelocity(x, y, { gamma, eps }) {
    const { scale } = normalised(x, eps);
    return y.map((value, i) => gamma[i] * scale * value);
  }

  /** The whole derivative of LayerNorm along y. */
  function layerNormDerivative(x, y, { gamma, eps }) {
    const { xHat, scale } = normalised(x, eps);
    const along = mean(xHat.map((value, i) => value * y[i]));
    return y.map((value, i) => gamma[i] * scale * (value - mean(y) - xHat[i] * along));
  }

  /** erf by its series of positive terms, 2/sqrt(pi) exp(-x^2) sum_n 2^n x^(2n+1) / (2n+1)!! */
  function erf(x) {
    if (Math.abs(x) > 6) return Math.sign(x);
    let term = x;
    let sum = x;
    for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n += 1) {
      term *= (2 * x * x) / (2 * n + 1);
      sum += term;
    }
    return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
  }

  const gelu = (h) => (h / 2) * (1 + erf(h / Math.SQRT2));
  const geluPrime = (h) => (1 + erf(h / Math.SQRT2)) / 2 + (h * Math.exp((-h * h) / 2)) / Math.sqrt(2 * Math.PI);

  const hidden = (x, { w1, b1 }) => plus(product(x, w1), b1);
  const mlp = (x, layer) => plus(product(hidden(x, layer).map(gelu), layer.w2), layer.b2);

  /** FFN_v: the derivative of the mlp along y. */
  function mlpVelocity(x, y, layer) {
    const slope = hidden(x, layer).map(geluPrime);
    return product(product(y, layer.w1).map((value, i) => slope[i] * value), layer.w2);
  }

  return { normalised, layerNorm, layerNormVelocity, layerNormDerivative, mlp, mlpVelocity };
})();
