// Confidence: a histogram for every class, with what becomes of its rows and the threshold drawn in.

const MOST_CLASSES = 24;

function makeConfidence(page) {
  const { data, view } = page, { levers } = data, bars = data.confidence.bars;
  const box = document.getElementById("histograms");
  // Classes in which something can go come first.
  const codes = [...data.largest_first].sort((a, b) => (
    (levers.classes[b].at.length > 0) - (levers.classes[a].at.length > 0)
  )).slice(0, MOST_CLASSES);
  const charts = codes.map((code) => {
    const element = make("div", { class: "chart", role: "img" });
    const caption = make("figcaption");
    box.append(make("figure", {}, caption, element));
    return { code, element, caption, chart: chartIn(element), seen: true, drawn: "" };
  });
  // Charts that nobody sees are drawn once they are seen.
  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const one = charts.find(({ element }) => element === entry.target);
      one.seen = entry.isIntersecting;
      if (one.seen) draw(one);
    }
  }, { rootMargin: "300px" });
  charts.forEach(({ element }) => watch.observe(element));
  addEventListener("beforeprint", () => charts.forEach(draw));
  if (codes.length < data.labels.length) {
    box.after(make("p", { class: "hint" }, `${codes.length} of ${data.labels.length} classes are drawn: those in which rows are in question first.`));
  }

  function counted(code) {
    const one = levers.classes[code];
    const removed = new Array(bars).fill(0), spared = new Array(bars).fill(0);
    for (let i = 0; i < one.at.length; i++) {
      const decision = view.now.decision[one.start + i];
      if (decision === REMOVED) removed[one.bar[i]]++;
      else if (decision === SPARED) spared[one.bar[i]]++;
    }
    const kept = data.confidence.counts[code].map((all, bar) => all - removed[bar] - spared[bar]);
    return { kept, spared, removed };
  }

  /** The threshold of a class on the axis of confidence, and what it is called. */
  function threshold(code) {
    const one = levers.classes[code];
    if (!one.can_change) return null;
    if (one.role === "strict") return [levers.alpha.values[view.at.alpha], "α"];
    if (one.role === "protected") return [1 - levers.beta.values[view.at.beta], "1 − β"];
    return null;
  }

  function draw(which) {
    const { code, chart, element, caption } = which;
    const parts = counted(code), whole_ = data.confidence.counts[code];
    const state = JSON.stringify([parts.removed, parts.spared, threshold(code), isDark()]);
    if (which.drawn === state) return;
    which.drawn = state;
    const sorted = [...whole_].sort((a, b) => b - a);
    // The rows that all neighbours agree with would flatten all others.
    const top = sorted[0] > 4 * Math.max(1, sorted[1]) ? Math.ceil(1.25 * Math.max(4, sorted[1])) : null;
    const look = lookOf(data, code), line = threshold(code), one = levers.classes[code];
    const stacked = (name, values, itemStyle) => ({
      name, type: "bar", stack: "all", data: values.map((value) => value || null), barCategoryGap: "8%", itemStyle, animation: false,
    });
    const over = top === null ? [] : whole_.flatMap((all, bar) => (all > top ? [{ coord: [bar, top], value: count(all) }] : []));
    chart.setOption({
      animation: false,
      grid: { left: 44, right: 26, top: 24, bottom: 24 },
      tooltip: tooltip({
        trigger: "axis",
        formatter: (hits) => make("div", { class: "tip" },
          make("strong", {}, `confidence ${(hits[0].dataIndex / bars).toFixed(2)} to ${((hits[0].dataIndex + 1) / bars).toFixed(2)}`),
          ...hits.map((hit) => make("p", {}, `${hit.seriesName}: ${count(hit.value ?? 0)}`))),
      }),
      xAxis: [
        axis({ type: "category", data: whole_.map((_, bar) => bar), show: false }),
        axis({ type: "value", min: 0, max: 1, interval: 0.25, position: "bottom", splitLine: { show: false } }),
      ],
      yAxis: axis({ type: "value", max: top, minInterval: 1, splitNumber: 3, axisLabel: { color: css("--soft"), formatter: (value) => (value === top ? "" : count(value)) } }),
      series: [
        { ...stacked("kept", parts.kept, { color: look.colour, opacity: 0.65 }),
          markPoint: { symbol: "rect", symbolSize: [1, 1], silent: true, itemStyle: { color: "transparent" }, data: over, label: { color: css("--ink"), fontSize: 11, position: "top", align: "right", formatter: (hit) => `${hit.value} ↑` } } },
        stacked("spared", parts.spared, { color: css("--card"), borderColor: look.colour, borderWidth: 1.5 }),
        stacked("removed", parts.removed, { color: css("--ink"), decal: { symbol: "rect", dashArrayX: [1, 0], dashArrayY: [2, 3], rotation: 0.785, color: css("--card") } }),
        { type: "line", xAxisIndex: 1, data: [], silent: true, markLine: { silent: true, symbol: "none", animation: false, data: line ? [{ xAxis: line[0] }] : [], lineStyle: { color: css("--accent"), width: 2, type: "dashed" }, label: { color: css("--accent"), fontWeight: 600, formatter: () => line[1] } } },
      ],
    }, { notMerge: true });
    const sum = (values) => values.reduce((total, value) => total + value, 0);
    caption.replaceChildren(swatchOf(data, code), make("strong", {}, cut(data.labels[code], 60)),
      ` ${one.role}: ${count(sum(parts.removed))} of ${count(one.size)} removed, ${count(sum(parts.spared))} spared`);
    element.setAttribute("aria-label", `Histogram of confidence of class ${data.labels[code]}`);
  }
  const update = () => charts.filter((one) => one.seen).forEach(draw);
  return { update, redraw() { charts.forEach((one) => { one.drawn = ""; }); update(); } };
}
