"use strict";

/** The factors z of a mode, as wavy.dynamics.mode_factors. A complex number is a pair [real, imaginary]. */
const Spectrum = (() => {
  const plus = (a, b) => [a[0] + b[0], a[1] + b[1]];
  const times = (a, b) => [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]];
  const scaled = (a, factor) => [factor * a[0], factor * a[1]];
  const modulus = (a) => Math.hypot(a[0], a[1]);

  function quotient(a, b) {
    const square = b[0] ** 2 + b[1] ** 2;
    return scaled(times(a, [b[0], -b[1]]), 1 / square);
  }

  function squareRoot(a) {
    const half = Math.sqrt((Math.abs(a[0]) + modulus(a)) / 2);
    if (half === 0) return [0, 0];
    const other = a[1] / (2 * half);
    return a[0] >= 0 ? [half, other] : [Math.abs(other), a[1] < 0 ? -half : half];
  }

  /** Sum and product of the two roots of a kind: the table below eq-roots. */
  function sumAndProduct(kind, mu, { tau, lam }) {
    const step = lam * tau ** 2 + (1 - lam) * tau;
    const linear = (constant, slope) => plus([constant, 0], scaled(mu, -slope));
    return {
      full: () => [linear(2, tau ** 2), [1, 0]],
      light: () => [linear(1 + lam, tau), [lam, 0]],
      mix_full: () => [linear(2, step), linear(1, (1 - lam) * tau)],
      mix_light: () => [linear(1 + lam, step), [lam, 0]],
    }[kind]();
  }

  /** Roots of z^2 - total z + product, the larger modulus first; of a conjugate pair, the upper one first. */
  function monicRoots(total, product) {
    let root = squareRoot(plus(times(total, total), scaled(product, -4)));
    // The sign that adds to |total| avoids cancellation; the other root then follows from the product.
    if (total[0] * root[0] + total[1] * root[1] < 0) root = scaled(root, -1);
    const first = scaled(plus(total, root), 0.5);
    const second = modulus(first) === 0 ? [0, 0] : quotient(product, first);
    const tie = Math.abs(modulus(first) - modulus(second)) <= 1e-12 * modulus(first);
    const swap = tie ? second[1] > first[1] : modulus(second) > modulus(first);
    return swap ? [second, first] : [first, second];
  }

  /** The roots z of a mode with eigenvalue mu of L = I - A. */
  function modeFactors(kind, mu, setting) {
    if (kind === "diffusion") return [plus([1, 0], scaled(mu, -setting.tau))];
    return monicRoots(...sumAndProduct(kind, mu, setting));
  }

  return { modeFactors, modulus };
})();
