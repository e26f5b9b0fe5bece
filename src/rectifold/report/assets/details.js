// Details: the columns and neighbours of the chosen sample, in a panel beside the page.

function makeDetails(page) {
  const { data, view } = page, { points, labels } = data;
  const panel = document.getElementById("details"), body = document.getElementById("details-body");
  const title = document.getElementById("details-title");
  let opener = null, openedAt = null;

  function close() {
    if (view.chosen === null) return;
    hide();
    page.choose(null);
    // The table has been drawn again, with new buttons.
    const again = document.querySelector(`#table [data-point="${openedAt}"]`);
    (opener?.isConnected && opener !== document.body ? opener : again ?? document.getElementById("map")).focus();
  }
  document.getElementById("details-close").addEventListener("click", close);
  addEventListener("keydown", (event) => { if (event.key === "Escape") close(); });

  function fill() {
    const point = view.chosen;
    if (point === null) return;
    title.textContent = page.titleOf(point);
    const cells = page.cellsOf(point), near = page.neighboursOf(point);
    body.replaceChildren(
      make("p", {}, verdict(data, point, page.outcomeOf(point))),
      ...(points.axes ? [make("p", {}, make("button", { type: "button", class: "quiet", id: "show-on-map", onclick: () => page.showOnMap() }, "Show on the map"))] : []),
      make("h3", {}, "Neighbours"),
      neighbours(point, near),
      ...(near && cells.length ? beside(page, point, near) : cells.length ? [make("h3", {}, "Columns"), make("table", {}, make("tbody", {}, ...cells.map(([name, value]) => (
        make("tr", {}, make("th", { scope: "row" }, name), make("td", { class: "cell" }, rounded(value))))))),
        ...moreColumns(data, cells.length)]
        : [make("p", { class: "hint" }, "This page does not hold the columns of this sample.")]),
    );
  }

  function neighbours(point, near) {
    if (!near) return make("p", {}, `Nearest first: ${page.neighbourLabels(point)}`);
    const most = Math.max(...near.map((one) => one.weight));
    return make("table", { id: "neighbours" },
      make("thead", {}, make("tr", {}, ...["row", "label", "distance", "weight"].map((name) => make("th", { scope: "col", class: name === "label" ? "word" : null }, name)))),
      make("tbody", {}, ...near.map((one) => {
        const bar = make("span", { class: "weight", "aria-hidden": "true" });
        bar.style.width = `${(3.5 * one.weight) / most}rem`;
        return make("tr", {}, make("td", {}, make("button", { type: "button", onclick: () => page.choose(one.point) }, cut(page.nameOf(one.point), 40))),
          make("td", { class: "word cell" }, swatchOf(data, points.class[one.point]), cut(labels[points.class[one.point]], 40)),
          make("td", {}, figure(one.distance)), make("td", {}, bar, ` ${share(one.weight)}`));
      })));
  }

  function open(from) {
    if (panel.hidden) {
      opener = from ?? document.activeElement;
      openedAt = view.chosen;
    }
    panel.hidden = false;
    document.body.classList.add("with-details");
    fill();
    panel.scrollTop = 0;
    title.focus();
  }
  /** Hide the panel; the sample remains chosen. */
  function hide() {
    panel.hidden = true;
    document.body.classList.remove("with-details");
  }
  return { open, close, hide, update: fill, redraw: fill };
}
