// Apply the rules of asymmetric cleaning to the positions of votes on the grids of the thresholds.

const KEPT = 0, REMOVED = 1, SPARED = 2;
const INTRUSION = 1, AMBIGUITY = 2, DEEP_NOISE = 3;

/** Return the maximum number of samples that a protected class loses, in exact integers. */
function capOf(one, thresholds, place) {
  const gamma = thresholds.gamma.values[place];
  if (gamma === thresholds.gamma.run) return one.run_cap;
  const product = Math.round(gamma * thresholds.steps) * one.size;
  return (product - (product % thresholds.steps)) / thresholds.steps;
}

/** Return the candidates of a strict class in the order in which they are removed. */
function inOrder(one, isCandidate, tolerance) {
  const order = [];
  let chain = 0;
  for (let i = 0; i < one.limit.length; i++) {
    if (chain === one.chains.length || one.chains[chain][0] !== i) {
      if (isCandidate(i)) order.push(i);
      continue;
    }
    // A chain of ties is wider than the tolerance: which samples tie depends on the candidates.
    const [start, end, confidence] = one.chains[chain++];
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

/** Decide on all removable samples; `at` holds the position of each threshold on its grid. */
function decide(thresholds, at) {
  const decision = new Uint8Array(thresholds.total), reason = new Uint8Array(thresholds.total);
  const counts = thresholds.classes.map((one) => (
    { before: one.size, after: one.size, intrusion: 0, ambiguity: 0, deep_noise: 0, spared: 0 }
  ));
  const settle = (code, i, isRemoved, why) => {
    const count = counts[code], place = thresholds.classes[code].start + i;
    decision[place] = isRemoved ? REMOVED : SPARED;
    reason[place] = why;
    if (!isRemoved) { count.spared++; return; }
    count.after--;
    count[why === INTRUSION ? "intrusion" : why === AMBIGUITY ? "ambiguity" : "deep_noise"]++;
  };
  thresholds.classes.forEach((one, code) => {
    if (one.role !== "protected") return;
    let left = capOf(one, thresholds, at.gamma);
    for (let i = 0; i < one.limit.length; i++) {
      if (at.beta < one.limit[i]) settle(code, i, left-- > 0, DEEP_NOISE);
    }
  });
  let largest = 0;
  thresholds.classes.forEach((one, code) => {
    if (one.role !== "strict") largest = Math.max(largest, counts[code].after);
  });
  thresholds.classes.forEach((one, code) => {
    if (one.role !== "strict") return;
    const isCandidate = (i) => one.intrusion[i] === 1 || at.alpha >= one.limit[i];
    const why = (i) => (one.intrusion[i] ? INTRUSION : AMBIGUITY);
    let allowed = one.size;
    if (thresholds.keep_floor) {
      const least = one.size >= largest ? largest : thresholds.min_minority;
      allowed = one.size - Math.min(one.size, least);
    }
    if (one.chains.length) {
      inOrder(one, isCandidate, thresholds.tolerance).forEach((i, place) => (
        settle(code, i, place < allowed, why(i))
      ));
      return;
    }
    for (let i = 0; i < one.limit.length; i++) {
      if (isCandidate(i)) settle(code, i, allowed-- > 0, why(i));
    }
  });
  return { decision, reason, counts };
}
