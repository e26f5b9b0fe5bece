"""Read partitions: a task computes them itself if it can, and checks that they are the same."""

import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import dask
import numpy as np
from dask.core import get_dependencies, istask
from dask.sizeof import sizeof
from dask.utils import ensure_dict
from distributed.utils_comm import unpack_remotedata
from scipy import sparse

from rectifold._core.errors import Param, ParameterError

try:
    # Private: other versions of Dask may not have it.
    from dask._task_spec import DataNode, GraphNode
except ImportError:
    GraphNode = None

#: Maximum bytes of data that several partitions share, such as an open file.
_SHARED = 1 << 16
#: Number of samples whose bytes are copied at once.
_COPIED_AT_ONCE = 8192


class Source:
    """The graph that computes a partition."""

    __slots__ = ("graph", "key")

    def __init__(self, graph: Mapping[Any, Any], key: Any) -> None:
        self.graph, self.key = graph, key

    def read(self) -> Any:
        """Compute the partition in this thread."""
        return dask.get(self.graph, self.key)


def as_sources(partitions: Sequence[Any]) -> list[Any]:
    """Return a `Source` for each partition of a collection, or the Delayed objects unchanged.

    The scheduler of Dask lets workers compute a partition as soon as they have time. Chains of
    visits, whose next partitions are known, would soon fill the memory with the whole table.

    The partitions are unchanged if some are stored on a cluster already, if they share work that
    must be done once, as after a shuffle, if there is only one, or if the graphs of this version of
    Dask can't be read.
    """
    sources: list[Any] = []
    seen: set[Any] = set()
    graphs: dict[int, dict[Any, Any]] = {}
    if len(partitions) == 1 or GraphNode is None:
        return list(partitions)
    for partition in partitions:
        # Usually one graph for all partitions.
        shared = partition.__dask_graph__()
        if id(shared) not in graphs:
            graphs[id(shared)] = ensure_dict(shared)
        graph = _subgraph(graphs[id(shared)], partition.key)
        if graph is None:
            return list(partitions)
        if any(not _is_small_data(graph[key]) for key in seen.intersection(graph)):
            return list(partitions)
        seen.update(graph)
        sources.append(Source(graph, partition.key))
    return sources


class Checked(NamedTuple):
    """A partition that was read before."""

    #: A `Source`; or a Delayed object, in whose place a task gets the computed container.
    partition: Any
    #: The checksum of the values when the partition was read first.
    checksum: int
    #: "X" or "y", and the number of the partition.
    name: str
    number: int


def load(partition: Any) -> Any:
    """Return a partition, computed if it is a `Source`; raise an error if it has changed."""
    if not isinstance(partition, Checked):
        return partition.read() if isinstance(partition, Source) else partition
    content = load(partition.partition)
    if checksum(content) != partition.checksum:
        raise ParameterError(
            "{} gives different values each time it is computed, as partition {} shows: call "
            "persist() on the collection, or write it to Parquet and read that.",
            Param(partition.name),
            str(partition.number),
        )
    return content


def checksum(partition: Any) -> int:
    """Return a checksum of the values of a partition, whatever their order in memory."""
    if sparse.issparse(partition):
        rows = partition.tocsr()
        arrays = [rows.indptr, rows.indices, rows.data]
    elif hasattr(partition, "columns"):
        arrays = [partition.iloc[:, column] for column in range(partition.shape[1])]
    else:
        arrays = [partition]
    result = 0
    for values in map(np.asarray, arrays):
        for at in range(0, len(values), _COPIED_AT_ONCE):
            some = values[at : at + _COPIED_AT_ONCE]
            # The bytes of objects are their addresses.
            content = ascii(some.tolist()).encode() if some.dtype.hasobject else some.tobytes()
            result = zlib.crc32(content, result)
    return result


def _subgraph(graph: dict[Any, Any], key: Any) -> dict[Any, Any] | None:
    """Return the part of a graph that computes a key; None if one task can't compute it."""
    needed: dict[Any, Any] = {}
    todo = [key]
    while todo:
        current = todo.pop()
        if current in needed:
            continue
        # Persisted data may be missing in the graph.
        if (
            current not in graph
            or unpack_remotedata([graph[current]])[1]
            or _runs_on_workers(graph[current])
        ):
            return None
        node = needed[current] = graph[current]
        # Tasks of newer versions of Dask list all dependencies, also those outside the graph.
        todo += (
            node.dependencies if isinstance(node, GraphNode) else get_dependencies(graph, current)
        )
    return needed


def _runs_on_workers(node: Any) -> bool:
    """Return whether a node is part of the work of several workers, such as a shuffle."""
    kinds = (type(node), getattr(node, "func", None) if isinstance(node, GraphNode) else None)
    return any(str(getattr(kind, "__module__", None)).startswith("distributed.") for kind in kinds)


def _is_small_data(node: Any) -> bool:
    """Return whether a node is data that is small enough to be sent with every partition."""
    if isinstance(node, GraphNode):
        return isinstance(node, DataNode) and sizeof(node.value) <= _SHARED
    return not istask(node) and sizeof(node) <= _SHARED
