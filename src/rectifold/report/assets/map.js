// Map: samples in two dimensions by class and decision, and the neighbours of the chosen one.

// Pixels around the plot; maximum number of neighbours with a line.
const MARGIN = { left: 58, right: 12, top: 10, bottom: 44 }, MOST_LINES = 50;

function makeMap(page) {
  const { data, view } = page, { points } = data;
  const element = document.getElementById("map"), note = document.getElementById("map-note");
  const tools = document.querySelector(".map-tools");
  if (!points.axes) {
    note.textContent = points.note;
    element.hidden = tools.hidden = true;
    return { update() {}, redraw() {}, choose() {}, inView: () => null };
  }
  const chart = chartIn(element);
  // Without Ctrl, the wheel scrolls the page instead of zooming the map.
  element.addEventListener("wheel", (event) => { if (!event.ctrlKey && !event.metaKey) event.stopPropagation(); }, { capture: true });
  const byFinger = matchMedia("(pointer: coarse)").matches;
  const first = points.window;
  const span = ["x", "y"].map((name, place) => {
    let low = Infinity, high = -Infinity;
    for (const value of points[name]) { if (value < low) low = value; if (value > high) high = value; }
    const margin = 0.04 * (high - low) || 0.5;
    return [Math.min(first[place][0], low - margin), Math.max(first[place][1], high + margin)];
  });
  const beyond = (value, [low, high]) => value < low || value > high;
  let beyondView = 0;
  for (let i = 0; i < points.row.length; i++) {
    if ((points.drawn[i] || page.outcomeOf(i).decision !== KEPT) && (beyond(points.x[i], first[0]) || beyond(points.y[i], first[1]))) beyondView++;
  }
  // The points of each series.
  const shown = {};

  const zoom = ([x, y]) => chart.dispatchAction({ type: "dataZoom", batch: [
    { dataZoomId: "x", startValue: x[0], endValue: x[1] }, { dataZoomId: "y", startValue: y[0], endValue: y[1] },
  ] });
  /** Return the number of marks that the plot has room for. */
  const room = () => CROWD * Math.min(1, (chart.getWidth() * chart.getHeight()) / (800 * 540));
  /** Return the ranges of both axes that are in view. */
  function inView() {
    const [left, bottom] = chart.convertFromPixel("grid", [MARGIN.left, chart.getHeight() - MARGIN.bottom]);
    const [right, top] = chart.convertFromPixel("grid", [chart.getWidth() - MARGIN.right, MARGIN.top]);
    return [[left, right], [bottom, top]];
  }
  const by = (factor) => zoom(inView().map(([low, high], place) => {
    const middle = (low + high) / 2, least = (span[place][1] - span[place][0]) / 20_000;
    const half = Math.max(least, ((high - low) / 2) * factor);
    return [Math.max(span[place][0], middle - half), Math.min(span[place][1], middle + half)];
  }));
  document.getElementById("zoom-in").addEventListener("click", () => by(0.6));
  document.getElementById("zoom-out").addEventListener("click", () => by(1 / 0.6));
  document.getElementById("zoom-first").addEventListener("click", () => zoom(first));
  document.getElementById("zoom-all").addEventListener("click", () => zoom(span));

  const order = data.largest_first;
  let isDrawn = false, mostLines = 0;
  const size = points.row.length > 4000 ? 4 : points.row.length > 1000 ? 5 : 7;

  function redraw() {
    const base = (low_high, place) => axis({
      type: "value", min: low_high[0], max: low_high[1], name: cut(points.axes[place], 60), nameTruncate: { maxWidth: (place ? element.clientHeight : element.clientWidth) - 90 }, nameLocation: "middle",
      nameGap: place ? 40 : 26, scale: true, axisLabel: { color: css("--soft"), hideOverlap: true, showMinLabel: false, showMaxLabel: false, formatter: figure },
    });
    const zoomed = isDrawn ? inView() : first;
    isDrawn = true;
    chart.setOption({
      animation: false,
      grid: MARGIN,
      xAxis: base(span[0], 0),
      yAxis: base(span[1], 1),
      dataZoom: zoomed.map((one, place) => ({
        id: "xy"[place], type: "inside", [place ? "yAxisIndex" : "xAxisIndex"]: 0, filterMode: "none", minValueSpan: (span[place][1] - span[place][0]) / 10_000,
        startValue: one[0], endValue: one[1], zoomOnMouseWheel: "ctrl", moveOnMouseWheel: false, preventDefaultMouseMove: false, moveOnMouseMove: !byFinger,
      })),
      tooltip: tooltip({ trigger: "item", formatter: (hit) => tip(hit) }),
      series: [],
    }, { notMerge: true });
    update();
  }

  function tip(hit) {
    const point = shown[hit.seriesId]?.[hit.dataIndex];
    return point === undefined ? "" : tipOf(page, point);
  }

  function collect() {
    const kept = order.map(() => []), marked = { "intrusion": [], "ambiguity": [], "deep noise": [], "spared": [] };
    for (let i = 0; i < points.row.length; i++) {
      const code = points.class[i], outcome = page.outcomeOf(i);
      if (!view.classes.has(code) || !view.outcomes.has(outcome.id)) continue;
      // Samples outside the random sample are drawn only if removed or spared.
      if (outcome.decision === KEPT && !points.drawn[i]) continue;
      if (outcome.decision !== KEPT) marked[outcome.id].push(i);
      else kept[code].push(i);
    }
    // Marks out of view need no room.
    const [x, y] = isDrawn ? inView() : first;
    const seen = (i) => points.x[i] >= x[0] && points.x[i] <= x[1] && points.y[i] >= y[0] && points.y[i] <= y[1];
    const crowded = Object.values(marked).some((rows) => rows.length > room() && rows.filter(seen).length > room());
    // A mark is drawn over the shape of its class; a dot would hide it.
    if (!crowded) for (const rows of Object.values(marked)) for (const i of rows) kept[points.class[i]].push(i);
    return { kept, marked, crowded };
  }

  function placed(rows) {
    const places = new Float64Array(2 * rows.length);
    rows.forEach((i, place) => { places[2 * place] = points.x[i]; places[2 * place + 1] = points.y[i]; });
    return places;
  }

  function update() {
    const { kept, marked, crowded } = collect();
    if (crowded !== view.crowded) {
      view.crowded = crowded;
      page.looksChanged();
    }
    const series = [];
    const add = (id, rows, look) => {
      shown[id] = rows;
      series.push({
        id, type: "scatter", dimensions: ["x", "y"], data: placed(rows), large: look.large, largeThreshold: 1500,
        progressive: 0, symbol: look.symbol, symbolSize: look.size, itemStyle: { color: look.colour, opacity: look.opacity },
        emphasis: { disabled: true }, z: look.z, cursor: "pointer",
      });
    };
    order.forEach((code, place) => {
      const look = lookOf(data, code);
      add(`class-${code}`, kept[code], {
        symbol: look.shape, size: crowded || kept[code].length > (SIMPLE.has(look.shape) ? 30_000 : CROWD) ? DOT : place ? size + 1.5 : size, colour: look.colour, opacity: crowded ? 0.4 : place ? 0.9 : 0.65, z: 2 + place, large: true,
      });
    });
    for (const [id, rows] of Object.entries(marked)) {
      add(`mark-${id}`, rows, {
        ...(view.crowded
          ? { symbol: "rect", size: DOT, large: true }
          : { symbol: MARKS[id], size: id === "spared" ? size + 5 : size + 6, large: false }),
        // Overlapping dots look darker.
        colour: markColour(id, view.crowded), opacity: view.crowded ? Math.max(0.12, Math.min(1, 8000 / rows.length)) : 1, z: 94 - Object.keys(MARKS).indexOf(id),
      });
    }
    chart.setOption({ series: [...series, ...chosenSeries()] });
    const drawn = [...kept, ...(crowded ? Object.values(marked) : [])].reduce((sum, rows) => sum + rows.length, 0);
    element.setAttribute("aria-label", `Map of ${samples(drawn)}. The table below lists those that are removed or spared.`);
    const hidden = data.labels
      .map((label, code) => [label, points.n_drawn[code], data.thresholds.classes[code].size])
      .filter(([, drawn, size_]) => drawn < size_)
      .map(([label, drawn, size_]) => `${count(drawn)} of ${samples(size_)} of class ${cut(label, 40)}`);
    const all = data.summary.removed + data.summary.spared;
    const marks = points.n_marked < all
      ? `of the ${samples(all)} that this run removed or spared, ${count(points.n_marked)} are drawn`
      : "all samples that this run removed or spared are drawn";
    const sample = hidden.length
      ? ` Of the kept samples a random sample is drawn, ${hidden.slice(0, 4).join(", ")}${hidden.length > 4 ? " and so on" : ""}; ${marks}. All counts are of the whole data.`
      : "";
    const far = beyondView ? ` ${samples(beyondView)} ${beyondView === 1 ? "is" : "are"} outside the initial view: All samples shows everything.` : "";
    const dots = crowded ? " There are too many marks for their shapes, so they are drawn as dots: zoom in, or hide some." : "";
    note.replaceChildren(`${points.note}${sample}${far}${dots}`,
      make("span", { class: "screen" }, ` ${byFinger ? "Tap" : "Drag to move, use Ctrl and the wheel to zoom, click"} a sample to see its neighbours.`));
  }

  /** Return the series of the chosen sample and its neighbours, empty if none is chosen. */
  function chosenSeries() {
    const id = "chosen", point = view.chosen, near = point === null ? null : page.neighboursOf(point);
    const lines = [];
    // Lines that were drawn before must be emptied.
    mostLines = Math.max(mostLines, Math.min(MOST_LINES, near?.length ?? 0));
    for (let place = 0; place < mostLines; place++) {
      const one = near?.[place];
      lines.push({
        id: `line-${place}`, type: "line", symbol: "none", silent: true, z: 95, animation: false,
        data: one ? [[points.x[one.point], points.y[one.point]], [points.x[point], points.y[point]]] : [],
        lineStyle: { width: one ? Math.max(0.75, Math.min(12, 24 * one.weight)) : 0, opacity: 0.75, color: one ? lookOf(data, points.class[one.point]).colour : "transparent" },
      });
    }
    const around = near ? near.map((one) => one.point) : [];
    shown.near = around;
    shown[id] = point === null ? [] : [point];
    return [
      ...lines,
      {
        id: "near", type: "scatter", data: around.map((i) => [points.x[i], points.y[i]]), z: 96, emphasis: { disabled: true },
        symbol: (_, hit) => lookOf(data, points.class[around[hit.dataIndex]]).shape,
        symbolSize: size + 4, itemStyle: { color: (hit) => lookOf(data, points.class[around[hit.dataIndex]]).colour, borderColor: css("--card"), borderWidth: 1 },
      },
      {
        id, type: "scatter", data: shown[id].map((i) => [points.x[i], points.y[i]]), z: 97, symbol: "circle", symbolSize: size + 15,
        emphasis: { disabled: true }, itemStyle: { color: "transparent", borderColor: css("--accent"), borderWidth: 3 },
      },
    ];
  }

  /** Show the chosen sample and its neighbours; zoom in on them if `move` is set. */
  function choose(move) {
    chart.setOption({ series: chosenSeries() });
    if (view.chosen === null || !move) return;
    const all = [view.chosen, ...(page.neighboursOf(view.chosen) ?? []).map((one) => one.point)];
    zoom(["x", "y"].map((name, place) => {
      const values = all.map((i) => points[name][i]);
      const low = Math.min(...values), high = Math.max(...values);
      const half = Math.max((high - low) * 0.9, (first[place][1] - first[place][0]) * 0.06), middle = (low + high) / 2;
      return [Math.max(span[place][0], middle - half), Math.min(span[place][1], middle + half)];
    }));
  }

  let waiting = null;
  // Zoomed in, there may be room for shapes.
  chart.on("datazoom", () => { clearTimeout(waiting); waiting = setTimeout(update, 150); });
  chart.on("click", (hit) => {
    const point = shown[hit.seriesId]?.[hit.dataIndex];
    if (point !== undefined) page.choose(point, element);
  });
  return { update, redraw, choose, inView };
}

/** Return the tooltip of a sample. */
function tipOf(page, point) {
  const { data } = page, { points, labels } = data;
  const facts = make("dl");
  const add = (name, value) => facts.append(make("dt", {}, cut(name, 40)), make("dd", {}, cut(value, 60)));
  if (points.index) add("row", String(points.row[point]));
  add("confidence", share(points.confidence[point]));
  const cells = page.cellsOf(point);
  cells.slice(0, 8).forEach(([name, value]) => add(name, rounded(value)));
  const body = make("div", { class: "tip" },
    make("strong", {}, page.titleOf(point)),
    make("p", {}, verdict(data, point, page.outcomeOf(point))), facts);
  if (cells.length > 8) body.append(make("p", {}, `and ${cells.length - 8} more columns: click to see them`));
  body.append(make("p", {}, `Neighbours, nearest first: ${page.neighbourLabels(point)}`));
  return body;
}
