// Main: one state, and the parts of the page that show it.

function open(data) {
  const { points, told, labels, levers } = data;
  const ownPlaces = () => ({
    alpha: levers.alpha.values.indexOf(levers.alpha.own),
    beta: levers.beta.values.indexOf(levers.beta.own),
    gamma: levers.gamma.values.indexOf(levers.gamma.own),
  });
  const view = {
    at: ownPlaces(), now: null, chosen: null, crowded: false,
    classes: new Set(labels.keys()), outcomes: new Set(OUTCOMES.map((one) => one.id)),
  };
  view.now = decide(levers, view.at);
  // Where a point's cells are, and whether it is told about in full.
  const toldAt = new Map();
  told.point.forEach((point, place) => toldAt.set(point, place));
  // How many rows before each have known neighbours.
  const known = told.neighbours.known, before = new Int32Array(known.length);
  for (let i = 1; i < known.length; i++) before[i] = before[i - 1] + known[i - 1];
  const k = data.summary.n_neighbors;

  const page = {
    data, view, ownPlaces,
    outcomeOf(point) {
      const place = points.question[point];
      const decision = place < 0 ? KEPT : view.now.decision[place];
      return OUTCOME[decision][decision === KEPT ? 0 : view.now.reason[place]];
    },
    nameOf: (point) => (points.names ? points.names[point] : String(points.row[point])),
    titleOf: (point) => `Row ${own(page.nameOf(point))}, ${own(labels[points.class[point]])}`,
    cellsOf(point) {
      const place = toldAt.get(point);
      if (place === undefined) return [];
      return told.columns.filter(({ values }) => place < values.length).map(({ name, values }) => [name, values[place]]);
    },
    neighboursOf(point) {
      const place = toldAt.get(point);
      if (place === undefined || place >= told.count || !known[place]) return null;
      const { point: near, distance, weight } = told.neighbours, start = before[place] * k;
      return Array.from({ length: k }, (_, j) => ({ point: near[start + j], distance: distance[start + j], weight: weight[start + j] }));
    },
    labelsNear(point) {
      const place = points.near[point];
      if (place < 0) {
        return points.agreed[point]
          ? `all ${k} are ${cut(labels[points.class[point]], 40)}` : "not in this page";
      }
      const found = Array.from(points.near_labels.subarray(place * k, (place + 1) * k), (code) => cut(labels[code], 24));
      // The same label many times in a row is counted.
      const runs = [];
      for (const label of found) {
        if (runs.length && runs.at(-1)[0] === label) runs.at(-1)[1]++;
        else runs.push([label, 1]);
      }
      return runs.map(([label, times]) => (times > 1 ? `${label} × ${times}` : label)).join(", ");
    },
    setLevers(at) {
      view.at = at;
      view.now = decide(levers, at);
      parts.levers.update();
      later();
    },
    filtered() { later(); },
    looksChanged() { parts.chips.redraw(); },
    choose(point, from) {
      view.chosen = point;
      if (point !== null) parts.drawer.open(from);
      parts.map.choose(false);
      parts.table.show();
    },
    showOnMap() {
      const map = document.getElementById("map");
      if (matchMedia("(max-width: 75rem)").matches) parts.drawer.hide();
      map.scrollIntoView({ block: "center" });
      map.focus({ preventScroll: true });
      parts.map.choose(true);
    },
  };

  const parts = {
    levers: makeLevers(page), chips: makeChips(page), map: makeMap(page),
    confidence: makeConfidence(page), table: makeTable(page), drawer: makeDrawer(page), columns: makeColumns(page),
  };
  let waiting = false, resting = null, cost = 0;
  const tick = (name) => { document.documentElement.dataset[name] = String(Number(document.documentElement.dataset[name] ?? 0) + 1); };
  function drawMap() {
    const start = performance.now();
    parts.map.update();
    cost = performance.now() - start;
    tick("mapped");
  }
  /** Draw once a frame, however often a lever moves; a map that takes long waits until it rests. */
  function later() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      for (const name of ["confidence", "table", "drawer"]) parts[name].update();
      tick("drawn");
      clearTimeout(resting);
      if (cost < 150) drawMap();
      else resting = setTimeout(drawMap, 80);
    });
  }
  for (const element of document.querySelectorAll(".happened th[data-class]")) element.prepend(swatchOf(data, Number(element.dataset.class)));
  followTheme(() => {
    for (const [code, element] of document.querySelectorAll(".happened th[data-class]").entries()) element.querySelector("svg").replaceWith(swatchOf(data, code));
    for (const [name, part] of Object.entries(parts)) {
      const start = performance.now();
      part.redraw();
      if (name === "map") cost = performance.now() - start;
    }
  });
  for (const link of document.querySelectorAll('a[href^="#"]')) {
    // In a notebook's frame the address of this page is that of the notebook.
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const target = document.getElementById(link.hash.slice(1));
      target.scrollIntoView();
      target.focus({ preventScroll: true });
    });
  }
  // For whoever opens the console: the data, and any thresholds tried on it.
  globalThis.rectifold = { data, decide: (at) => decide(levers, at), view: () => parts.map.inView() };
  document.documentElement.dataset.ready = "";
}

read().then(open).catch((problem) => {
  for (const part of document.querySelectorAll("[data-needs-script]")) part.hidden = true;
  const box = document.getElementById("problem");
  box.hidden = false;
  box.textContent = `This page could not be shown: ${problem.message}. It needs a browser of 2023 or later.`;
  throw problem;
});
