// One panel as SVG. Colours are custom properties of the style sheet, so that they follow the reader's scheme.
const SVG = "http://www.w3.org/2000/svg";
const DASHES = { solid: "", dash: "7 4", dot: "2 3", dashdot: "7 3 2 3" };
const SYMBOL_RADIUS = 3.4, SMALL_RADIUS = 1.6, MANY_POINTS = 200;
const BUBBLE_RADIUS = 11;  // of the largest one
const SPACED = 8;  // symbols along a line that is told apart by them
const X_ROOM = 24, EVEN_X_ROOM = 64, Y_ROOM = 26;  // pixels between labels; words beside each other need more
const HATCHES = ["", "M0 6L6 0", "M0 0L6 6M0 6L6 0", "M0 0L6 6", "M2 3h2", "M0 3h6", "M0 3h6M3 0v6", "M3 0v6"];

const SHAPES = {
  circle: function (r) { return "m" + -r + " 0a" + r + " " + r + " 0 1 0 " + 2 * r + " 0a" + r + " " + r + " 0 1 0 " + -2 * r + " 0z"; },
  square: function (r) { return "m" + -r + " " + -r + "h" + 2 * r + "v" + 2 * r + "h" + -2 * r + "z"; },
  diamond: function (r) { const s = 1.35 * r; return "m0 " + -s + "l" + s + " " + s + " " + -s + " " + s + " " + -s + " " + -s + "z"; },
  cross: function (r) {
    const w = 0.45 * r, s = 1.25 * r, l = s - w;
    return "m" + -w + " " + -s + "h" + 2 * w + "v" + l + "h" + l + "v" + 2 * w + "h" + -l + "v" + l + "h" + -2 * w +
      "v" + -l + "h" + -l + "v" + -2 * w + "h" + l + "z";
  },
  "triangle-up": function (r) { const s = 1.3 * r; return "m0 " + -s + "l" + s + " " + 1.8 * s + "h" + -2 * s + "z"; },
  "triangle-down": function (r) { const s = 1.3 * r; return "m0 " + s + "l" + s + " " + -1.8 * s + "h" + -2 * s + "z"; },
  x: function (r) { return "m" + -r + " " + -r + "l" + 2 * r + " " + 2 * r + "m0 " + -2 * r + "l" + -2 * r + " " + 2 * r; },
};
const ruler = document.createElement("canvas").getContext("2d");
ruler.font = "11px system-ui, sans-serif";

function textWidth(text) { return ruler.measureText(text).width; }
function widest(texts) { return texts.reduce(function (most, text) { return Math.max(most, textWidth(text)); }, 0); }
function colour(name) { return "var(--" + name + ")"; }
function made(name, attributes, parent, text) {
  const element = document.createElementNS(SVG, name);
  Object.keys(attributes).forEach(function (key) { element.setAttribute(key, attributes[key]); });
  if (text !== undefined) element.textContent = text;
  if (parent) parent.append(element);
  return element;
}
function place(x, y) { return x.toFixed(1) + " " + y.toFixed(1); }

// What is drawn, and what pointing at it needs: {svg, box, x, y} with scales and the panel's inner box in pixels.
function drawPanel(id, panel, width, view, hidden) {
  const svg = made("svg", {
    width: width, height: panel.height, viewBox: "0 0 " + width + " " + panel.height, "aria-hidden": "true",
    "font-family": "system-ui, sans-serif", "font-size": 11,
  });
  const shown = (panel.curves || []).filter(function (curve) { return !hidden.has(curve.label); });
  const axes = axesOf(panel, width, view, shown.length ? shown : panel.curves || []);
  made("rect", { x: axes.box.left, y: axes.box.top, width: axes.box.width, height: axes.box.height },
    made("clipPath", { id: "clip-" + id }, made("defs", {}, svg)));
  drawAxes(svg, panel, axes);
  const inside = made("g", { "clip-path": "url(#clip-" + id + ")", class: "inside" }, svg);
  const rows = [];  // where the words of upright marks end, by their row
  (panel.marks || []).forEach(function (mark) { drawMark(inside, mark, axes, rows); });
  if (panel.heat) drawHeat(inside, panel.heat, axes);
  if (panel.stack) drawStack(inside, id, panel.stack, axes);
  shown.forEach(function (curve) { drawCurve(inside, curve, axes); });
  return { svg: svg, box: axes.box, x: axes.x, y: axes.y, shown: shown };
}

// A matrix and bars have names on their axes, in the middle of each row; rows begin at the top.
function namesOf(panel) {
  if (panel.heat) return [{ ...panel.x, names: panel.heat.columns }, { ...panel.y, names: panel.heat.rows }];
  if (panel.stack) return [panel.x, { ...panel.y, names: panel.stack.labels }];
  return [panel.x, panel.y];
}
function axesOf(panel, width, view, curves) {
  const [xAxis, yAxis] = namesOf(panel);
  const top = 10, right = 14;
  const xRange = (view && view.x) || rangeOf(xAxis, curves.flatMap(function (c) { return c.x; }));
  const yRange = (view && view.y) || rangeOf(yAxis, curves.flatMap(function (c) { return [...(c.y || []), ...(c.low || []), ...(c.high || [])]; }));
  const downwards = panel.heat || panel.stack || yAxis.low > yAxis.high;
  const names = xAxis.names ? widest(xAxis.names) : 0;
  const guess = (width - 60) / (xAxis.names || [1]).length;
  const leaning = xAxis.names !== undefined && names > guess * 0.95;
  const bottom = (leaning ? Math.min(100, 12 + names * 0.6) : 22) + (xAxis.label ? 18 : 0);
  const height = Math.max(40, panel.height - top - bottom);
  const y = scaleOf(yAxis, yRange[0], yRange[1], downwards ? top : top + height, downwards ? top + height : top);
  const yTicks = ticksOf(yAxis, y, yAxis.names ? 12 : Y_ROOM);
  const words = Math.min(widest(yTicks.map(function (t) { return t[1]; })), width * 0.4);
  const left = words + 12 + (yAxis.label ? 18 : 0);
  const x = scaleOf(xAxis, xRange[0], xRange[1], left, Math.max(left + 40, width - right));
  const least = xAxis.log || xAxis.names ? X_ROOM : EVEN_X_ROOM;
  let xTicks = ticksOf(xAxis, x, leaning ? 13 : least);
  for (let room = least; !leaning && room < 200 && crowded(xTicks, x); room += 12) xTicks = ticksOf(xAxis, x, room);
  return {
    box: { left: left, top: top, width: Math.max(40, width - right - left), height: height },
    x: x, y: y, xTicks: xTicks, yTicks: yTicks, words: words, leaning: leaning, xAxis: xAxis, yAxis: yAxis,
  };
}
function crowded(ticks, scale) {
  return ticks.some(function (tick, i) {
    return i > 0 && scale.at(tick[0]) - scale.at(ticks[i - 1][0]) < (textWidth(tick[1]) + textWidth(ticks[i - 1][1])) / 2 + 8;
  });
}

function drawAxes(svg, panel, axes) {
  const box = axes.box, foot = box.top + box.height, bare = Boolean(panel.heat);
  const words = { fill: colour("quiet") };
  axes.xTicks.forEach(function (tick) {
    const at = axes.x.at(tick[0]);
    if (!bare && !axes.xAxis.names) line(svg, at, box.top, at, foot, "grid");
    if (!bare) line(svg, at, foot, at, foot + 4, "line");
    const turn = axes.leaning ? { "text-anchor": "end", transform: "rotate(-35 " + place(at, foot + 12) + ")" } : { "text-anchor": "middle" };
    made("text", { x: at.toFixed(1), y: (foot + 16).toFixed(1), ...words, ...turn }, svg, tick[1]);
  });
  axes.yTicks.forEach(function (tick) {
    const at = axes.y.at(tick[0]);
    if (!axes.yAxis.names) line(svg, box.left, at, box.left + box.width, at, "grid");
    if (!bare) line(svg, box.left - 4, at, box.left, at, "line");
    made("text", { x: box.left - 7, y: (at + 4).toFixed(1), "text-anchor": "end", ...words }, svg, shortened(tick[1], axes.words));
  });
  if (!bare) {
    line(svg, box.left, box.top, box.left, foot, "line");
    line(svg, box.left, foot, box.left + box.width, foot, "line");
  }
  const title = { "text-anchor": "middle", "font-size": 12, ...words };
  if (panel.x.label) made("text", { x: box.left + box.width / 2, y: panel.height - 5, ...title }, svg, panel.x.label);
  if (panel.y.label) {
    const at = box.top + box.height / 2;
    made("text", { x: 11, y: at, transform: "rotate(-90 11 " + at + ")", ...title }, svg, panel.y.label);
  }
}
function shortened(text, most) {
  let end = text.length;
  while (end > 4 && textWidth(text.slice(0, end)) > most + 1) end -= 1;
  return end < text.length ? text.slice(0, end - 1) + "…" : text;
}
function line(parent, x1, y1, x2, y2, name, more) {
  made("path", { d: "M" + place(x1, y1) + "L" + place(x2, y2), stroke: colour(name), fill: "none", ...more }, parent);
}
function drawMark(parent, mark, axes, rows) {
  const box = axes.box, upright = mark.along === "x";
  const at = axes[mark.along].at(mark.value);
  const ends = upright ? [at, box.top, at, box.top + box.height] : [box.left, at, box.left + box.width, at];
  line(parent, ...ends, mark.colour, { "stroke-dasharray": DASHES[mark.dash], class: "mark" });
  if (!mark.label) return;
  const wide = textWidth(mark.label) + 8;
  const late = upright && at + wide > box.left + box.width;
  const from = late ? at - wide : at;
  let row = rows.findIndex(function (end) { return end <= from; });
  if (row < 0) row = rows.length;
  if (upright) rows[row] = from + wide;
  made("text", {
    x: upright ? at + (late ? -4 : 4) : box.left + box.width - 3, y: upright ? box.top + 11 + 12 * row : at - 4,
    "text-anchor": upright && !late ? "start" : "end", fill: colour("quiet"),
  }, parent, mark.label);
}

// Points as pixels; null where a line breaks.
function pixelsOf(curve, heights, axes) {
  return curve.x.map(function (x, i) {
    const y = heights[i];
    const lost = x === null || y === null || (axes.xAxis.log && x <= 0) || (axes.yAxis.log && y <= 0);
    return lost ? null : [axes.x.at(x), axes.y.at(y)];
  });
}
function drawCurve(parent, curve, axes) {
  const group = made("g", { class: "curve", "data-label": curve.label }, parent);
  if (curve.draw === "area") return drawArea(group, curve, axes);
  if (curve.opacity !== undefined) group.setAttribute("opacity", curve.opacity);
  const pixels = pixelsOf(curve, curve.y, axes);
  if (curve.draw !== "points") {
    made("path", { class: "line", d: lineThrough(pixels, curve.draw === "step"), ...strokeOf(curve) }, group);
  }
  if (curve.low) drawIntervals(group, curve, axes);
  const places = curve.spaced ? spacedPlaces(pixels) : pixels;
  if (curve.spaced || curve.draw.includes("points")) {
    const radius = curve.x.length > MANY_POINTS && !curve.spaced ? SMALL_RADIUS : SYMBOL_RADIUS;
    made("path", { class: "points", d: symbolsAt(places, curve, radius), ...inkOf(curve) }, group);
  }
}
function inkOf(curve) {
  if (curve.hollow) return { fill: "none", stroke: colour(curve.colour), "stroke-width": 1.6 };
  return { fill: colour(curve.colour), stroke: curve.areas ? "none" : colour(curve.colour) };
}
function strokeOf(curve) {
  return {
    fill: "none", stroke: colour(curve.colour), "stroke-width": curve.width || 1.6, "stroke-linejoin": "round",
    "stroke-dasharray": DASHES[curve.dash || "solid"],
  };
}
function lineThrough(pixels, steps) {
  let path = "", before = null;
  pixels.forEach(function (at) {
    if (at && !before) path += "M" + place(at[0], at[1]);
    else if (at) path += (steps ? "H" + at[0].toFixed(1) + "V" + at[1].toFixed(1) : "L" + place(at[0], at[1]));
    before = at;
  });
  return path;
}
function spacedPlaces(pixels) {
  const known = pixels.filter(Boolean);
  const step = Math.max(1, Math.floor(known.length / SPACED));
  return known.filter(function (_, i) { return i % step === step >> 1; });
}
function symbolsAt(places, curve, radius) {
  const shape = SHAPES[curve.symbol || "circle"];
  return places.map(function (at, i) {
    if (!at) return "";
    const r = curve.areas ? Math.max(1, BUBBLE_RADIUS * Math.sqrt(curve.areas[i])) : radius;
    return "M" + place(at[0], at[1]) + shape(r);
  }).join("");
}
function drawIntervals(group, curve, axes) {
  const low = pixelsOf(curve, curve.low, axes), high = pixelsOf(curve, curve.high, axes);
  const bars = low.map(function (from, i) {
    const to = high[i];
    if (!from || !to) return "";
    return "M" + place(from[0] - 3, from[1]) + "h6m-3 0L" + place(to[0], to[1]) + "m-3 0h6";
  });
  made("path", { class: "intervals", d: bars.join(""), fill: "none", stroke: colour(curve.colour), "stroke-width": 1.2 }, group);
}
function drawArea(group, curve, axes) {
  const low = pixelsOf(curve, curve.low, axes), high = pixelsOf(curve, curve.high, axes);
  const known = low.map(function (at, i) { return at && high[i] ? i : -1; }).filter(function (i) { return i >= 0; });
  const edge = known.map(function (i) { return high[i]; }).concat(known.reverse().map(function (i) { return low[i]; }));
  made("path", { class: "area", d: lineThrough(edge, false) + "z", fill: colour(curve.colour), opacity: curve.opacity === undefined ? 1 : curve.opacity }, group);
}

function drawHeat(parent, heat, axes) {
  const width = Math.abs(axes.x.at(1) - axes.x.at(0)), height = Math.abs(axes.y.at(1) - axes.y.at(0));
  const gap = heat.shown ? 2 : 0;
  heat.shares.forEach(function (row, r) {
    row.forEach(function (share, c) {
      if (share === null) return;
      const strength = Math.min(1, Math.max(0, (share - heat.least) / (heat.strongest - heat.least || 1)));
      const box = {
        x: (axes.x.at(c) - width / 2).toFixed(1), width: Math.max(0.5, width - gap).toFixed(1),
        y: (axes.y.at(r) - height / 2).toFixed(1), height: Math.max(0.5, height - 2).toFixed(1),
      };
      made("rect", { ...box, fill: colour("panel") }, parent);
      made("rect", { class: "cell", ...box, fill: colour("heat"), "fill-opacity": strength.toFixed(3) }, parent);
      const words = heat.words[r][c];
      if (!heat.shown || !words || textWidth(words) > width) return;
      made("text", { x: axes.x.at(c).toFixed(1), y: (axes.y.at(r) + 4).toFixed(1), "text-anchor": "middle", fill: colour("ink") }, parent, words);
    });
  });
}
function drawStack(parent, id, stack, axes) {
  const height = Math.abs(axes.y.at(1) - axes.y.at(0)) * 0.75;
  const ends = stack.labels.map(function () { return 0; });
  stack.parts.forEach(function (part, number) {
    const fill = hatched(parent, id + "-" + number, part[1], number);
    part[2].forEach(function (length, bar) {
      const from = axes.x.at(ends[bar]), to = axes.x.at(ends[bar] + length);
      ends[bar] += length;
      made("rect", {
        class: "part", x: from.toFixed(1), y: (axes.y.at(bar) - height / 2).toFixed(1), width: Math.max(0, to - from).toFixed(1), height: height.toFixed(1), fill: fill,
      }, parent);
    });
  });
}
// Parts of a bar differ in more than colour.
function hatched(parent, id, name, number) {
  const hatch = HATCHES[number % HATCHES.length];
  if (!hatch) return colour(name);
  const pattern = made("pattern", { id: "hatch-" + id, width: 6, height: 6, patternUnits: "userSpaceOnUse" }, parent);
  made("rect", { width: 6, height: 6, fill: colour(name) }, pattern);
  made("path", { d: hatch, stroke: colour("page"), "stroke-width": 0.9 }, pattern);
  return "url(#hatch-" + id + ")";
}

// The names in a legend, each once: [name, draws its sample into an SVG of 26 by 12 pixels].
function legendOf(id, panel) {
  if (panel.stack) {
    return panel.stack.parts.map(function (part, number) {
      return [part[0], function (svg) {
        made("rect", { x: 2, width: 22, height: 12, fill: hatched(svg, id + "-legend-" + number, part[1], number) }, svg);
      }];
    });
  }
  const first = new Map();
  (panel.curves || []).forEach(function (curve) {
    if (curve.in_legend !== false && !first.has(curve.label)) first.set(curve.label, curve);
  });
  if (first.size < 2) return [];
  return [...first].map(function (entry) { return [entry[0], function (svg) { drawSample(svg, entry[1]); }]; });
}
function drawSample(svg, curve) {
  if (curve.draw === "area") {
    made("rect", { x: 2, width: 22, height: 12, fill: colour(curve.colour), opacity: Math.max(0.3, curve.opacity || 1) }, svg);
    return;
  }
  if (curve.draw !== "points") made("path", { d: "M1 6H25", ...strokeOf(curve) }, svg);
  if (curve.spaced || curve.draw.includes("points")) {
    made("path", { d: symbolsAt([[13, 6]], { symbol: curve.symbol }, SYMBOL_RADIUS), ...inkOf(curve) }, svg);
  }
}
