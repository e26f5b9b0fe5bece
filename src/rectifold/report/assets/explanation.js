// The page of an explanation: the list of samples, and the parts and neighbours of the chosen one.

const CLASSIFIER = 2, VOTE = 3;

function open(data) {
  const { samples: listed, train, labels, columns, positive, weight } = data;
  const list = document.getElementById("list"), search = document.getElementById("search");
  const hasVote = data.n_train !== null;
  const view = { chosen: 0, shown: [], differing: false };

  const nameOf = (table, place) => (table.index ? table.index[place] : count(table.row[place]));
  // 0.0 % would look like none.
  const percent = (part) => (part > 0 && part < 0.0005 ? "< 0.1 %" : `${(100 * part).toFixed(1)} %`);
  /** Return probability, classifier's part and vote's part of the positive class. */
  const partsOf = (place) => {
    const [, p, classifier, vote] = listed.classes[place][0];
    return { p, classifier: (1 - weight) * classifier, vote: vote === null ? 0 : weight * vote };
  };

  function bar(place) {
    const { classifier, vote } = partsOf(place);
    const part = (kind, size) => {
      const element = make("span", { class: `part ${kind}` });
      element.style.width = `${100 * size}%`;
      return element;
    };
    return make("span", { class: "sum", "aria-hidden": "true" }, part("classifier", classifier), part("vote", vote));
  }

  const words = [];
  /** Return the searchable text of a sample. */
  const wordsOf = (place) => (words[place] ??= [
    nameOf(listed, place), String(listed.row[place]), labels[listed.predicted[place]],
    ...columns.map((column) => cell(column.cells[place])),
  ].join("\u0001").toLowerCase());

  function showList() {
    const wanted = search.value.trim().toLowerCase();
    view.shown = listed.row.map((_, place) => place).filter((place) => !wanted || wordsOf(place).includes(wanted));
    list.replaceChildren(...view.shown.map((place) => make("li", {
      role: "option", id: `sample-${place}`, "aria-selected": String(place === view.chosen), onclick: () => choose(place),
    },
    make("span", { class: "name", title: nameOf(listed, place) }, `sample ${nameOf(listed, place)}`),
    make("span", { class: "of" }, share(partsOf(place).p)),
    make("span", { class: "label" }, swatchOf(data, listed.predicted[place]), labels[listed.predicted[place]]),
    bar(place))));
    document.getElementById("list-note").textContent = view.shown.length < listed.row.length
      ? `${count(view.shown.length)} of ${count(listed.row.length)} samples match.` : "";
    markChosen();
  }

  function markChosen() {
    for (const element of list.children) element.setAttribute("aria-selected", String(element.id === `sample-${view.chosen}`));
    if (view.shown.includes(view.chosen)) list.setAttribute("aria-activedescendant", `sample-${view.chosen}`);
    else list.removeAttribute("aria-activedescendant");
  }

  function choose(place) {
    view.chosen = place;
    markChosen();
    document.getElementById(`sample-${place}`)?.scrollIntoView({ block: "nearest" });
    show();
  }

  list.addEventListener("keydown", (event) => {
    const at = view.shown.indexOf(view.chosen), last = view.shown.length - 1;
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + 10, PageUp: at - 10, Home: 0, End: last }[event.key];
    if (to === undefined || last < 0) return;
    event.preventDefault();
    choose(view.shown[Math.min(last, Math.max(0, to))]);
  });

  function show() {
    const place = view.chosen;
    document.getElementById("one-title").textContent = `Sample ${isolated(nameOf(listed, place))}`;
    document.getElementById("one-lead").replaceChildren(
      "Predicted ", swatchOf(data, listed.predicted[place]), isolated(labels[listed.predicted[place]]),
      `; the probability of ${isolated(labels[positive])} is ${share(partsOf(place).p)}.`);
    showSum(place);
    showNear(place);
    showColumns(place);
  }

  function showSum(place) {
    const { p, classifier, vote } = partsOf(place);
    const name = isolated(labels[positive]);
    const label = `Probability of ${name}: ${share(p)}, of which ${share(classifier)} from the classifier and ${share(vote)} from the vote`;
    const drawn = make("div", { role: "img", "aria-label": label }, bar(place),
      make("div", { class: "axis", "aria-hidden": "true" }, ...["0", "0.25", "0.5", "0.75", "1"].map((mark) => make("span", {}, mark))));
    const all = listed.classes[place].toSorted((a, b) => b[1] - a[1]);
    const line = (title, key, factor, column) => make("tr", {}, make("th", { scope: "row" }, make("span", { class: `key ${key}` }), title),
      make("td", {}, figure(Number(factor.toPrecision(3)))),
      ...all.map((one) => make("td", {}, `× ${share(one[column])} = ${share(factor * one[column])}`)));
    document.getElementById("sum").replaceChildren(drawn, make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Parts of the probabilities" }, make("table", {},
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "part"), make("th", { scope: "col" }, "weight"),
        ...all.map((one) => make("th", { scope: "col", class: "named" }, swatchOf(data, one[0]), cut(labels[one[0]], 40))))),
      make("tbody", {}, line("classifier", "classifier", 1 - weight, CLASSIFIER), ...(hasVote ? [line("vote of neighbours", "vote", weight, VOTE)] : [])),
      make("tfoot", {}, make("tr", {}, make("th", { scope: "row" }, "probability"), make("td", {}), ...all.map((one) => make("td", {}, share(one[1])))))),
    ), ...(labels.length > all.length ? [make("p", { class: "hint" }, `The ${all.length} most probable of ${count(labels.length)} classes.`)] : []));
  }

  function showNear(place) {
    const near = listed.near[place], box = document.getElementById("near");
    if (!near.length) return box.replaceChildren();
    const total = near.reduce((sum, one) => sum + one[1], 0), most = near[0][1];
    const compared = columns.filter((column) => column.compared).length;
    const note = total < 0.9995
      ? `The ${near.length} with most weight, together ${percent(total)} of the vote, among ${count(data.n_train)} training samples.`
      : `All ${near.length} that voted among ${count(data.n_train)} training samples.`;
    box.replaceChildren(make("h3", {}, "Training samples that voted"), make("p", { class: "hint" }, note),
      make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Training samples that voted" }, make("table", {},
        make("thead", {}, make("tr", {}, ...["sample", "label", "weight", "distance", ...(compared ? ["equal cells"] : [])]
          .map((title) => make("th", { scope: "col", class: title === "label" ? "word" : null }, title)))),
        make("tbody", {}, ...near.map(([other, part, distance, marks]) => {
          const size = make("span", { class: "weight", "aria-hidden": "true" });
          size.style.setProperty("--part", String(part / most));
          const code = train.class[other];
          return make("tr", {}, make("th", { scope: "row" }, cut(nameOf(train, other), 40)),
            make("td", { class: "word" }, swatchOf(data, code), cut(labels[code], 40)),
            make("td", {}, size, ` ${percent(part)}`), make("td", {}, distance === null ? "very far" : figure(Number(distance.toPrecision(3)))),
            ...(compared ? [make("td", {}, `${[...marks].filter((mark) => mark === "1").length} of ${compared}`)] : []));
        })))));
  }

  function showColumns(place) {
    const box = document.getElementById("beside");
    const near = data.has_train ? listed.near[place] : [];
    const content = (value, kind) => {
      const text = rounded(value);
      const classes = [kind, typeof value === "string" && text.length > 16 ? "long" : ""].filter(Boolean).join(" ");
      return make("td", { class: classes || null, title: cell(value) },
        value === null ? make("span", { class: "missing" }, "missing") : text === "" ? make("span", { class: "missing" }, "empty") : text);
    };
    const lines = columns.map((column, at) => ({ column, at })).filter(({ at }) => !view.differing || !columns[at].compared || near.some((one) => one[3][at] !== "1"));
    const toggle = make("input", { type: "checkbox", id: "differing", checked: view.differing, onchange: (event) => {
      view.differing = event.target.checked;
      showColumns(place);
      document.getElementById("differing").focus();
    } });
    const head = make("tr", {}, make("th", { scope: "col" }, "column"), make("th", { scope: "col", class: "own" }, make("strong", {}, "this sample"), share(partsOf(place).p)),
      ...near.map(([other, part]) => make("th", { scope: "col" }, make("strong", {}, cut(nameOf(train, other), 24)), make("span", {}, swatchOf(data, train.class[other]), cut(labels[train.class[other]], 24)), percent(part))));
    const table = make("table", {}, make("thead", {}, head), make("tbody", {}, ...lines.map(({ column, at }) => make("tr", {},
      make("th", { scope: "row", title: column.name }, cut(column.name, 60) || "(empty)", ...(near.length && !column.compared ? [make("span", { class: "missing" }, " not compared")] : [])), content(column.cells[place], "own"),
      ...near.map(([other, , , marks]) => (column.train === null ? make("td", { class: "missing" }, "–")
        : content(column.train[other], ["", "same", "far"][Number(marks[at])])))))));
    const fewer = columns.length < data.n_columns
      ? [make("p", { class: "hint" }, `${columns.length} of ${count(data.n_columns)} columns${data.has_train && hasVote ? `: those in which training samples of ${isolated(labels[positive])} differ most from the others` : ""}.`)] : [];
    box.replaceChildren(make("h3", {}, near.length ? "Columns, beside those of the training samples" : "Columns"), ...fewer,
      ...(near.length ? [make("div", { class: "legend" },
        make("span", {}, make("span", { class: "mark same" }, "="), "equal to the sample"),
        make("span", {}, make("span", { class: "mark far" }, "≠"), "differs most from the sample"),
        make("label", {}, toggle, "only columns that differ"))] : []),
      make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Columns" }, table));
    // The sample's own cells stay beside the names of the columns.
    const names = table.querySelector("thead th");
    table.style.setProperty("--names", `${names.getBoundingClientRect().width}px`);
  }

  search.addEventListener("input", showList);
  followTheme(() => { showList(); show(); });
  for (const link of document.querySelectorAll('a[href^="#"]')) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const target = document.getElementById(link.hash.slice(1));
      target.scrollIntoView();
      target.focus({ preventScroll: true });
    });
  }
  // For the browser's console and tests.
  globalThis.rectifold = { data };
  document.documentElement.dataset.ready = "";
}

unpacked(document.getElementById("facts")).then((facts) => open(JSON.parse(new TextDecoder().decode(facts)))).catch(fail);
