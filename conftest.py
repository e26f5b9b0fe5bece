"""What is left out where an optional library is not installed: examples in modules that need it."""

from importlib.util import find_spec

collect_ignore_glob = []
if find_spec("torch") is None:
    collect_ignore_glob.append("src/rectifold/engines/gpu/*")
if find_spec("triton") is None:
    collect_ignore_glob.append("src/rectifold/_engines/gpu/kernels.py")
if find_spec("torch") is None or find_spec("safetensors") is None:
    collect_ignore_glob.append("src/rectifold/bench/deep/*")
    collect_ignore_glob.append("tests/images.py")
if find_spec("dask") is None or find_spec("distributed") is None:
    collect_ignore_glob += ["src/rectifold/dask/*", "tests/test_dask*.py"]
