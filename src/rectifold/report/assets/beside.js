// Beside: the cells of a sample beside those of its neighbours, and what each column adds to the distances.

const moreColumns = (data, n) => (n < data.n_columns
  ? [make("p", { class: "hint" }, `${n} of ${data.n_columns} columns: those in which removed samples differ most.`)] : []);

/** Return a heading and a table with a line for each column, the one with the largest share of the distances first. */
function beside(page, point, near) {
  const { data } = page, { points, labels, details } = data;
  // Equal samples are at distance zero, of which no column has a share.
  const apart = near.filter((one) => one.shares && one.distance > 0);
  const lines = details.columns.map(({ name, compared }, place) => ({
    name, compared, place, share: apart.length ? apart.reduce((sum, one) => sum + one.shares[place], 0) / apart.length : null,
  }));
  if (apart.length) lines.sort((a, b) => b.share - a.share || a.place - b.place);
  const most = Math.max(1, ...lines.map(({ share }) => share ?? 0));
  const head = (one) => make("th", { scope: "col", title: `${page.nameOf(one.point)}, ${labels[points.class[one.point]]}, at distance ${figure(one.distance)}` },
    swatchOf(data, points.class[one.point]), cut(page.nameOf(one.point), 12));
  const shown = (one, place, own) => {
    const value = page.cellOf(one.point, place);
    if (value === undefined) return make("td", { title: "not in this page" }, "·");
    const share = one.shares && one.distance > 0 ? one.shares[place] : 0;
    const element = make("td", { class: value === own ? "same" : null, title: `${cell(value)}${share ? `: ${share} % of the squared distance` : ""}` }, cut(rounded(value), 16));
    element.style.setProperty("--share", share / 100);
    return element;
  };
  const of = (line) => {
    const own = page.cellOf(point, line.place), bar = make("span", { class: "weight", "aria-hidden": "true" });
    bar.style.width = `${(2.5 * (line.share ?? 0)) / most}rem`;
    return make("tr", {}, make("th", { scope: "row", title: line.name }, cut(line.name, 30)),
      make("td", {}, ...(line.compared === false ? ["not used"] : line.share === null ? ["–"] : [bar, ` ${Math.round(line.share)} %`])),
      make("td", { class: "own", title: cell(own) }, cut(rounded(own), 16)), ...near.map((one) => shown(one, line.place, own)));
  };
  const why = apart.length
    ? "Share: what a column adds to the squared distance, the mean over the neighbours. The darker a cell, the larger its share in the distance to that neighbour; grey cells equal that of the sample."
    : near.every((one) => one.distance === 0) ? "All neighbours are duplicates of this sample."
      : lines.some(({ compared }) => compared !== null) ? "This page holds the shares of columns in the distances only for samples that this run removed or spared."
        : "The distance of this run is not a sum over these columns, so they have no shares.";
  return [make("h3", {}, "Beside its neighbours"), make("p", { class: "hint" }, why),
    make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "The sample beside its neighbours" }, make("table", { id: "beside" },
      make("thead", {}, make("tr", {}, ...["column", "share", "sample"].map((name) => make("th", { scope: "col" }, name)), ...near.map(head))),
      make("tbody", {}, ...lines.map(of)))),
    ...moreColumns(data, lines.length)];
}
