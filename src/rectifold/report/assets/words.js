// Words: numbers, names and sentences as the page writes them. All text becomes text nodes.

const OUTCOMES = [
  { id: "kept", name: "kept", decision: KEPT, reason: 0 },
  { id: "intrusion", name: "removed: intrusion", decision: REMOVED, reason: INTRUSION },
  { id: "ambiguity", name: "removed: ambiguity", decision: REMOVED, reason: AMBIGUITY },
  { id: "deep noise", name: "removed: deep noise", decision: REMOVED, reason: DEEP_NOISE },
  { id: "spared", name: "spared", decision: SPARED },
];
// What a decision and a reason come to.
const OUTCOME = [
  OUTCOMES.slice(0, 1), OUTCOMES, [INTRUSION, INTRUSION, AMBIGUITY, DEEP_NOISE].map((reason) => ({ ...OUTCOMES[4], reason })),
];
const REASONS = ["", "intrusion", "ambiguity", "deep noise"];
const DECISIONS = ["kept", "removed", "spared"];

const whole = new Intl.NumberFormat("en-US");
const count = (number) => whole.format(number);
const share = (number) => number.toFixed(3);
const cut = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);

/** Write a number with as many digits as one reads. */
function figure(number) {
  if (Number.isInteger(number) && Math.abs(number) < 1e9) return String(number);
  const size = Math.abs(number);
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) return number.toExponential(3);
  return String(Number(number.toPrecision(5)));
}

/** Write a number where there is little room. */
const short = (number) => (Number.isInteger(number) && Math.abs(number) < 1e5 ? String(number) : figure(Number(number.toPrecision(3))));

/** Write a cell of the caller's table, as it is. */
const cell = (value) => (value === null || value === undefined ? "" : String(value));

/** Read text that is a number. */
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const asNumber = (value) => (
  typeof value === "number" ? value
    : /^[+-]?inf$/.test(value) ? (value[0] === "-" ? -Infinity : Infinity)
      : NUMBER.test(value) ? Number(value) : NaN
);

/** Keep a name from changing the direction of what is around it. */
const own = (name) => `\u2068${cut(name, 60)}\u2069`;

/** Make an element; children that are no elements become text. */
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

/** Say what becomes of a row, and why. */
function verdict(data, point, now) {
  const { labels, points } = data;
  const label = labels[points.class[point]], predicted = labels[points.predicted[point]];
  const votes = `the vote for its own class is ${share(points.confidence[point])}`;
  const larger = `the vote for larger classes is ${share(points.larger ? points.larger[point] : 1 - points.confidence[point])}`;
  const neighbours = points.predicted[point] === points.class[point]
    ? `Its neighbours agree that it is ${own(label)}; ${votes}`
    : `Its neighbours predict ${own(predicted)}; ${votes}`;
  if (now.decision === KEPT) return `Kept. ${neighbours}.`;
  const stays = now.decision === SPARED;
  if (now.reason === DEEP_NOISE) {
    return `${stays ? "A candidate, spared by the cap." : "Removed as deep noise."} Its neighbours predict ${own(predicted)}; ${larger}.`;
  }
  const why = now.reason === INTRUSION ? "an intrusion" : "ambiguous";
  return `${stays ? "A candidate, spared by the floor of its class." : `Removed as ${why}.`} ${neighbours}.`;
}
