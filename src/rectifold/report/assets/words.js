// Format numbers, names and sentences. All text becomes text nodes.

const OUTCOMES = [
  { id: "kept", name: "kept", decision: KEPT, reason: 0 },
  { id: "intrusion", name: "removed: intrusion", decision: REMOVED, reason: INTRUSION },
  { id: "ambiguity", name: "removed: ambiguity", decision: REMOVED, reason: AMBIGUITY },
  { id: "deep noise", name: "removed: deep noise", decision: REMOVED, reason: DEEP_NOISE },
  { id: "spared", name: "spared", decision: SPARED },
];
// The outcome by decision and reason.
const OUTCOME = [
  OUTCOMES.slice(0, 1), OUTCOMES, [INTRUSION, INTRUSION, AMBIGUITY, DEEP_NOISE].map((reason) => ({ ...OUTCOMES[4], reason })),
];
const REASONS = ["", "intrusion", "ambiguity", "deep noise"];
const DECISIONS = ["kept", "removed", "spared"];

const integers = new Intl.NumberFormat("en-US");
const count = (number) => integers.format(number);
const samples = (number, adjective = "") => `${count(number)} ${adjective && `${adjective} `}${number === 1 ? "sample" : "samples"}`;
const share = (number) => number.toFixed(3);
const cut = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);

/** Format a number with up to five digits. */
function figure(number) {
  if (Number.isInteger(number) && Math.abs(number) < 1e9) return String(number);
  const size = Math.abs(number);
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) return number.toExponential(3);
  return String(Number(number.toPrecision(5)));
}

/** Format a number with up to three digits. */
const short = (number) => (Number.isInteger(number) && Math.abs(number) < 1e5 ? String(number) : figure(Number(number.toPrecision(3))));

/** Format a cell of the table. */
const cell = (value) => (value === null || value === undefined ? "" : String(value));

/** Parse text that is a number; other text is NaN. */
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const asNumber = (value) => (
  typeof value === "number" ? value
    : /^[+-]?inf$/.test(value) ? (value[0] === "-" ? -Infinity : Infinity)
      : NUMBER.test(value) ? Number(value) : NaN
);

/** Isolate a name, so that it does not change the direction of the text around it. */
const isolated = (name) => `\u2068${cut(name, 60)}\u2069`;

/** Make an element; children that are not elements become text. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** Return a sentence on the decision on a sample and its reason. */
function verdict(data, point, now) {
  const { labels, points } = data;
  const label = labels[points.class[point]], predicted = labels[points.predicted[point]];
  const votes = `the vote for its own class is ${share(points.confidence[point])}`;
  const larger = `the vote for larger classes is ${share(points.larger ? points.larger[point] : 1 - points.confidence[point])}`;
  const neighbours = points.predicted[point] === points.class[point]
    ? `Its neighbours predict its own label, ${isolated(label)}; ${votes}`
    : `Its neighbours predict ${isolated(predicted)}; ${votes}`;
  if (now.decision === KEPT) return `Kept. ${neighbours}.`;
  const spared = now.decision === SPARED;
  if (now.reason === DEEP_NOISE) {
    return `${spared ? "A candidate, spared because of the cap of its class." : "Removed as deep noise."} Its neighbours predict ${isolated(predicted)}; ${larger}.`;
  }
  const why = now.reason === INTRUSION ? "an intrusion" : "ambiguous";
  return `${spared ? "A candidate, spared because of the floor of its class." : `Removed as ${why}.`} ${neighbours}.`;
}
