"""Studies of the paper and of our own: run from a checkout, not part of the wheel."""
