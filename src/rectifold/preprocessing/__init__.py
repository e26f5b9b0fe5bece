"""Transformers of tables with mixed columns into points for the neighbour search."""

from rectifold.preprocessing._heom import HEOMSpace
from rectifold.preprocessing._table_space import TableSpace

__all__ = ["HEOMSpace", "TableSpace"]
