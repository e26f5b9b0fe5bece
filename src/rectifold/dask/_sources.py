"""Partitions that a task computes itself, when it needs them."""

from collections.abc import Mapping, Sequence
from typing import Any

import dask
from dask._task_spec import DataNode, GraphNode
from dask.core import get_dependencies, istask
from dask.sizeof import sizeof
from dask.utils import ensure_dict
from distributed.utils_comm import unpack_remotedata

#: Maximum bytes of data that several partitions share, such as an open file.
_SHARED = 1 << 16


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
    must be done once, as after a shuffle, or if there is only one.
    """
    sources: list[Any] = []
    seen: set[Any] = set()
    graphs: dict[int, dict[Any, Any]] = {}
    if len(partitions) == 1:
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


def load(partition: Any) -> Any:
    """Return a partition, computed if it is a `Source`."""
    return partition.read() if isinstance(partition, Source) else partition


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
