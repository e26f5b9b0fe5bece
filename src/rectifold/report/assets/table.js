// Table: removed and spared samples, to sort, search, filter and download.

const PER_PAGE = 25;

function makeTable(page) {
  const { data, view } = page, { points, details, labels } = data;
  const head = document.querySelector("#table thead"), body = document.querySelector("#table tbody");
  const search = document.getElementById("search");
  const sort = { by: null, down: false };
  let at = 0, rows = [];

  const fixed = [
    ...(points.index ? [{ name: "index", file: "rectifold_index", of: (i) => page.nameOf(i) }] : []),
    { name: "row", file: "rectifold_row", of: (i) => points.row[i] },
    { name: "class", file: "rectifold_class", of: (i) => labels[points.class[i]], word: true, swatch: true },
    { name: "neighbours predict", file: "rectifold_predicted", of: (i) => labels[points.predicted[i]], word: true },
    { name: "decision", file: "rectifold_decision", of: (i) => DECISIONS[page.outcomeOf(i).decision], word: true, follows: true },
    { name: "reason", file: "rectifold_reason", of: (i) => REASONS[page.outcomeOf(i).reason], word: true, follows: true },
    { name: "confidence", file: "rectifold_confidence", of: (i, k) => details.confidence[k], show: share },
  ];
  const own = details.columns.map(({ name, values }) => ({ name, of: (i, k) => values[k], word: values.some((v) => typeof v === "string") }));
  const columns = [...fixed, ...own];
  const text = (column, i, k) => {
    const value = column.of(i, k);
    return (column.show && typeof value === "number" ? column.show : rounded)(value);
  };
  const lower = [];

  /** Return the searchable text of a sample, without what follows the thresholds. */
  const wordsOf = (k) => (lower[k] ??= columns.filter((column) => !column.follows)
    .flatMap((column) => [text(column, details.point[k], k), cell(column.of(details.point[k], k))]).join("\u0001").toLowerCase());

  function collect() {
    const wanted = search.value.trim().toLowerCase();
    rows = [];
    let listed = 0;
    for (let k = 0; k < details.count; k++) {
      const i = details.point[k], outcome = page.outcomeOf(i);
      if (outcome.decision === KEPT) continue;
      listed++;
      if (!view.classes.has(points.class[i]) || !view.outcomes.has(outcome.id)) continue;
      if (wanted && !wordsOf(k).includes(wanted) && !`${outcome.name} ${REASONS[outcome.reason]}`.includes(wanted)) continue;
      rows.push(k);
    }
    if (sort.by !== null) {
      const column = columns[sort.by], way = sort.down ? -1 : 1;
      const empty = (value) => value === null || value === undefined || value === "";
      rows.sort((a, b) => {
        const x = column.of(details.point[a], a), y = column.of(details.point[b], b);
        if (empty(x) || empty(y)) return empty(x) - empty(y);
        const m = asNumber(x), n = asNumber(y);
        // Numbers come before words, including numbers that are stored as text.
        if (Number.isNaN(m) !== Number.isNaN(n)) return way * (Number.isNaN(m) - Number.isNaN(n));
        const order = Number.isNaN(m) ? String(x).localeCompare(String(y), "en", { numeric: true }) : m === n ? 0 : m - n;
        return way * order || a - b;
      });
    }
    const all = view.now.counts.reduce((sum, one) => sum + one.before - one.after + one.spared, 0);
    document.getElementById("samples-note").textContent =
      `${samples(all)} ${all === 1 ? "is" : "are"} removed or spared with these thresholds` +
      (listed < all ? `; this page lists ${count(listed)} of them. Option --removed, or to_frame() in Python, lists all` : "") +
      (rows.length < listed ? `. ${count(rows.length)} match the search and the filters above the map` : "") +
      ". Click a sample to see its neighbours." +
      (details.columns.length < data.n_columns ? ` ${details.columns.length} of ${data.n_columns} columns are shown: those in which removed samples differ most.` : "");
  }

  function headings() {
    head.replaceChildren(make("tr", {}, ...columns.map((column, place) => {
      const sorted = sort.by === place ? (sort.down ? "descending" : "ascending") : "none";
      const arrow = sort.by === place ? (sort.down ? " ↓" : " ↑") : "";
      return make("th", { scope: "col", "aria-sort": sorted, class: column.word ? "word" : null, title: column.name },
        make("button", { type: "button", onclick: () => {
          sort.down = sort.by === place && !sort.down;
          sort.by = place;
          at = 0;
          update();
          head.querySelectorAll("button")[place].focus();
        } }, cut(column.name, 30) + arrow));
    })));
  }

  function show() {
    const pages = Math.max(1, Math.ceil(rows.length / PER_PAGE));
    at = Math.min(at, pages - 1);
    body.replaceChildren(...rows.slice(at * PER_PAGE, (at + 1) * PER_PAGE).map((k) => {
      const i = details.point[k];
      const line = make("tr", { class: view.chosen === i ? "chosen" : null }, ...columns.map((column, place) => {
        const words = text(column, i, k), whole = cell(column.of(i, k));
        if (place === 0) return make("td", {}, make("button", { type: "button", title: words, "data-point": i }, cut(words, 40)));
        return make("td", { class: column.word ? "word" : null, title: words.length > 24 || words !== whole ? whole : null },
          ...(column.swatch ? [swatchOf(data, points.class[i])] : []), words);
      }));
      line.addEventListener("click", () => { if (!getSelection().toString()) page.choose(i, line.querySelector("button")); });
      return line;
    }));
    if (!rows.length) body.replaceChildren(make("tr", {}, make("td", { colspan: columns.length }, "No sample matches.")));
    document.getElementById("page").textContent = `Page ${at + 1} of ${pages}`;
    document.getElementById("previous").disabled = at === 0;
    document.getElementById("next").disabled = at === pages - 1;
  }

  function update() { collect(); headings(); show(); }

  search.addEventListener("input", () => { at = 0; update(); });
  document.getElementById("previous").addEventListener("click", () => { at--; show(); });
  document.getElementById("next").addEventListener("click", () => { at++; show(); });
  document.getElementById("download").addEventListener("click", () => {
    const quoted = (value) => {
      let words = value === null || value === undefined ? "" : String(value);
      // A spreadsheet would evaluate text that begins like a formula.
      if (typeof value === "string" && /^[=+\-@\t\r]/.test(words) && Number.isNaN(asNumber(words))) words = `'${words}`;
      return /[",\r\n]/.test(words) ? `"${words.replaceAll('"', '""')}"` : words;
    };
    const lines = [columns.map((column) => quoted(column.file ?? column.name)), ...rows.map((k) => columns.map((column) => quoted(column.of(details.point[k], k))))];
    const blob = new Blob(["\ufeff" + lines.map((line) => line.join(",")).join("\r\n") + "\r\n"], { type: "text/csv" });
    const link = make("a", { href: URL.createObjectURL(blob), download: "rectifold-samples.csv" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  });
  return { update, redraw: update, show };
}
