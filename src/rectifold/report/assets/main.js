// The state of the page, and the parts that show it.

function open(data) {
  const { points, details, labels, thresholds } = data;
  const placesOfRun = () => ({
    alpha: thresholds.alpha.values.indexOf(thresholds.alpha.run),
    beta: thresholds.beta.values.indexOf(thresholds.beta.run),
    gamma: thresholds.gamma.values.indexOf(thresholds.gamma.run),
  });
  const view = {
    at: placesOfRun(), now: null, chosen: null, crowded: false,
    classes: new Set(labels.keys()), outcomes: new Set(OUTCOMES.map((one) => one.id)),
  };
  view.now = decide(thresholds, view.at);
  // The position of each point in the details; the first `count` of them have all columns.
  const placeOf = new Map();
  details.point.forEach((point, place) => placeOf.set(point, place));
  // The number of samples before each that have known neighbours.
  const known = details.neighbours.known, before = new Int32Array(known.length);
  for (let i = 1; i < known.length; i++) before[i] = before[i - 1] + known[i - 1];
  const k = data.summary.n_neighbors;

  const page = {
    data, view, placesOfRun,
    outcomeOf(point) {
      const place = points.removable[point];
      const decision = place < 0 ? KEPT : view.now.decision[place];
      return OUTCOME[decision][decision === KEPT ? 0 : view.now.reason[place]];
    },
    nameOf: (point) => (points.index ? points.index[point] : String(points.row[point])),
    titleOf: (point) => `Sample ${isolated(page.nameOf(point))}, ${isolated(labels[points.class[point]])}`,
    cellsOf(point) {
      const place = placeOf.get(point);
      if (place === undefined) return [];
      return details.columns.filter(({ values }) => place < values.length).map(({ name, values }) => [name, values[place]]);
    },
    neighboursOf(point) {
      const place = placeOf.get(point);
      if (place === undefined || place >= details.count || !known[place]) return null;
      const { point: near, distance, weight, shares } = details.neighbours, start = before[place] * k;
      const n = details.columns.length, held = (start + k) * n <= shares.length;
      return Array.from({ length: k }, (_, j) => ({
        point: near[start + j], distance: distance[start + j], weight: weight[start + j],
        shares: held ? shares.subarray((start + j) * n, (start + j + 1) * n) : null,
      }));
    },
    /** Return the cell of a sample in a column, undefined if the page does not hold it. */
    cellOf(point, column) {
      const place = placeOf.get(point), { values } = details.columns[column];
      return place < values.length ? values[place] : undefined;
    },
    neighbourLabels(point) {
      const place = points.neighbours_at[point];
      if (place < 0) {
        return points.unanimous[point]
          ? `all ${k} are ${cut(labels[points.class[point]], 40)}` : "not in this page";
      }
      const found = Array.from(points.neighbour_labels.subarray(place * k, (place + 1) * k), (code) => cut(labels[code], 24));
      // Runs of equal labels are counted.
      const runs = [];
      for (const label of found) {
        if (runs.length && runs.at(-1)[0] === label) runs.at(-1)[1]++;
        else runs.push([label, 1]);
      }
      return runs.map(([label, times]) => (times > 1 ? `${label} × ${times}` : label)).join(", ");
    },
    setThresholds(at) {
      view.at = at;
      view.now = decide(thresholds, at);
      parts.thresholds.update();
      later();
    },
    filtered() { later(); },
    looksChanged() { parts.chips.redraw(); },
    choose(point, from) {
      view.chosen = point;
      if (point !== null) parts.details.open(from);
      parts.map.choose(false);
      parts.table.show();
    },
    showOnMap() {
      const map = document.getElementById("map");
      if (matchMedia("(max-width: 75rem)").matches) parts.details.hide();
      map.scrollIntoView({ block: "center" });
      map.focus({ preventScroll: true });
      parts.map.choose(true);
    },
  };

  const parts = {
    thresholds: makeThresholds(page), chips: makeChips(page), map: makeMap(page),
    confidence: makeConfidence(page), table: makeTable(page), details: makeDetails(page), columns: makeColumns(page),
  };
  let waiting = false, resting = null, cost = 0;
  const tick = (name) => { document.documentElement.dataset[name] = String(Number(document.documentElement.dataset[name] ?? 0) + 1); };
  function drawMap() {
    const start = performance.now();
    parts.map.update();
    cost = performance.now() - start;
    tick("mapped");
  }
  /** Draw at most once a frame; a slow map is drawn when the sliders rest. */
  function later() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      for (const name of ["confidence", "table", "details"]) parts[name].update();
      tick("drawn");
      clearTimeout(resting);
      if (cost < 150) drawMap();
      else resting = setTimeout(drawMap, 80);
    });
  }
  for (const element of document.querySelectorAll(".summary th[data-class]")) element.prepend(swatchOf(data, Number(element.dataset.class)));
  followTheme(() => {
    for (const [code, element] of document.querySelectorAll(".summary th[data-class]").entries()) element.querySelector("svg").replaceWith(swatchOf(data, code));
    for (const [name, part] of Object.entries(parts)) {
      const start = performance.now();
      part.redraw();
      if (name === "map") cost = performance.now() - start;
    }
  });
  for (const link of document.querySelectorAll('a[href^="#"]')) {
    // In the frame of a notebook, links to an anchor would open the notebook.
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const target = document.getElementById(link.hash.slice(1));
      target.scrollIntoView();
      target.focus({ preventScroll: true });
    });
  }
  // For the browser's console and tests.
  globalThis.rectifold = { data, decide: (at) => decide(thresholds, at), view: () => parts.map.inView() };
  document.documentElement.dataset.ready = "";
}

read().then(open).catch(fail);
