"""Libraries for approximate neighbours behind one interface: `build` an index and `ask` it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

#: Number of threads, the same for all contestants.
THREADS = 2
#: Links per point of a graph, and the effort of its construction, as these libraries recommend.
_LINKS, _BUILD_EFFORT = 16, 100


@dataclass(slots=True)
class FaissIVF:
    """faiss-cpu: k-means cells, of which each query searches `effort`, one query at a time."""

    index: Any = None
    #: With fewer cells, some samples of these data sets have fewer than 15 neighbours.
    efforts = (4, 8, 12, 16, 24, 32, 64, 128)

    def build(self, X: np.ndarray) -> None:
        """Build the index, with the number of cells that was fastest in trials."""
        import faiss

        faiss.omp_set_num_threads(THREADS)
        self.index = faiss.index_factory(X.shape[1], f"IVF{int(4 * np.sqrt(len(X)))},Flat")
        self.index.cp.niter, self.index.cp.max_points_per_centroid = 2, 40
        self.index.train(X)
        self.index.add(X)

    def ask(self, X: np.ndarray, k: int, effort: int) -> np.ndarray:
        """Return the k nearest points of each query."""
        self.index.nprobe = effort
        return self.index.search(X, k)[1]


@dataclass(slots=True)
class FaissHNSW:
    """faiss-cpu: a hierarchical graph."""

    index: Any = None
    efforts = (32, 64, 128, 256, 512)

    def build(self, X: np.ndarray) -> None:
        """Build the index."""
        import faiss

        faiss.omp_set_num_threads(THREADS)
        self.index = faiss.IndexHNSWFlat(X.shape[1], _LINKS)
        self.index.hnsw.efConstruction = _BUILD_EFFORT
        self.index.add(X)

    def ask(self, X: np.ndarray, k: int, effort: int) -> np.ndarray:
        """Return the k nearest points of each query."""
        self.index.hnsw.efSearch = effort
        return self.index.search(X, k)[1]


@dataclass(slots=True)
class Hnswlib:
    """hnswlib: a hierarchical graph."""

    index: Any = None
    efforts = (32, 64, 128, 256, 512)

    def build(self, X: np.ndarray) -> None:
        """Build the index."""
        import hnswlib

        self.index = hnswlib.Index("l2", X.shape[1])
        self.index.init_index(len(X), ef_construction=_BUILD_EFFORT, M=_LINKS, random_seed=0)
        self.index.add_items(X, num_threads=THREADS)

    def ask(self, X: np.ndarray, k: int, effort: int) -> np.ndarray:
        """Return the k nearest points of each query."""
        self.index.set_ef(effort)
        return self.index.knn_query(X, k, num_threads=THREADS)[0].astype(np.intp)


@dataclass(slots=True)
class Usearch:
    """usearch: a hierarchical graph."""

    index: Any = None
    efforts = (32, 64, 128, 256, 512)

    def build(self, X: np.ndarray) -> None:
        """Build the index."""
        from usearch.index import Index

        self.index = Index(
            ndim=X.shape[1],
            metric="l2sq",
            dtype="f32",
            connectivity=_LINKS,
            expansion_add=_BUILD_EFFORT,
        )
        self.index.add(np.arange(len(X)), X, threads=THREADS)

    def ask(self, X: np.ndarray, k: int, effort: int) -> np.ndarray:
        """Return the k nearest points of each query."""
        self.index.expansion_search = effort
        return self.index.search(X, k, threads=THREADS).keys.astype(np.intp)


@dataclass(slots=True)
class Pynndescent:
    """pynndescent: a graph of the neighbours of all points, without queries."""

    index: Any = None
    #: Neighbours in the graph.
    efforts = (16,)

    def build(self, X: np.ndarray) -> None:
        """Build the graph by NN-descent."""
        from pynndescent import NNDescent

        self.index = NNDescent(X, n_neighbors=self.efforts[0], n_jobs=THREADS, random_state=0)

    def graph(self) -> np.ndarray:
        """Return the neighbours of all points."""
        return self.index.neighbor_graph[0].astype(np.intp)


LIBRARIES = {
    "faiss IVF": FaissIVF,
    "pynndescent": Pynndescent,
    "hnswlib": Hnswlib,
    "usearch": Usearch,
    "faiss HNSW": FaissHNSW,
}
