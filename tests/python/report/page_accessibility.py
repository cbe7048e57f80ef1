"""What a reader without mouse, without colours or without sight needs of a page, asked of the
document as the browser has it. After the success criteria of WCAG 2.2, level AA, that a program can
judge; their numbers stand beside them."""

from __future__ import annotations

from typing import Any

SCRIPT = r"""
(() => {
  const found = [];
  const say = (criterion, what, element) => found.push(
    criterion + " " + what + (element ? ": " + (element.outerHTML || "").slice(0, 120) : ""));
  const all = (selector, from) => [...(from || document).querySelectorAll(selector)];
  const named = (element) => {
    const by = element.getAttribute("aria-labelledby");
    if (by) return by.split(/\s+/).map((id) => document.getElementById(id)?.textContent || "").join(" ").trim();
    return (element.getAttribute("aria-label") || element.textContent || "").trim();
  };
  // 3.1.1 language, 2.4.2 title, 2.4.1 skip link and landmarks
  if (!document.documentElement.lang) say("3.1.1", "no language");
  if (!document.title.trim()) say("2.4.2", "no title");
  const first = all("a[href], button, input, summary, [tabindex='0']")[0];
  if (!first || !first.getAttribute("href")?.startsWith("#")) say("2.4.1", "no skip link comes first", first);
  if (all("main").length !== 1) say("1.3.1", "not one main");
  all("nav").forEach((nav) => { if (!nav.getAttribute("aria-label")) say("1.3.1", "nav without a name", nav); });
  // 1.3.1 headings in order
  let level = 0;
  if (all("h1").length !== 1) say("1.3.1", "not one h1");
  all("h1, h2, h3, h4, h5, h6").forEach((heading) => {
    const own = Number(heading.tagName[1]);
    if (own > level + 1) say("1.3.1", "heading skips from h" + level + " to h" + own, heading);
    if (!heading.textContent.trim()) say("1.3.1", "empty heading", heading);
    level = own;
  });
  // 4.1.1/2 ids once, references lead somewhere
  const ids = new Set();
  all("[id]").filter((e) => !e.closest(".plot") || e.classList.contains("plot")).forEach((e) => {
    if (ids.has(e.id)) say("4.1.2", "id twice", e);
    ids.add(e.id);
  });
  all("[aria-labelledby]").forEach((e) => { if (!named(e)) say("4.1.2", "labelled by nothing", e); });
  all("a[href^='#']").forEach((link) => {
    if (!document.getElementById(link.getAttribute("href").slice(1))) say("2.4.4", "link to nothing", link);
  });
  all("a, summary, button").forEach((e) => { if (!named(e)) say("2.4.4", "no words", e); });
  // 1.1.1 pictures in words
  all("img").forEach((e) => { if (!e.hasAttribute("alt")) say("1.1.1", "picture without words", e); });
  all("figure").forEach((e) => { if (!named(e) || !e.querySelector("figcaption")) say("1.1.1", "figure without words", e); });
  all("[role='img']").forEach((e) => { if ((e.getAttribute("aria-label") || "").length < 20) say("1.1.1", "plot without words", e); });
  all("svg").forEach((e) => {
    if (!e.closest("[role='img']") && e.getAttribute("aria-hidden") !== "true") say("1.1.1", "drawing without words", e);
  });
  all("figure").forEach((e) => { if (!e.querySelector("table")) say("1.1.1", "plot without its numbers", e); });
  // 1.3.1 tables
  all("table").forEach((table) => {
    if (!table.querySelector("th")) say("1.3.1", "table without headings", table);
    all("th", table).forEach((th) => { if (!th.hasAttribute("scope")) say("1.3.1", "heading without scope", th); });
  });
  // 2.1.1 whatever scrolls can be reached by keyboard; 2.4.3 in the page's order
  all("*").forEach((e) => {
    if (e.tabIndex > 0) say("2.4.3", "own place in the order of tabs", e);
    const style = getComputedStyle(e);
    const scrolls = (/(auto|scroll)/.test(style.overflowX) && e.scrollWidth > e.clientWidth + 1)
      || (/(auto|scroll)/.test(style.overflowY) && e.scrollHeight > e.clientHeight + 1);
    if (scrolls && e !== document.documentElement && e !== document.body && e.tabIndex < 0
        && !e.querySelector("a[href], summary")) say("2.1.1", "scrolls by mouse only", e);
  });
  // 1.4.3 contrast of text
  const parse = (text) => (text.match(/[\d.]+/g) || []).map(Number);
  const luminance = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const over = (top, below) => {
    const a = top.length > 3 ? top[3] : 1;
    return [0, 1, 2].map((i) => top[i] * a + below[i] * (1 - a));
  };
  const behind = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) layers.push(parse(getComputedStyle(e).backgroundColor));
    return layers.reverse().reduce((below, top) => top.length ? over(top, below) : below, [255, 255, 255]);
  };
  const seen = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || seen.has(element) || !element.checkVisibility()) continue;
    if (["SCRIPT", "STYLE", "NOSCRIPT"].includes(element.tagName)) continue;
    seen.add(element);
    const style = getComputedStyle(element);
    const drawn = element instanceof SVGElement;
    if (drawn && element.closest(".heatmaplayer")) continue;  // on a cell's colour: judged apart
    const colour = parse(drawn ? style.fill : style.color);
    if (!colour.length || (colour.length > 3 && colour[3] === 0)) continue;
    const under = behind(drawn ? element.closest(".plot") : element);
    const pair = [luminance(over(colour, under)), luminance(under)].sort((a, b) => b - a);
    const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
    const pixels = parseFloat(style.fontSize);
    const large = pixels >= 24 || (pixels >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5) - 0.01) say("1.4.3", "contrast " + ratio.toFixed(2), element);
  }
  // 1.4.1 curves differ in more than their colour; bars too
  const panels = JSON.parse(document.getElementById("panels").textContent);
  Object.entries(panels).forEach(([id, panel]) => {
    const looks = new Map();
    panel.data.filter((t) => t.name && t.showlegend !== false).forEach((t) => {
      const look = t.type === "bar" ? JSON.stringify(t.marker?.pattern || null)
        : JSON.stringify([t.mode, t.line?.dash, t.mode?.includes("markers") && t.marker?.symbol, t.fill]);
      const colour = t.marker?.color || t.line?.color || t.fillcolor;
      if (looks.has(look) && looks.get(look).colour !== colour && looks.get(look).name !== t.name)
        say("1.4.1", id + ": only colour tells " + t.name + " from " + looks.get(look).name);
      if (!looks.has(look)) looks.set(look, {colour, name: t.name});
    });
  });
  return [...new Set(found)];
})()
"""


def complaints(browser: Any) -> list[str]:
    """What is wrong with the page that is open, each with the criterion that it misses."""
    return list(browser.value(SCRIPT))
