// Read the data of the report.

const ARRAYS = { Uint8Array, Uint16Array, Int16Array, Int32Array, Float32Array, Float64Array };

/** Replace references to arrays by the arrays. */
function withArrays(value, buffer) {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value[0] !== null && typeof value[0] === "object" ? value.map((part) => withArrays(part, buffer)) : value;
  if (typeof value.array !== "string" || !(value.array in ARRAYS)) {
    for (const key of Object.keys(value)) value[key] = withArrays(value[key], buffer);
    return value;
  }
  let array = new ARRAYS[value.array](buffer, value.start, value.n);
  // Sums of differences need more bytes than these.
  if (value.is_delta) array = Int32Array.from(array);
  if (value.is_delta) for (let i = 1; i < array.length; i++) array[i] += array[i - 1];
  return array;
}

/** Return the data of the page. */
async function read() {
  const [facts, arrays] = await Promise.all(["facts", "arrays"].map((id) => unpacked(document.getElementById(id))));
  const data = withArrays(JSON.parse(new TextDecoder().decode(facts)), arrays);
  const points = data.points;
  if (points.axes) {
    for (const [place, axis] of ["x", "y"].entries()) {
      const [low, step] = points.scale[place];
      points[axis] = Float64Array.from(points[axis], (value) => low + value * step);
    }
  }
  for (const column of data.details.columns) column.values = Array.from(column.codes, (code) => column.levels[code]);
  const { weight } = data.details.neighbours;
  if (weight) data.details.neighbours.weight = Float32Array.from(weight, (value) => value / 1000);
  if (points.confidence instanceof Uint16Array) points.confidence = Float32Array.from(points.confidence, (value) => value / 65_535);
  // The removable samples of a class follow those of the classes before it.
  let start = 0;
  for (const one of data.thresholds.classes) {
    one.start = start;
    start += one.limit.length;
  }
  data.thresholds.total = start;
  return data;
}
