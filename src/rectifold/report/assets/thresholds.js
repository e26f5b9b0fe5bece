// Thresholds: three sliders, the counts that follow them, and the call and command that repeat them.

// The one that decides most comes first.
const SLIDERS = [
  { id: "gamma", sign: "γ", meaning: "Maximum fraction of a protected class that is removed." },
  { id: "beta", sign: "β", meaning: "A sample of a protected class is a candidate if the vote for larger classes exceeds beta." },
  { id: "alpha", sign: "α", meaning: "A sample of a strict class is removed if the vote for its own class is below alpha." },
];

function makeThresholds(page) {
  const { data, view } = page, { thresholds } = data, dead = thresholds.dead_zone_of_alpha;
  const form = document.getElementById("thresholds");
  form.addEventListener("submit", (event) => event.preventDefault());
  const inputs = SLIDERS.map(({ id, sign, meaning }) => {
    const range = make("input", { type: "range", id, min: 0, max: 1, step: 0.01, "aria-describedby": `${id}-meaning` });
    const number = make("input", { type: "number", min: 0, max: 1, step: 0.01, "aria-label": `${id}, as a number` });
    const text = make("p", { id: `${id}-meaning` }, meaning);
    const track = make("div", { class: "track" }, range);
    if (id === "alpha" && dead) {
      const shade = make("span", { class: "dead", "aria-hidden": "true" });
      shade.style.setProperty("--to", dead);
      track.prepend(shade);
    }
    form.append(make("div", { class: "threshold" },
      make("label", { for: id }, make("span", {}, `${sign} ${id}`), number), track, text));
    range.addEventListener("input", () => move(id, Number(range.value)));
    number.addEventListener("change", () => move(id, number.valueAsNumber));
    return { id, range, number, text, meaning };
  });
  const back = make("button", { type: "button", class: "quiet", id: "as-run" }, "As in this run");
  form.append(make("div", { class: "threshold-end" }, back));
  back.addEventListener("click", () => page.setThresholds(page.placesOfRun()));

  /** Take the nearest value of the grid; the value of the run only if it is entered exactly. */
  function move(id, wanted) {
    const { values, run } = thresholds[id];
    if (!Number.isFinite(wanted)) { update(); return; }
    const value = wanted === run ? run : Math.round(Math.min(1, Math.max(0, wanted)) * thresholds.steps) / thresholds.steps;
    page.setThresholds({ ...view.at, [id]: values.indexOf(value) });
  }

  function update() {
    const set = {};
    for (const { id, range, number, text, meaning } of inputs) {
      const value = thresholds[id].values[view.at[id]];
      set[id] = value;
      range.value = value;
      range.setAttribute("aria-valuetext", String(value));
      number.value = value;
      const note = id === "alpha" && dead
        ? ` Values up to ${short(dead)} (hatched) decide nothing: below, the neighbours predict another class.` : "";
      text.textContent = `${meaning}${note} In this run: ${Number(thresholds[id].run.toPrecision(6))}.`;
      number.title = `${value}; any value to three decimals`;
    }
    counts();
    back.disabled = SLIDERS.every(({ id }) => set[id] === thresholds[id].run);
    // Arguments that are the defaults of GMR are omitted.
    const given = SLIDERS.filter(({ id }) => set[id] !== thresholds[id].default).sort((a, b) => a.id.localeCompare(b.id));
    const all = [...given.map(({ id }) => `${id}=${set[id]}`), ...data.arguments.map(([name, text]) => `${name}=${text}`)];
    document.getElementById("call").textContent = `GMR(${all.join(", ")})`;
    document.getElementById("command").textContent = [data.command.text, ...given.map(({ id }) => `--${id} ${set[id]}`)].join(" ");
  }

  function counts() {
    const body = document.querySelector("#now tbody");
    const before = data.summary.classes;
    const total = { before: 0, after: 0, removed: 0, spared: 0 };
    const line = (head, one, run) => make("tr", {}, make("th", { scope: "row", title: head.at(-1) }, ...head),
      ...["before", "after", "removed", "spared"].map((name) => (
        make("td", { class: run && one[name] !== run[name] ? "changed" : null, "data-count": name }, count(one[name]))
      )));
    body.replaceChildren(...view.now.counts.map((one, code) => {
      const shown = { before: one.before, after: one.after, removed: one.before - one.after, spared: one.spared };
      for (const name of Object.keys(total)) total[name] += shown[name];
      return line([swatchOf(data, code), data.labels[code]], shown, before[code]);
    }), line(["all"], total, null));
    const more = total.removed - data.summary.removed;
    const after = view.now.counts.map((one) => one.after);
    const ratio = Math.min(...after) ? (Math.max(...after) / Math.min(...after)).toFixed(2) : "none: a class is empty";
    const than = more === 0 ? "as many samples are removed as in this run" : `${samples(Math.abs(more), more > 0 ? "more" : "fewer")} ${Math.abs(more) === 1 ? "is" : "are"} removed than in this run`;
    document.getElementById("change").textContent = `Imbalance ratio ${ratio}; ${than}.`;
  }

  const note = document.getElementById("command-note");
  if (data.command.unsupported.length) {
    note.hidden = false;
    note.textContent = `The command line has no option for ${data.command.unsupported.join(", ")}: its result may differ.`;
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

/** Make the check boxes for the classes and outcomes that are shown. */
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
