"""The stages of GMR as pure functions: target, space, votes, rules, and the record of a run."""
