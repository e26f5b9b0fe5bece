"""TabDDPM: a diffusion model of a table with classes, which draws synthetic samples."""

try:
    from experiments.deep.tabddpm.model import TabDDPM
except ModuleNotFoundError as error:
    if error.name not in ("torch", "safetensors", "pandas"):
        raise
    raise ImportError(
        f"TabDDPM needs {error.name}: pip install -r experiments/requirements.txt"
    ) from error

__all__ = ["TabDDPM"]
