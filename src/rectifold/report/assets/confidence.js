// Confidence: a histogram for each class by decision, with the threshold of the class.

const MOST_CLASSES = 24;

function makeConfidence(page) {
  const { data, view } = page, { thresholds } = data, bins = data.confidence.bins;
  const box = document.getElementById("histograms");
  // Classes with removable samples come first.
  const codes = [...data.largest_first].sort((a, b) => (
    (thresholds.classes[b].limit.length > 0) - (thresholds.classes[a].limit.length > 0)
  )).slice(0, MOST_CLASSES);
  const charts = codes.map((code) => {
    const element = make("div", { class: "chart", role: "img" });
    const caption = make("figcaption");
    box.append(make("figure", {}, caption, element));
    return { code, element, caption, chart: chartIn(element), seen: true, drawn: "" };
  });
  // Charts are drawn when they come into view.
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
    box.after(make("p", { class: "hint" }, `${codes.length} of ${data.labels.length} classes are shown; those with removable samples come first.`));
  }

  function counted(code) {
    const one = thresholds.classes[code];
    const removed = new Array(bins).fill(0), spared = new Array(bins).fill(0);
    for (let i = 0; i < one.limit.length; i++) {
      const decision = view.now.decision[one.start + i];
      if (decision === REMOVED) removed[one.bin[i]]++;
      else if (decision === SPARED) spared[one.bin[i]]++;
    }
    const kept = data.confidence.counts[code].map((all, bin) => all - removed[bin] - spared[bin]);
    return { kept, spared, removed };
  }

  /** Return the threshold of a class on the axis of confidence, and its name. */
  function threshold(code) {
    const one = thresholds.classes[code];
    if (!one.can_lose) return null;
    if (one.role === "strict") return [thresholds.alpha.values[view.at.alpha], "α"];
    if (one.role === "protected") return [1 - thresholds.beta.values[view.at.beta], "1 − β"];
    return null;
  }

  function draw(which) {
    const { code, chart, element, caption } = which;
    const parts = counted(code), all = data.confidence.counts[code];
    const state = JSON.stringify([parts.removed, parts.spared, threshold(code), isDark()]);
    if (which.drawn === state) return;
    which.drawn = state;
    const sorted = [...all].sort((a, b) => b - a);
    // The bar of unanimous votes would make all others invisible.
    const top = sorted[0] > 4 * Math.max(1, sorted[1]) ? Math.ceil(1.25 * Math.max(4, sorted[1])) : null;
    const look = lookOf(data, code), line = threshold(code), one = thresholds.classes[code];
    const stacked = (name, values, itemStyle) => ({
      name, type: "bar", stack: "all", data: values.map((value) => value || null), barCategoryGap: "8%", itemStyle, animation: false,
    });
    const over = top === null ? [] : all.flatMap((n, bin) => (n > top ? [{ coord: [bin, top], value: count(n) }] : []));
    chart.setOption({
      animation: false,
      grid: { left: 44, right: 26, top: 24, bottom: 24 },
      tooltip: tooltip({
        trigger: "axis",
        formatter: (hits) => make("div", { class: "tip" },
          make("strong", {}, `confidence ${(hits[0].dataIndex / bins).toFixed(2)} to ${((hits[0].dataIndex + 1) / bins).toFixed(2)}`),
          ...hits.map((hit) => make("p", {}, `${hit.seriesName}: ${count(hit.value ?? 0)}`))),
      }),
      xAxis: [
        axis({ type: "category", data: all.map((_, bin) => bin), show: false }),
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
