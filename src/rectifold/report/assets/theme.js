// Theme: colours and shapes, light and dark. Classes differ in shape too, for colour-blind readers.

const PALETTES = {
  light: ["#4477aa", "#cc3311", "#228833", "#b8860b", "#aa3377", "#1f9fbf", "#e0701a", "#707070"],
  dark: ["#7aa6d6", "#ff7f63", "#5dbb70", "#dcc45c", "#da82b6", "#7fd3ec", "#ffab66", "#b4b4b4"],
};
// Shapes that a canvas draws fast.
const SIMPLE = new Set(["circle", "rect"]);
const SHAPES = ["circle", "rect", "triangle", "diamond", "roundRect", "pin", "arrow"];
// Marks are drawn over the shape of the class.
const MARKS = {
  "intrusion": "path://M-1,-.82L-.82,-1L0,-.18L.82,-1L1,-.82L.18,0L1,.82L.82,1L0,.18L-.82,1L-1,.82L-.18,0Z",
  "ambiguity": "path://M-.13,-1L.13,-1L.13,-.13L1,-.13L1,.13L.13,.13L.13,1L-.13,1L-.13,.13L-1,.13L-1,-.13L-.13,-.13Z",
  "deep noise": "path://M-1,-.8L1,-.8L0,1ZM-.62,-.58L0,.54L.62,-.58Z",
  "spared": "path://M0,-1A1,1,0,1,1,0,1A1,1,0,1,1,0,-1ZM0,-.76A.76,.76,0,1,0,0,.76A.76,.76,0,1,0,0,-.76Z",
};
// Thousands of marks would overlap and be slow to draw: then they are dots that differ in lightness,
// with or without colour vision. Symbols under four pixels are drawn as dots, whatever their shape.
const CROWD = 1500, DOT = 3;
const CROWDED = { "intrusion": "--dot-1", "ambiguity": "--dot-2", "deep noise": "--dot-3", "spared": "--dot-4" };
const markColour = (id, crowded) => css(crowded ? CROWDED[id] : id === "spared" ? "--soft" : "--ink");
const SVG = {
  circle: "M0,-1A1,1,0,1,1,0,1A1,1,0,1,1,0,-1Z", rect: "M-.9,-.9H.9V.9H-.9Z",
  triangle: "M0,-1L1,.9H-1Z", diamond: "M0,-1L1,0L0,1L-1,0Z",
  roundRect: "M-.5,-.9H.5Q.9,-.9 .9,-.5V.5Q.9,.9 .5,.9H-.5Q-.9,.9 -.9,.5V-.5Q-.9,-.9 -.5,-.9Z",
  pin: "M0,1L-.6,-.1A.65,.65,0,1,1,.6,-.1Z", arrow: "M0,-1L.8,1L0,.5L-.8,1Z",
};

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const isDark = () => document.documentElement.dataset.theme === "dark";

/** Return colour and shape of a class by the rank of its size. */
function lookOf(data, code) {
  const place = data.largest_first.indexOf(code);
  const colours = PALETTES[isDark() ? "dark" : "light"];
  return { place, colour: colours[place % colours.length], shape: SHAPES[place % SHAPES.length] };
}

/** Return a shape or a mark in the size of text. */
function swatch(path, colour) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "-1.1 -1.1 2.2 2.2");
  svg.setAttribute("class", "swatch");
  svg.setAttribute("aria-hidden", "true");
  const shape = document.createElementNS("http://www.w3.org/2000/svg", "path");
  shape.setAttribute("d", path);
  shape.setAttribute("fill", colour);
  shape.setAttribute("fill-rule", "evenodd");
  svg.append(shape);
  return svg;
}
const swatchOf = (data, code) => {
  const look = lookOf(data, code);
  return swatch(SVG[look.shape], look.colour);
};
const markOf = (id, crowded) => swatch(crowded ? SVG.rect : MARKS[id].replace("path://", ""), markColour(id, crowded));

/** Make a chart that follows the width of its element. */
function chartIn(element) {
  const chart = echarts.init(element, null, { renderer: "canvas" });
  new ResizeObserver(() => chart.resize()).observe(element);
  return chart;
}

/** Return options of an axis with the common defaults. */
function axis(more) {
  return {
    nameTextStyle: { color: css("--soft") },
    axisLabel: { color: css("--soft"), hideOverlap: true },
    axisLine: { lineStyle: { color: css("--line") } },
    axisTick: { lineStyle: { color: css("--line") } },
    splitLine: { lineStyle: { color: css("--line"), opacity: 0.5 } },
    ...more,
  };
}
const tooltip = (more) => ({
  backgroundColor: css("--card"), borderColor: css("--line"), textStyle: { color: css("--ink") },
  confine: true, ...more,
});

/** Follow the colour scheme of the system, until the reader chooses another. */
function followTheme(redraw) {
  const button = document.getElementById("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const show = (theme) => {
    document.documentElement.dataset.theme = theme;
    button.textContent = theme === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to ${theme === "dark" ? "light" : "dark"} colours`);
    redraw();
  };
  let chosen = null;
  dark.addEventListener("change", () => chosen || show(dark.matches ? "dark" : "light"));
  button.addEventListener("click", () => show(chosen = isDark() ? "light" : "dark"));
  button.hidden = false;
  let before = null;
  addEventListener("beforeprint", () => { before = isDark() ? "dark" : null; if (before) show("light"); });
  addEventListener("afterprint", () => { if (before) show(before); });
  show(dark.matches ? "dark" : "light");
}
