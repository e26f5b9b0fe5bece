"""The paper's experiments with deep networks: TabDDPM for tables, and long-tailed images."""
