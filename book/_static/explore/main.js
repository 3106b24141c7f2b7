"use strict";

/** Start every interactive figure of the page, and draw it anew when the theme changes. */
{
  const started = [...document.querySelectorAll("[data-explorable]")].map((section) => {
    const data = JSON.parse(section.querySelector('script[type="application/json"]').textContent);
    const figure = Controls.element("div", { className: "explorable-figure" });
    section.prepend(figure);
    section.explorable = Explorables[section.dataset.explorable](figure, data);
    section.classList.add("explorable-live"); // from here on the static picture is hidden
    return section.explorable;
  });
  new MutationObserver(() => started.forEach(({ draw }) => draw())).observe(document.documentElement, {
    attributeFilter: ["data-theme"],
  });
}
