"use strict";
(function () {
  const root = document.documentElement;
  const panels = JSON.parse(document.getElementById("panels").textContent);
  const printing = window.matchMedia("print");
  const narrow = window.matchMedia("(max-width: 46rem)");
  const coarse = window.matchMedia("(pointer: coarse)");
  const PRINTED_WIDTH = 640;

  // "@name" or "@name/opacity" in a key that ends in "color" or in a "colorscale" is a colour of the style sheet.
  function colour(text, styles) {
    const parts = text.slice(1).split("/");
    const hex = styles.getPropertyValue("--" + parts[0]).trim();
    if (parts.length === 1) return hex;
    const bytes = [1, 3, 5].map(function (i) { return parseInt(hex.slice(i, i + 2), 16); });
    return "rgba(" + bytes.join(",") + "," + parts[1] + ")";
  }
  function coloured(value, key, styles) {
    if (typeof value === "string") {
      return value[0] === "@" && /color(scale)?$/.test(key) ? colour(value, styles) : value;
    }
    if (Array.isArray(value)) {
      return typeof value[0] === "object" || key === "colorscale"
        ? value.map(function (v) { return coloured(v, key, styles); }) : value;
    }
    if (value === null || typeof value !== "object") return value;
    const made = {};
    Object.keys(value).forEach(function (k) { made[k] = coloured(value[k], k, styles); });
    return made;
  }

  function draw(id) {
    const place = document.getElementById(id);
    const panel = coloured(panels[id], "", getComputedStyle(root));
    if (printing.matches) panel.layout.width = PRINTED_WIDTH;
    if (narrow.matches) panel.layout.xaxis.nticks = 5;
    panel.layout.dragmode = coarse.matches ? false : "zoom";
    window.Plotly.react(place, panel.data, panel.layout,
      { responsive: true, displaylogo: false, displayModeBar: false });
    if (!place.dataset.listens) {
      place.dataset.listens = "yes";
      place.on("plotly_relayout", function (change) { relabel(place, change); });
    }
  }

  // Labels are set for the whole axis; a part of it that was zoomed into gets plotly's own.
  function relabel(place, change) {
    const wanted = {};
    ["xaxis", "yaxis"].forEach(function (axis) {
      if (!place.layout[axis].tickvals || place.layout.barmode) return;
      if (change[axis + ".range[0]"] !== undefined) wanted[axis + ".tickmode"] = "auto";
      if (change[axis + ".autorange"]) wanted[axis + ".tickmode"] = "array";
    });
    if (Object.keys(wanted).length) window.Plotly.relayout(place, wanted);
  }
  function drawAll() {
    Object.keys(panels).forEach(draw);
  }

  const waiting = Object.keys(panels);
  function next() {
    const id = waiting.shift();
    if (id === undefined) {
      const ruler = document.getElementById("js-plotly-tester");  // plotly's own, to measure words
      if (ruler) ruler.setAttribute("aria-hidden", "true");
      root.dataset.plots = "drawn";
      return;
    }
    try {
      draw(id);
    } catch (error) {
      document.getElementById(id).textContent =
        "This plot could not be drawn; its numbers are in the table below.";
      console.error(id, error);
    }
    window.setTimeout(next, 0);
  }
  next();
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  printing.addEventListener("change", drawAll);
})();
