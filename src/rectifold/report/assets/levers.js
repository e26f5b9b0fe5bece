// Levers: three thresholds to move, the counts that follow, and what to type to get the same.

const LEVERS = [
  { id: "alpha", sign: "α", says: "A strict row goes when the vote for its own class is below this." },
  { id: "beta", sign: "β", says: "A protected row is a candidate when the vote for larger classes is above this." },
  { id: "gamma", sign: "γ", says: "The fraction of a protected class that may go, at most." },
];

function makeLevers(page) {
  const { data, view } = page, { levers } = data;
  const form = document.getElementById("levers");
  form.addEventListener("submit", (event) => event.preventDefault());
  const inputs = LEVERS.map(({ id, sign, says }) => {
    const range = make("input", { type: "range", id, min: 0, max: 1, step: 0.01, "aria-describedby": `${id}-says` });
    const number = make("input", { type: "number", min: 0, max: 1, step: 0.01, "aria-label": `${id}, as a number` });
    const says_ = make("p", { id: `${id}-says` }, says);
    form.append(make("div", { class: "lever" },
      make("label", { for: id }, make("span", {}, `${sign} ${id}`), number), range, says_));
    range.addEventListener("input", () => move(id, Number(range.value)));
    number.addEventListener("change", () => move(id, number.valueAsNumber));
    return { id, range, number, says: says_, text: says };
  });
  const back = make("button", { type: "button", class: "quiet", id: "as-run" }, "As in this run");
  form.append(make("div", { class: "lever-end" }, back));
  back.addEventListener("click", () => page.setLevers(page.ownPlaces()));

  /** Take the nearest value of the grid; the run's own only if it is meant exactly. */
  function move(id, wanted) {
    const { values, own } = levers[id];
    if (!Number.isFinite(wanted)) { update(); return; }
    const value = wanted === own ? own : Math.round(Math.min(1, Math.max(0, wanted)) * levers.steps) / levers.steps;
    page.setLevers({ ...view.at, [id]: values.indexOf(value) });
  }

  function update() {
    const set = {};
    for (const { id, range, number, says, text } of inputs) {
      const value = levers[id].values[view.at[id]];
      set[id] = value;
      range.value = value;
      range.setAttribute("aria-valuetext", String(value));
      number.value = value;
      const own = levers[id].own;
      const idle = id === "alpha" && levers.alpha_is_idle && value <= 0.5
        ? " With two classes it has no effect up to 0.5." : "";
      says.textContent = `${text}${idle} In this run: ${Number(own.toPrecision(6))}.`;
      number.title = `${value}; any value to three decimals`;
    }
    counts();
    const isOwn = LEVERS.every(({ id }) => set[id] === levers[id].own);
    back.disabled = isOwn;
    // The defaults of GMR are left out, as one would.
    const given = LEVERS.filter(({ id }) => set[id] !== levers[id].default);
    const all = [...given.map(({ id }) => `${id}=${set[id]}`), ...data.python.map(([name, text]) => `${name}=${text}`)];
    document.getElementById("call").textContent = `GMR(${all.join(", ")})`;
    document.getElementById("command").textContent = [data.command.text, ...given.map(({ id }) => `--${id} ${set[id]}`)].join(" ");
  }

  function counts() {
    const body = document.querySelector("#now tbody");
    const before = data.summary.classes;
    const total = { before: 0, after: 0, removed: 0, spared: 0 };
    const line = (head, one, own) => make("tr", {}, make("th", { scope: "row", title: head.at(-1) }, ...head),
      ...["before", "after", "removed", "spared"].map((name) => (
        make("td", { class: own && one[name] !== own[name] ? "changed" : null, "data-count": name }, count(one[name]))
      )));
    body.replaceChildren(...view.now.counts.map((one, code) => {
      const shown = { before: one.before, after: one.after, removed: one.before - one.after, spared: one.spared };
      for (const name of Object.keys(total)) total[name] += shown[name];
      return line([swatchOf(data, code), data.labels[code]], shown, before[code]);
    }), line(["all"], total, null));
    const ran = data.summary.removed, more = total.removed - ran;
    const after = view.now.counts.map((one) => one.after);
    const ratio = Math.min(...after) ? (Math.max(...after) / Math.min(...after)).toFixed(2) : "none: a class is empty";
    const than = more === 0 ? "as many rows go as in this run" : `${count(Math.abs(more))} ${more > 0 ? "more" : "fewer"} ${Math.abs(more) === 1 ? "row goes" : "rows go"} than in this run`;
    document.getElementById("change").textContent = `Imbalance ratio ${ratio}; ${than}.`;
  }

  const note = document.getElementById("command-note");
  if (data.command.without.length) {
    note.hidden = false;
    note.textContent = `The command line has no option for ${data.command.without.join(", ")}: its result may differ.`;
  }
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", async () => {
      const source = document.getElementById(button.dataset.copy);
      try {
        await navigator.clipboard.writeText(source.textContent);
      } catch {
        getSelection().selectAllChildren(source);
        document.execCommand("copy");
      }
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
  }
  return { update, redraw: update };
}

const MOST_CHIPS = 40;

/** Chips: which classes and which outcomes are shown. */
function makeChips(page) {
  const { data, view } = page;
  const box = document.getElementById("chips");
  const chip = (set, value, text) => {
    const input = make("input", { type: "checkbox", "data-shows": String(value) });
    input.checked = set.has(value);
    input.addEventListener("change", () => { input.checked ? set.add(value) : set.delete(value); page.filtered(); });
    return make("label", { title: text }, input, make("span", { class: "look" }), make("span", { class: "text" }, text));
  };
  const most = data.largest_first.slice(0, MOST_CHIPS);
  const looks = [
    ...most.map((code) => () => swatchOf(data, code)),
    ...OUTCOMES.map(({ id }) => () => (id === "kept" ? "" : markOf(id, view.crowded))),
  ];
  box.append(
    ...most.map((code) => chip(view.classes, code, data.labels[code])),
    ...OUTCOMES.map(({ id, name }) => chip(view.outcomes, id, name)));
  if (most.length < data.labels.length) box.append(make("span", { class: "hint" }, `${data.labels.length - most.length} more classes are always shown.`));
  const redraw = () => box.querySelectorAll(".look").forEach((place, at) => place.replaceChildren(looks[at]()));
  return { update() {}, redraw };
}
