"""Generative networks that experiments compare with: they need the extra "deep"."""
