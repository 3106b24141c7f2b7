"use strict";

/** Native controls, so that the keyboard and screen readers work as everywhere. */
const Controls = (() => {
  const SYMBOLS = { circle: "●", square: "■", "triangle-up": "▲", diamond: "◆", "triangle-down": "▼" };
  let count = 0;

  /** A new element with the given properties, its children appended. */
  function element(tag, properties = {}, ...children) {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  }

  /** A range input with its label and its value. */
  function slider({ label, min, max, step, value, format = Format.fixed }, changed) {
    const id = `explorable-${(count += 1)}`;
    const input = element("input", { type: "range", id, min, max, step, value });
    const output = element("output");
    output.setAttribute("for", id);
    const show = () => {
      output.textContent = format(Number(input.value));
      input.setAttribute("aria-valuetext", output.textContent);
    };
    input.addEventListener("input", () => {
      show();
      changed();
    });
    show();
    const caption = element("label", { htmlFor: id, textContent: label });
    return {
      element: element("div", { className: "explorable-slider" }, caption, input, output),
      get value() {
        return Number(input.value);
      },
      set value(next) {
        input.value = next;
        show();
      },
      set disabled(flag) {
        input.disabled = flag;
      },
    };
  }

  /** One radio button a residual kind, in its colour and with its symbol: choice and legend in one. */
  function kindChooser(kinds, value, changed) {
    const name = `explorable-${(count += 1)}`;
    const radios = kinds.map((kind) =>
      element("input", { type: "radio", name, value: kind.name, checked: kind.name === value }));
    const labels = kinds.map((kind, i) => {
      const symbol = element("span", { className: "explorable-symbol", textContent: SYMBOLS[kind.symbol] });
      symbol.setAttribute("aria-hidden", "true");
      symbol.style.color = Plot.colourOf(kind);
      return element("label", {}, radios[i], symbol, kind.label);
    });
    radios.forEach((radio) => radio.addEventListener("change", changed));
    const legend = element("legend", { className: "visually-hidden", textContent: "Residual kind" });
    return {
      element: element("fieldset", { className: "explorable-kinds" }, legend, ...labels),
      get kind() {
        return kinds[radios.findIndex((radio) => radio.checked)];
      },
    };
  }

  const button = (label, pressed) => {
    const made = element("button", { type: "button", textContent: label });
    made.addEventListener("click", pressed);
    return made;
  };

  /** What stands below the plots: read out when it changes, unless it changes by itself. */
  const readout = () => element("p", { className: "explorable-readout", role: "status" });

  return { element, slider, kindChooser, button, readout };
})();
