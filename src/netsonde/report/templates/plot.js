// A plot that can be pointed at, enlarged, taken apart by its legend and saved.
const NEAR = 30;  // pixels from a point at which it is told
const LEAST_DRAG = 8;
const PRINTED_WIDTH = 640, UNSEEN_WIDTH = 600;
const printing = window.matchMedia("print");
const tip = document.createElement("div");
tip.className = "tip";
tip.hidden = true;
document.querySelector("main").append(tip);

function Plot(id, panel) {
  const where = document.getElementById(id);
  const plot = { id: id, panel: panel, where: where, view: null, hidden: new Set(), drawn: null, draw: draw, width: 0 };
  const tools = addTools(plot);
  addLegend(plot);
  draw();
  where.addEventListener("pointermove", function (event) { if (!event.buttons) point(plot, event); });
  where.addEventListener("pointerleave", function () { unpoint(plot); });
  where.addEventListener("pointerdown", function (event) { beginDrag(plot, event); });
  where.addEventListener("dblclick", function () { show(null); });
  plot.show = show;
  new ResizeObserver(function () {
    if (!printing.matches && where.clientWidth && where.clientWidth !== plot.width) draw();
  }).observe(where);
  return plot;

  function draw() {
    plot.width = printing.matches ? PRINTED_WIDTH : where.clientWidth || UNSEEN_WIDTH;
    plot.drawn = drawPanel(id, panel, plot.width, plot.view, plot.hidden);
    where.replaceChildren(plot.drawn.svg);
  }
  function show(view) {
    plot.view = view;
    tools.all.hidden = !view;
    draw();
  }
}

function button(words, about, action) {
  const one = document.createElement("button");
  one.type = "button";
  one.textContent = words;
  if (about) one.setAttribute("aria-label", about);
  one.addEventListener("click", action);
  return one;
}
function addTools(plot) {
  const tools = document.createElement("div");
  const about = plot.where.getAttribute("aria-label").split(". ")[0];
  const all = button("Whole", "Show the whole of " + about, function () { plot.show(null); });
  all.hidden = true;
  tools.className = "tools";
  tools.append(all, button("PNG", "Save as PNG: " + about, function () { savePng(plot, about); }));
  plot.where.before(tools);
  return { all: all };
}
function addLegend(plot) {
  const names = legendOf(plot.id, plot.panel);
  if (!names.length) return;
  const list = document.createElement("ul");
  list.className = "legend";
  names.forEach(function (entry) {
    const item = document.createElement("li");
    const sample = made("svg", { width: 26, height: 12, "aria-hidden": "true" });
    entry[1](sample);
    if (plot.panel.stack) item.append(sample, entry[0]);
    else item.append(toggle(plot, entry[0], sample));
    list.append(item);
  });
  plot.where.before(list);
}
function toggle(plot, name, sample) {
  const one = button("", "", function () {
    if (!plot.hidden.delete(name)) plot.hidden.add(name);
    one.setAttribute("aria-pressed", String(!plot.hidden.has(name)));
    plot.draw();
  });
  one.setAttribute("aria-pressed", "true");
  one.append(sample, name);
  return one;
}

// What is beneath the pointer: {words, at} of the nearest point, the cell or the part of a bar.
function found(plot, x, y) {
  const panel = plot.panel, drawn = plot.drawn;
  if (panel.heat) return cellAt(panel.heat, Math.round(drawn.x.back(x)), Math.round(drawn.y.back(y)));
  if (panel.stack) return partAt(panel.stack, drawn.x.back(x), Math.round(drawn.y.back(y)));
  let best = null, nearest = NEAR ** 2;
  drawn.shown.forEach(function (curve) {
    if (curve.draw === "area") return;
    curve.x.forEach(function (value, i) {
      if (value === null || curve.y[i] === null) return;
      const at = [drawn.x.at(value), drawn.y.at(curve.y[i])];
      const far = (at[0] - x) ** 2 + (at[1] - y) ** 2;
      if (far < nearest) { nearest = far; best = { curve: curve, i: i, at: at }; }
    });
  });
  return best && { at: best.at, words: pointWords(panel, best.curve, best.i) };
}
function pointWords(panel, curve, i) {
  const words = [curve.label, valueText(curve.x[i], panel.x) + ", " + valueText(curve.y[i], panel.y)];
  if (curve.low && curve.low[i] !== null && curve.high[i] !== null) {
    words.push(valueText(curve.low[i], panel.y) + " – " + valueText(curve.high[i], panel.y));
  }
  return words;
}
function percent(share) { return written(share, [0.01, "%"], 3); }
function cellAt(heat, column, row) {
  const share = heat.shares[row] && heat.shares[row][column];
  if (share === null || share === undefined) return null;
  const words = heat.words[row][column];
  return { words: [heat.rows[row] + ", " + heat.columns[column], (words ? words + ", " : "") + percent(share) + " " + heat.meaning] };
}
function partAt(stack, share, bar) {
  let end = 0;
  const part = stack.parts.find(function (p) { end += p[2][bar] || 0; return share <= end; });
  return part && share >= 0 && stack.labels[bar] !== undefined
    ? { words: [stack.labels[bar], part[0] + " " + percent(part[2][bar])] } : null;
}
function unpoint(plot) {
  tip.hidden = true;
  plot.where.querySelectorAll(".ring").forEach(function (ring) { ring.remove(); });
}
function point(plot, event) {
  unpoint(plot);
  const corner = plot.where.getBoundingClientRect();
  const under = found(plot, event.clientX - corner.left, event.clientY - corner.top);
  if (!under) return;
  tip.replaceChildren(...under.words.map(function (words) {
    const one = document.createElement("div");
    one.textContent = words;
    return one;
  }));
  tip.hidden = false;
  const beside = event.clientX + 14 + tip.offsetWidth > window.innerWidth;
  tip.style.left = Math.max(0, beside ? event.clientX - 14 - tip.offsetWidth : event.clientX + 14) + "px";
  tip.style.top = Math.max(0, event.clientY - tip.offsetHeight - 8) + "px";
  if (under.at) {
    made("circle", { class: "ring", cx: under.at[0], cy: under.at[1], r: 6, fill: "none", stroke: colour("ink") }, plot.drawn.svg);
  }
}

// A part of both axes, or of one where the other is hardly moved along. Fingers scroll the page instead.
function beginDrag(plot, event) {
  if (event.pointerType !== "mouse" || event.button || plot.panel.heat || plot.panel.stack) return;
  const box = plot.drawn.box, corner = plot.where.getBoundingClientRect();
  const inside = function (e) {
    return [Math.min(Math.max(e.clientX - corner.left, box.left), box.left + box.width),
      Math.min(Math.max(e.clientY - corner.top, box.top), box.top + box.height)];
  };
  const from = inside(event);
  const frame = made("rect", { fill: colour("accent"), "fill-opacity": 0.12, stroke: colour("accent") }, plot.drawn.svg);
  unpoint(plot);
  event.preventDefault();
  const parts = function (e) {
    const to = inside(e);
    const [wide, high] = [Math.abs(to[0] - from[0]), Math.abs(to[1] - from[1])];
    return {
      x: wide >= LEAST_DRAG ? [Math.min(from[0], to[0]), Math.max(from[0], to[0])] : null,
      y: high >= LEAST_DRAG ? [Math.min(from[1], to[1]), Math.max(from[1], to[1])] : null,
    };
  };
  const move = function (e) {
    const part = parts(e);
    const x = part.x || [box.left, box.left + box.width], y = part.y || [box.top, box.top + box.height];
    const attributes = { x: x[0], y: y[0], width: x[1] - x[0], height: y[1] - y[0] };
    Object.keys(attributes).forEach(function (key) { frame.setAttribute(key, attributes[key]); });
  };
  const end = function (e) {
    window.removeEventListener("pointermove", move);
    window.removeEventListener("pointerup", end);
    frame.remove();
    const part = parts(e), drawn = plot.drawn;
    if (!part.x && !part.y) return;
    plot.show({
      x: part.x ? part.x.map(drawn.x.back) : [drawn.x.low, drawn.x.high],
      y: part.y ? part.y.map(drawn.y.back).reverse() : [drawn.y.low, drawn.y.high],
    });
  };
  window.addEventListener("pointermove", move);
  window.addEventListener("pointerup", end);
}

// With title and legend, on the page's colour, twice as fine as on the screen.
function savePng(plot, about) {
  const source = picture(plot, about);
  const image = new Image();
  image.onload = function () {
    const canvas = document.createElement("canvas");
    canvas.width = 2 * image.width;
    canvas.height = 2 * image.height;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob(function (blob) {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(blob);
      link.download = plot.id.replace(/^plot-/, "") + ".png";
      link.click();
      window.setTimeout(function () { URL.revokeObjectURL(link.href); }, 1000);
    });
  };
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(source);
}
function picture(plot, about) {
  const legend = legendOf(plot.id + "-saved", plot.panel);
  const whole = made("svg", { xmlns: SVG, "font-family": "system-ui, sans-serif", "font-size": 11 });
  const ground = made("rect", { fill: colour("page") }, whole);
  made("text", { x: 8, y: 18, "font-size": 13, "font-weight": 600, fill: colour("ink") }, whole, about);
  let x = 8, y = 26;
  legend.forEach(function (entry) {
    const width = 34 + textWidth(entry[0]) + 12;
    if (x > 8 && x + width > plot.width) { x = 8; y += 18; }
    const item = made("g", { transform: "translate(" + x + " " + y + ")", opacity: plot.hidden.has(entry[0]) ? 0.3 : 1 }, whole);
    entry[1](item);
    made("text", { x: 32, y: 10, fill: colour("ink") }, item, entry[0]);
    x += width;
  });
  const top = y + (legend.length ? 20 : 0), height = top + plot.panel.height;
  const body = made("g", { transform: "translate(0 " + top + ")" }, whole);
  body.append(...plot.drawn.svg.cloneNode(true).childNodes);
  Object.entries({ width: plot.width, height: height }).forEach(function (side) {
    whole.setAttribute(side[0], side[1]);
    ground.setAttribute(side[0], side[1]);
  });
  const styles = getComputedStyle(document.documentElement);
  return new XMLSerializer().serializeToString(whole)
    .replace(/var\((--[\w-]+)\)/g, function (_, name) { return styles.getPropertyValue(name).trim(); });
}
