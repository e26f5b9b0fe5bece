"""TabDDPM: a diffusion model of a table with classes, from which new rows are drawn."""

try:
    from experiments.deep.tabddpm.model import TabDDPM
except ModuleNotFoundError as problem:
    if problem.name not in ("torch", "safetensors", "pandas"):
        raise
    raise ImportError(
        f'TabDDPM needs {problem.name}: pip install "rectifold[deep]" brings it'
    ) from problem

__all__ = ["TabDDPM"]
