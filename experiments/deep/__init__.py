"""The paper's deep experiments: a diffusion model for tables, and long-tailed images."""
