"use strict";

/** Start every interactive figure of the page, and draw it anew when the theme changes. */
{
  function start(section) {
    const data = JSON.parse(section.querySelector('script[type="application/json"]').textContent);
    const figure = Controls.element("div", { className: "explorable-figure" });
    section.prepend(figure);
    try {
      const explorable = Explorables[section.dataset.explorable](figure, data);
      explorable.draw();
      section.explorable = explorable;
      section.classList.add("explorable-live"); // from here on the static picture is hidden
    } catch (error) {
      figure.remove(); // the static picture stays
      throw error;
    }
  }

  const sections = [...document.querySelectorAll("[data-explorable]")];
  sections.forEach(start);
  const redraw = () => sections.forEach((section) => section.explorable.draw());
  new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
}
