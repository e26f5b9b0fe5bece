"""A fitted model as a safetensors file, with the rest as JSON beside the tensors: no pickle."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from experiments.deep.tabddpm.columns import Category, Column, Container, Number
from experiments.deep.tabddpm.encoding import Encoding, Labels
from rectifold._core.utils import Tensor
from rectifold._io.outputs import write_whole

_FORMAT, _VERSION = "rectifold TabDDPM", 1
#: Prefix of the names of weights.
_WEIGHT = "weight:"


def write(
    path: str | os.PathLike[str],
    *,
    parameters: Mapping[str, Any],
    encoding: Encoding,
    labels: Labels,
    weights: Mapping[str, Tensor],
    losses: list[float],
) -> None:
    """Write a fitted model, whole or not at all; `weights` are those of its network."""
    about = {
        "version": _VERSION,
        "parameters": dict(parameters),
        "names": encoding.container.names,
        "dtype": _dtype_out(encoding.container.dtype),
        "columns": [_column_out(column) for column in encoding.columns],
        "labels": _column_out(labels.column),
        "series": labels.series,
        "losses": losses,
    }
    tensors = {_WEIGHT + name: one.cpu().contiguous() for name, one in weights.items()}
    tensors["quantiles"] = torch.from_numpy(np.ascontiguousarray(encoding.quantiles))
    tensors["counts"] = torch.from_numpy(labels.counts)
    try:
        names = [*encoding.container.names, *labels.column.values]
        names += [value for column in encoding.columns for value in column.values]
        if any(isinstance(one, tuple | list) for one in names):
            # JSON would turn tuples into lists.
            raise TypeError
        text = json.dumps(about, default=_plain)
    except TypeError:
        raise ValueError(
            "a model can be saved only if names, categories and classes are text, numbers or bool."
        ) from None
    write_whole(Path(path), save(tensors, {"format": _FORMAT, "model": text}))


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a file of `write`, and return its contents under the names of the arguments."""
    unknown = f"{str(path)!r} does not hold a TabDDPM model of rectifold."
    try:
        with safe_open(path, framework="pt") as file:
            about = file.metadata() or {}
            if about.get("format") != _FORMAT:
                raise ValueError(unknown)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError:
        raise ValueError(unknown) from None
    try:
        model = json.loads(about["model"])
        version = model["version"]
    except (KeyError, ValueError, TypeError):
        raise ValueError(unknown) from None
    if version != _VERSION:
        raise ValueError(
            f"{str(path)!r} has format {version}, and only format {_VERSION} can be read."
        )
    container = Container(model["names"], _dtype_in(model["dtype"]))
    columns = [_column_in(one) for one in model["columns"]]
    column = _column_in(model["labels"])
    assert isinstance(column, Category)
    return {
        "parameters": {**model["parameters"], "layers": tuple(model["parameters"]["layers"])},
        "encoding": Encoding(container, columns, tensors.pop("quantiles").numpy()),
        "labels": Labels(column, tensors.pop("counts").numpy(), model["series"]),
        "weights": {name.removeprefix(_WEIGHT): one for name, one in tensors.items()},
        "losses": model["losses"],
    }


def _column_out(column: Column) -> dict[str, Any]:
    number = {"whole": column.whole} if isinstance(column, Number) else {}
    return {
        "name": column.name,
        "dtype": _dtype_out(column.dtype),
        "values": column.values,
        "what": column.what,
        **number,
    }


def _column_in(about: dict[str, Any]) -> Column:
    made = Number if "whole" in about else Category
    return made(**{**about, "dtype": _dtype_in(about["dtype"])})


def _dtype_out(dtype: Any) -> Any:
    if dtype is None:
        return None
    if isinstance(dtype, pd.CategoricalDtype):
        values = dtype.categories
        return {
            "categories": values.tolist(),
            "of": _dtype_out(values.dtype),
            "ordered": bool(dtype.ordered),
        }
    return {"numpy": dtype.str} if isinstance(dtype, np.dtype) else {"pandas": str(dtype)}


def _dtype_in(about: Any) -> Any:
    if about is None:
        return None
    if "categories" in about:
        values = pd.Index(about["categories"], dtype=_dtype_in(about["of"]))
        return pd.CategoricalDtype(values, about["ordered"])
    if "numpy" in about:
        return np.dtype(about["numpy"])
    return pd.api.types.pandas_dtype(about["pandas"])


def _plain(value: Any) -> Any:
    """Return NumPy scalars as Python objects, for JSON."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError
