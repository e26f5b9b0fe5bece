// Columns: differences between removed and kept samples of a class.

function makeColumns(page) {
  const { data } = page, compared = data.columns;
  const buttons = document.getElementById("column-classes"), plots = document.getElementById("column-plots");
  const note = document.getElementById("columns-note"), more = document.getElementById("column-more");
  let charts = [];
  if (!compared.length) {
    note.textContent = "There is no class with both removed and kept samples, so there is nothing to compare.";
    more.hidden = true;
    return { update() {}, redraw() {} };
  }
  // The class with most removals is shown first.
  let chosen = compared.reduce((most, one, place) => (one.removed > compared[most].removed ? place : most), 0);
  const edge = (value) => (typeof value === "string" ? value : short(value));
  const percent = (value) => `${(100 * value).toFixed(1)} %`;
  const signed = (value) => `${value <= -0.005 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;
  const sides = (one) => (one.kind !== "category"
    ? [one.kept_mean, one.removed_mean].map((mean) => (mean === undefined ? "no value" : typeof mean === "number" ? figure(Number(mean.toPrecision(4))) : mean))
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
      ...(column.cut ? [`; outliers are ${column.marks ? "at the end" : "counted in the outer bars"}`] : [])), element));
    const chart = chartIn(element);
    charts.push(chart);
    const numbers = column.kind !== "category";
    const names = numbers ? column.edges.slice(0, -1).map((low, place) => `${edge(low)} to ${edge(column.edges[place + 1])}`) : column.levels;
    const tip = (title, ...lines) => make("div", { class: "tip" }, make("strong", {}, title), ...lines.map((line) => make("p", {}, line)));
    chart.setOption({
      animation: false,
      grid: { left: 42, right: 8, top: 26, bottom: numbers ? 22 : 40 },
      legend: { top: 0, right: 0, itemWidth: 14, itemHeight: 9, textStyle: { color: css("--soft"), fontSize: 11 },
        data: [{ name: "kept", icon: "rect" }, { name: "removed", icon: column.marks ? "circle" : "rect" }] },
      tooltip: tooltip(column.marks
        ? { trigger: "item", formatter: (hit) => (hit.seriesName === "kept" ? tip(names[hit.dataIndex], `kept: ${percent(hit.value)}`) : tip(`removed: ${hit.data.text}`)) }
        : { trigger: "axis", formatter: (hits) => tip(names[hits[0].dataIndex], ...hits.map((hit) => `${hit.seriesName}: ${percent(hit.value)}`)) }),
      xAxis: [
        axis({ type: "category", data: names, axisLabel: { color: css("--soft"), fontSize: 11, hideOverlap: true, interval: numbers ? 6 : 0, rotate: numbers ? 0 : 20, formatter: (name, place) => (numbers ? edge(column.edges[place]) : cut(name, 10)) }, axisTick: { show: false } }),
        { type: "value", min: 0, max: 1, show: false },
      ],
      yAxis: [
        axis({ type: "value", splitNumber: 2, axisLabel: { color: css("--soft"), fontSize: 11, formatter: (value) => `${Math.round(100 * value)} %` } }),
        { type: "value", min: 0, max: 1, show: false },
      ],
      series: [
        { name: "kept", type: "bar", data: column.kept_shares, itemStyle: { color: colour, opacity: 0.55 }, barGap: "-100%", barCategoryGap: numbers ? "6%" : "30%" },
        column.marks ? marks(column)
          : numbers
            ? { name: "removed", type: "line", step: "middle", symbol: "none", data: column.removed_shares, lineStyle: { color: css("--ink"), width: 2 }, itemStyle: { color: css("--ink") } }
            : { name: "removed", type: "bar", data: column.removed_shares, itemStyle: { color: "transparent", borderColor: css("--ink"), borderWidth: 2 } },
      ],
    });
  }

  /** Return a series with a dot for each removed sample, those at one place above each other. */
  function marks({ kind, levels, marks }) {
    const each = kind === "category"
      ? marks.flatMap((n, level) => Array.from({ length: n }, () => [(level + 0.5) / levels.length, levels[level]])) : marks;
    const height = new Map(), places = each.map(([x, value]) => {
      const step = kind === "category" ? x : (Math.floor(Math.min(x, 0.999) * 50) + 0.5) / 50, level = height.get(step) ?? 0;
      height.set(step, level + 1);
      return { step, level, value };
    });
    const gap = Math.min(0.1, 0.9 / Math.max(1, ...height.values()));
    return {
      name: "removed", type: "scatter", xAxisIndex: 1, yAxisIndex: 1, symbolSize: 7, z: 5, itemStyle: { color: css("--ink"), borderColor: css("--card"), borderWidth: 1 },
      data: places.map(({ step, level, value }) => ({ value: [step, 0.06 + gap * level], text: typeof value === "number" ? rounded(value) : cut(value, 60) })),
    };
  }
  return { update() {}, redraw: draw };
}
