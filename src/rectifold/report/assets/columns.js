// Columns: differences between removed and kept samples of a class.

function makeColumns(page) {
  const { data } = page, compared = data.columns;
  const buttons = document.getElementById("column-classes"), plots = document.getElementById("column-plots");
  const note = document.getElementById("columns-note"), more = document.getElementById("column-more");
  let chosen = 0, charts = [];
  if (!compared.length) {
    note.textContent = "There is no class with both removed and kept samples, so there is nothing to compare.";
    more.hidden = true;
    return { update() {}, redraw() {} };
  }
  const edge = (value) => (typeof value === "string" ? value : short(value));
  const percent = (value) => `${(100 * value).toFixed(1)} %`;
  const signed = (value) => `${value <= -0.005 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;
  const sides = (one) => (one.kind !== "category"
    ? [one.kept_mean, one.removed_mean].map((mean) => (mean === undefined ? "no value" : typeof mean === "number" ? figure(mean) : mean))
    : one.level === undefined ? ["no difference", "no difference"]
      : [one.kept_share, one.removed_share].map((part) => `${cut(one.level, 30)}: ${percent(part)}`));

  function draw() {
    const one = compared[chosen];
    buttons.replaceChildren(...compared.map((other, place) => make("button", {
      type: "button", "aria-pressed": String(place === chosen), onclick: () => { chosen = place; draw(); buttons.children[place].focus(); },
    }, swatchOf(data, other.code), cut(other.label, 40))));
    note.textContent = `${samples(one.removed, "removed")} and ${count(one.kept)} kept ones of class ${cut(one.label, 60)}.` +
      (one.removed < 10 ? " Differences between so few samples can be due to chance." : "") +
      (one.columns.length < one.n_columns ? ` Listed are the ${one.columns.length} of ${one.n_columns} columns that differ most.` : "");
    charts.forEach((chart) => chart.dispose());
    charts = [];
    plots.replaceChildren();
    for (const column of one.columns.filter((other) => other.removed_shares)) plot(column, lookOf(data, one.code).colour);
    const [head, body] = document.getElementById("column-table").children;
    head.replaceChildren(make("tr", {}, ...["column", "difference", "kept", "removed"].map((name) => make("th", { scope: "col" }, name))));
    body.replaceChildren(...one.columns.map((column) => {
      const [kept, removed] = sides(column);
      return make("tr", {}, make("th", { scope: "row" }, cut(column.name, 80)), make("td", {}, signed(column.difference)), make("td", {}, kept), make("td", {}, removed));
    }));
  }

  function plot(column, colour) {
    const element = make("div", { class: "chart", role: "img", "aria-label": `Distribution of ${column.name} in kept and removed samples` });
    const [kept, removed] = sides(column);
    plots.append(make("figure", {}, make("figcaption", {}, make("strong", {}, cut(column.name, 60)), ` ${signed(column.difference)}`, make("br"),
      column.kind !== "category" ? `mean ${kept} kept, ${removed} removed`
        : column.level === undefined ? kept : `${kept} kept, ${percent(column.removed_share)} removed`,
      ...(column.removed_missing || column.kept_missing ? [`; missing ${percent(column.kept_missing)} and ${percent(column.removed_missing)}`] : []),
      ...(column.cut ? ["; outliers are counted in the outer bars"] : [])), element));
    const chart = chartIn(element);
    charts.push(chart);
    const numbers = column.kind !== "category";
    const names = numbers ? column.edges.slice(0, -1).map((low, place) => `${edge(low)} to ${edge(column.edges[place + 1])}`) : column.levels;
    chart.setOption({
      animation: false,
      grid: { left: 42, right: 8, top: 26, bottom: numbers ? 22 : 40 },
      legend: { top: 0, right: 0, icon: "rect", itemWidth: 14, itemHeight: 9, textStyle: { color: css("--soft"), fontSize: 11 } },
      tooltip: tooltip({ trigger: "axis", formatter: (hits) => make("div", { class: "tip" }, make("strong", {}, names[hits[0].dataIndex]), ...hits.map((hit) => make("p", {}, `${hit.seriesName}: ${percent(hit.value)}`))) }),
      xAxis: axis({ type: "category", data: names, axisLabel: { color: css("--soft"), fontSize: 11, hideOverlap: true, interval: numbers ? 6 : 0, rotate: numbers ? 0 : 20, formatter: (name, place) => (numbers ? edge(column.edges[place]) : cut(name, 10)) }, axisTick: { show: false } }),
      yAxis: axis({ type: "value", splitNumber: 2, axisLabel: { color: css("--soft"), fontSize: 11, formatter: (value) => `${Math.round(100 * value)} %` } }),
      series: [
        { name: "kept", type: "bar", data: column.kept_shares, itemStyle: { color: colour, opacity: 0.55 }, barGap: "-100%", barCategoryGap: numbers ? "6%" : "30%" },
        numbers
          ? { name: "removed", type: "line", step: "middle", symbol: "none", data: column.removed_shares, lineStyle: { color: css("--ink"), width: 2 }, itemStyle: { color: css("--ink") } }
          : { name: "removed", type: "bar", data: column.removed_shares, itemStyle: { color: "transparent", borderColor: css("--ink"), borderWidth: 2 } },
      ],
    });
  }
  return { update() {}, redraw: draw };
}
