// Draws the plots one after the other, so that the page can be read meanwhile.
const panels = JSON.parse(document.getElementById("panels").textContent);
const waiting = Object.keys(panels);
const plots = [];
function next() {
  const id = waiting.shift();
  if (id === undefined) {
    document.documentElement.dataset.plots = "drawn";
    return;
  }
  try {
    plots.push(Plot(id, panels[id]));
  } catch (error) {
    document.getElementById(id).textContent = "This plot could not be drawn; its numbers are in the table below.";
    console.error(id, error);
  }
  window.setTimeout(next, 0);
}
next();
printing.addEventListener("change", function () { plots.forEach(function (plot) { plot.draw(); }); });
