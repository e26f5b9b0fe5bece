// Drawer: all about one row, and who voted on it.

function makeDrawer(page) {
  const { data, view } = page, { points, labels } = data;
  const drawer = document.getElementById("drawer"), body = document.getElementById("drawer-body");
  const title = document.getElementById("drawer-title");
  let opener = null, openedAt = null;

  function close() {
    if (view.chosen === null) return;
    hide();
    page.choose(null);
    // The table has been drawn again since: its button is another one.
    const again = document.querySelector(`#table [data-point="${openedAt}"]`);
    (opener?.isConnected && opener !== document.body ? opener : again ?? document.getElementById("map")).focus();
  }
  document.getElementById("drawer-close").addEventListener("click", close);
  addEventListener("keydown", (event) => { if (event.key === "Escape") close(); });

  function fill() {
    const point = view.chosen;
    if (point === null) return;
    title.textContent = page.titleOf(point);
    const cells = page.cellsOf(point);
    body.replaceChildren(
      make("p", {}, verdict(data, point, page.outcomeOf(point))),
      ...(points.axes ? [make("p", {}, make("button", { type: "button", class: "quiet", id: "show-on-map", onclick: () => page.showOnMap() }, "Show on the map"))] : []),
      make("h3", {}, "Neighbours"),
      neighbours(point),
      ...(cells.length ? [make("h3", {}, "Columns"), make("table", {}, make("tbody", {}, ...cells.map(([name, value]) => (
        make("tr", {}, make("th", { scope: "row" }, name), make("td", { class: "cell" }, cell(value))))))),
        ...(cells.length < data.n_columns ? [make("p", { class: "hint" }, `${cells.length} of ${data.n_columns} columns: those in which removed rows differ most.`)] : [])]
        : [make("p", { class: "hint" }, "The columns of this row are not in this page.")]),
    );
  }

  function neighbours(point) {
    const near = page.neighboursOf(point);
    if (!near) return make("p", {}, `Nearest first: ${page.labelsNear(point)}`);
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
    if (drawer.hidden) {
      opener = from ?? document.activeElement;
      openedAt = view.chosen;
    }
    drawer.hidden = false;
    document.body.classList.add("drawn-aside");
    fill();
    drawer.scrollTop = 0;
    title.focus();
  }
  /** Make room, and keep the row chosen. */
  function hide() {
    drawer.hidden = true;
    document.body.classList.remove("drawn-aside");
  }
  return { open, close, hide, update: fill, redraw: fill };
}
