// Decide: the rules of asymmetric cleaning, from where votes lie among thresholds.

const KEPT = 0, REMOVED = 1, SPARED = 2;
const INTRUSION = 1, AMBIGUITY = 2, DEEP_NOISE = 3;

/** Rows of a protected class that may go, at most: whole numbers only, so that nothing is rounded. */
function capOf(one, levers, place) {
  const gamma = levers.gamma.values[place];
  if (gamma === levers.gamma.own) return one.own_cap;
  const product = Math.round(gamma * levers.steps) * one.size;
  return (product - (product % levers.steps)) / levers.steps;
}

/** Candidates of a strict class in the order in which they go. */
function inOrder(one, isCandidate, tolerance) {
  const order = [];
  let group = 0;
  for (let i = 0; i < one.at.length; i++) {
    if (group === one.loose.length || one.loose[group][0] !== i) {
      if (isCandidate(i)) order.push(i);
      continue;
    }
    // These tie by way of rows between; who ties now depends on who is a candidate.
    const [start, end, confidence] = one.loose[group++];
    const some = [];
    for (let j = start; j < end; j++) if (isCandidate(j)) some.push(j);
    some.sort((a, b) => confidence[a - start] - confidence[b - start] || a - b);
    let tied = [];
    for (const [place, j] of some.entries()) {
      const before = some[place - 1];
      if (place && confidence[j - start] - confidence[before - start] > tolerance) {
        for (const i of tied.sort((a, b) => a - b)) order.push(i);
        tied = [];
      }
      tied.push(j);
    }
    for (const j of tied.sort((a, b) => a - b)) order.push(j);
    i = end - 1;
  }
  return order;
}

/** Decide on all rows in question; `at` says where each lever stands on its grid. */
function decide(levers, at) {
  const decision = new Uint8Array(levers.total), reason = new Uint8Array(levers.total);
  const counts = levers.classes.map((one) => (
    { before: one.size, after: one.size, intrusion: 0, ambiguity: 0, deep_noise: 0, spared: 0 }
  ));
  const settle = (code, i, goes, why) => {
    const count = counts[code], place = levers.classes[code].start + i;
    decision[place] = goes ? REMOVED : SPARED;
    reason[place] = why;
    if (!goes) { count.spared++; return; }
    count.after--;
    count[why === INTRUSION ? "intrusion" : why === AMBIGUITY ? "ambiguity" : "deep_noise"]++;
  };
  levers.classes.forEach((one, code) => {
    if (one.role !== "protected") return;
    let left = capOf(one, levers, at.gamma);
    for (let i = 0; i < one.at.length; i++) {
      if (at.beta < one.at[i]) settle(code, i, left-- > 0, DEEP_NOISE);
    }
  });
  let largest = 0;
  levers.classes.forEach((one, code) => {
    if (one.role !== "strict") largest = Math.max(largest, counts[code].after);
  });
  levers.classes.forEach((one, code) => {
    if (one.role !== "strict") return;
    const isCandidate = (i) => one.smaller[i] === 1 || at.alpha >= one.at[i];
    const why = (i) => (one.smaller[i] ? INTRUSION : AMBIGUITY);
    let allowed = one.size;
    if (levers.keep_floor) {
      const least = one.size >= largest ? largest : levers.min_minority;
      allowed = one.size - Math.min(one.size, least);
    }
    if (one.loose.length) {
      inOrder(one, isCandidate, levers.tolerance).forEach((i, place) => (
        settle(code, i, place < allowed, why(i))
      ));
      return;
    }
    for (let i = 0; i < one.at.length; i++) {
      if (isCandidate(i)) settle(code, i, allowed-- > 0, why(i));
    }
  });
  return { decision, reason, counts };
}
