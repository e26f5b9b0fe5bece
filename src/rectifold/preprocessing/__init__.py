"""Transformers that turn tables into points between which distances make sense."""

from rectifold.preprocessing._heom import HEOMSpace
from rectifold.preprocessing._table_space import TableSpace

__all__ = ["HEOMSpace", "TableSpace"]
