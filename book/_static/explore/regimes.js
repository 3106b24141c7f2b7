"use strict";

/** In words: what a mode does, and which side of its kind's bound it is on. */
const Regimes = (() => {
  const CLOSE = 1e-9;
  const side = (value, bound) => (Math.abs(value - bound) < CLOSE ? "at" : value < bound ? "below" : "beyond");

  /** What the greatest modulus says. */
  function fate(roots) {
    const [first, second] = roots;
    const largest = Spectrum.modulus(first);
    if (largest > 1 + CLOSE) return `The mode grows: |z| = ${Format.short(largest)}.`;
    if (largest < 1 - CLOSE) return `The mode fades: |z| = ${Format.short(largest)}.`;
    const double = second && Math.hypot(first[0] - second[0], first[1] - second[1]) < 1e-6;
    return double ? "|z| = 1 twice: linear growth is possible." : "|z| = 1: the mode neither grows nor fades.";
  }

  /** What a mode with real roots does, judged by the larger one. */
  const manner = ([[real]]) => (real < 0 ? "the mode changes its sign in every layer" : "the mode does not swing");

  /** The CFL bound of the wave, or whether a momentum oscillates. */
  function condition(kind, [real, imaginary], { tau, lam, roots }) {
    if (imaginary !== 0) return "μ is complex, so the bounds for real μ do not apply.";
    if (real < 0) return "μ is negative: the mode grows at any step.";
    if (kind === "diffusion") return `τμ = ${Format.short(tau * real)}: ${side(tau * real, 2)} the bound 2.`;
    if (kind === "full") return `τ²μ = ${Format.short(tau ** 2 * real)}: ${side(tau ** 2 * real, 4)} the CFL bound 4.`;
    const [name, sum, four] = oscillation(kind, real, { tau, lam });
    const swings = sum < four - CLOSE;
    const double = Math.abs(sum - four) < CLOSE;
    const sign = double ? "=" : swings ? "<" : ">";
    // Where three digits cannot tell the two apart, the numbers would contradict the sign.
    const [left, right] = [sum, four].map(Format.short);
    const numbers = double || left !== right ? `${left} ${sign} ${right}` : `${left}, by a little ${sign} ${right}`;
    const count = double ? "one double root" : "two real roots";
    const meaning = swings ? "a complex pair, the mode swings" : `${count}, ${manner(roots)}`;
    return `${name}: ${numbers}, ${meaning}.`;
  }

  /** The discriminant of eq-roots as b^2 against 4c. */
  function oscillation(kind, mu, { tau, lam }) {
    const step = lam * tau ** 2 + (1 - lam) * tau;
    return {
      light: ["(1 + λ − τμ)² against 4λ", (1 + lam - tau * mu) ** 2, 4 * lam],
      mix_light: ["(1 + λ − hμ)² against 4λ", (1 + lam - step * mu) ** 2, 4 * lam],
      mix_full: ["(2 − hμ)² against 4 − 4(1 − λ)τμ", (2 - step * mu) ** 2, 4 - 4 * (1 - lam) * tau * mu],
    }[kind];
  }

  return { fate, condition };
})();
