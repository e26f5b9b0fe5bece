"""Probabilities after samplers, with and without a correction for the class sizes."""
