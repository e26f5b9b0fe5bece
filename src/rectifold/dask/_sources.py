"""Partitions that a task reads by itself, when it needs them."""

from collections.abc import Mapping, Sequence
from typing import Any

import dask
from dask._task_spec import DataNode, GraphNode
from dask.core import get_dependencies, istask
from dask.sizeof import sizeof
from dask.utils import ensure_dict
from distributed.utils_comm import unpack_remotedata

#: Bytes of what partitions may have in common, such as an open file, at most.
_LITTLE = 1 << 16


class Source:
    """All that has to be done to have a partition."""

    __slots__ = ("graph", "key")

    def __init__(self, graph: Mapping[Any, Any], key: Any) -> None:
        self.graph, self.key = graph, key

    def read(self) -> Any:
        """Do it, here and now."""
        return dask.get(self.graph, self.key)


def sources(partitions: Sequence[Any]) -> list[Any]:
    """Say how partitions are read by those who need them.

    The scheduler of Dask lets workers read a partition as soon as they find the time: chains of
    visits, of which each knows what it will visit next, would soon have all of the table in memory.

    Parameters
    ----------
    partitions : sequence of Delayed
        The partitions of one collection.

    Returns
    -------
    list of Source or of Delayed
        The same delayed ones where some lie on a cluster already, or where partitions have work in
        common, as after a shuffle: that has to be done once. So too if there is but one.
    """
    found: list[Any] = []
    seen: set[Any] = set()
    graphs: dict[int, dict[Any, Any]] = {}
    if len(partitions) == 1:
        return list(partitions)
    for partition in partitions:
        # They share one, as a rule.
        shared = partition.__dask_graph__()
        if id(shared) not in graphs:
            graphs[id(shared)] = ensure_dict(shared)
        mine = _needed(graphs[id(shared)], partition.key)
        if mine is None:
            return list(partitions)
        if any(not _is_little(mine[key]) for key in seen.intersection(mine)):
            return list(partitions)
        seen.update(mine)
        found.append(Source(mine, partition.key))
    return found


def at_hand(partition: Any) -> Any:
    """Give a partition, whether it has been read or not."""
    return partition.read() if isinstance(partition, Source) else partition


def _needed(graph: dict[Any, Any], key: Any) -> dict[Any, Any] | None:
    """Give what a key needs of a graph; None if it needs more than can be done in a task."""
    needed: dict[Any, Any] = {}
    todo = [key]
    while todo:
        one = todo.pop()
        if one in needed:
            continue
        # What was persisted need not be in the graph at all.
        if one not in graph or unpack_remotedata([graph[one]])[1] or _is_for_workers(graph[one]):
            return None
        node = needed[one] = graph[one]
        # Tasks of newer versions of Dask say what they depend on, in the graph or not.
        todo += node.dependencies if isinstance(node, GraphNode) else get_dependencies(graph, one)
    return needed


def _is_for_workers(node: Any) -> bool:
    """Tell whether a node is a part of what workers do together, such as a shuffle."""
    kinds = (type(node), getattr(node, "func", None) if isinstance(node, GraphNode) else None)
    return any(str(getattr(kind, "__module__", None)).startswith("distributed.") for kind in kinds)


def _is_little(node: Any) -> bool:
    """Tell whether a node is data, and so little that every partition may have it."""
    if isinstance(node, GraphNode):
        return isinstance(node, DataNode) and sizeof(node.value) <= _LITTLE
    return not istask(node) and sizeof(node) <= _LITTLE
