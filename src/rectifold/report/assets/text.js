// Format numbers, names and cells, and make elements. All text becomes text nodes.

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

/** Format a cell to read: a number with five digits, and all those before the decimal point. */
const rounded = (value) => (
  typeof value !== "number" || Number.isInteger(value) ? cell(value)
    : Math.abs(value) >= 1e5 ? String(Math.round(value)) : figure(value)
);

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
