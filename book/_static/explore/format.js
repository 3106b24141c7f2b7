"use strict";

/** Numbers as a reader sees them. */
const Format = (() => {
  const superscript = (whole) => [...String(whole)].map((sign) => (sign === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[sign])).join("");

  /** Three significant digits, as a power of ten where the number is very small or large. */
  function short(value) {
    const size = Math.abs(value);
    if (value === 0) return "0";
    if (size < 1e-12) return "< 10⁻¹²";
    if (size >= 1e-3 && size < 1e4) return value.toPrecision(3).replace("-", "−");
    const [digits, exponent] = value.toExponential(1).split("e");
    return `${digits.replace("-", "−")} · 10${superscript(Number(exponent))}`;
  }

  const fixed = (value) => value.toFixed(2).replace("-", "−");

  /** A complex number [real, imaginary]. */
  function complex([real, imaginary]) {
    if (Math.abs(imaginary) < 1e-12) return short(real);
    const sign = imaginary < 0 ? "−" : "+";
    return [short(real), sign, short(Math.abs(imaginary)), "i"].join("\u00a0");
  }

  /** Ten to the power of `exponent`. */
  function power(exponent) {
    if (exponent === 0) return "1";
    return Number.isInteger(exponent) ? `10${superscript(exponent)}` : short(10 ** exponent);
  }

  return { short, fixed, complex, power };
})();
