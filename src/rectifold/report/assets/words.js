// Names of decisions and reasons, and sentences about them.

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
