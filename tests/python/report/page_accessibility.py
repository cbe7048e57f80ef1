"""What a reader without mouse, without colours or without sight needs of a page: what axe-core asks,
and what is only netsonde's to ask. Success criteria of WCAG 2.2, level AA, by their numbers."""

from __future__ import annotations

import re
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from report_browser import Browser

ASKED = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "resultTypes": ["violations"],
}
OWN = r"""
(() => {
  const found = [];
  const say = (criterion, what, element) => found.push(
    criterion + " " + what + (element ? ": " + (element.outerHTML || "").slice(0, 120) : ""));
  const all = (selector, from) => [...(from || document).querySelectorAll(selector)];
  // 2.4.1 the skip link comes first
  const first = all("a[href], button, input, summary, [tabindex='0']")[0];
  if (!first || !first.getAttribute("href")?.startsWith("#")) say("2.4.1", "no skip link comes first", first);
  // 4.1.2 ids once, 2.4.4 links lead somewhere
  const ids = new Set();
  all("[id]").filter((e) => !e.closest(".plot") || e.classList.contains("plot")).forEach((e) => {
    if (ids.has(e.id)) say("4.1.2", "id twice", e);
    ids.add(e.id);
  });
  all("a[href^='#']").forEach((link) => {
    if (!document.getElementById(link.getAttribute("href").slice(1))) say("2.4.4", "link to nothing", link);
  });
  // 1.1.1 a plot is told in a sentence, a caption and its numbers
  all("figure").forEach((e) => {
    if (!e.querySelector("figcaption")) say("1.1.1", "figure without words", e);
    if (!e.querySelector("table")) say("1.1.1", "plot without its numbers", e);
  });
  all("[role='img']").forEach((e) => { if ((e.getAttribute("aria-label") || "").length < 20) say("1.1.1", "plot without words", e); });
  // 1.3.1 tables
  all("table").forEach((table) => {
    if (!table.querySelector("th")) say("1.3.1", "table without headings", table);
    all("th", table).forEach((th) => { if (!th.hasAttribute("scope")) say("1.3.1", "heading without scope", th); });
  });
  // 1.4.3 contrast of what is drawn, on the page's colour
  const parse = (text) => (text.match(/[\d.]+/g) || []).map(Number);
  const luminance = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const page = luminance(parse(getComputedStyle(document.documentElement).backgroundColor));
  all(".plot svg text").forEach((e) => {
    const colour = parse(getComputedStyle(e).fill);
    // On a cell of a matrix: judged apart. Without colour, or see-through: nothing to read.
    if (e.previousElementSibling?.matches(".cell") || !e.textContent.trim() || colour[3] === 0) return;
    const [less, more] = [luminance(colour), page].sort((a, b) => a - b);
    if ((more + 0.05) / (less + 0.05) < 4.49) say("1.4.3", "contrast of what is drawn", e);
  });
  // 1.4.1 curves differ in more than their colour; bars too
  const panels = JSON.parse(document.getElementById("panels").textContent);
  Object.entries(panels).forEach(([id, panel]) => {
    const looks = new Map();
    const hatches = (panel.stack?.parts || []).map(([name, colour], i) => ({look: "hatch " + i % 8, name, colour}));
    const curves = (panel.curves || []).filter((c) => c.in_legend !== false).map((c) => ({
      look: JSON.stringify([c.draw === "step" ? "line" : c.draw, c.dash, (c.spaced || c.draw.includes("points")) && (c.symbol || "circle")]),
      name: c.label, colour: c.colour}));
    [...hatches, ...curves].forEach(({look, name, colour}) => {
      if (looks.has(look) && looks.get(look).colour !== colour && looks.get(look).name !== name)
        say("1.4.1", id + ": only colour tells " + name + " from " + looks.get(look).name);
      if (!looks.has(look)) looks.set(look, {colour, name});
    });
  });
  return [...new Set(found)];
})()
"""


def complaints(browser: Browser) -> list[str]:
    """What is wrong with the page that is open, each with the criterion that it misses; what is
    only good practice begins with the rule's name."""
    asked = Axe().run(browser.page, options=ASKED).response["violations"]
    return [*map(_told, asked), *browser.value(OWN)]


def _told(violation: dict[str, Any]) -> str:
    numbers = (re.fullmatch(r"wcag(\d)(\d)(\d+)", tag) for tag in violation["tags"])
    criterion = next((".".join(found.groups()) for found in numbers if found), violation["id"])
    places = [str(node["html"])[:120] for node in violation["nodes"][:3]]
    return f"{criterion} {violation['help']}: {'; '.join(places)}"
