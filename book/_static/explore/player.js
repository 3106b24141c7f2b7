"use strict";

/** Play, step and reset for a slider that counts from 0 to `last`. */
const Player = (slider, last, changed) => {
  const MILLISECONDS = matchMedia("(prefers-reduced-motion: reduce)").matches ? 1000 : 140;
  let timer = null;

  const play = Controls.button("Play", () => (timer === null ? start() : goTo(slider.value)));
  const step = Controls.button("Step", () => goTo(slider.value + 1));
  const reset = Controls.button("Reset", () => goTo(0));

  function start() {
    if (slider.value === last) slider.value = 0;
    timer = setInterval(advance, MILLISECONDS);
    play.textContent = "Pause";
    changed();
  }

  function advance() {
    if (slider.value + 1 >= last) goTo(last);
    else {
      slider.value += 1;
      changed();
    }
  }

  /** Stop at a value. */
  function goTo(value) {
    clearInterval(timer);
    timer = null;
    play.textContent = "Play";
    slider.value = value;
    changed();
  }

  return {
    element: Controls.element("div", { className: "explorable-buttons" }, play, step, reset),
    get playing() {
      return timer !== null;
    },
  };
};
