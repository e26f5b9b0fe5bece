"""Run time on large data
======================

How run time grows with ``n_samples``, why most samples need no search, and when approximate
neighbours are faster. Times are measured when this page is built, on a shared machine: compare the
ratios.
"""

# %%
# Thirty clusters of samples. In one of them about half of the samples are positive, so the minority
# class overlaps with a part of the majority class, and most samples are far from it, as in card
# fraud or network intrusion.

import numpy as np


def make_data(n_samples, n_features=12):
    """Return samples around thirty centres."""
    rng = np.random.default_rng(0)
    centres = rng.normal(0, 4, (30, n_features))
    cluster = rng.integers(0, 30, n_samples)
    X = centres[cluster] + rng.normal(0, 1, (n_samples, n_features))
    y = ((cluster == 0) & (rng.random(n_samples) < 0.5)).astype(int)
    return X, y


# %%
# Run time
# --------
#
# All of :class:`rectifold.GMR`, compared with the first step of other samplers: the neighbours of
# all samples by :class:`sklearn.neighbors.NearestNeighbors`. Both use all cores.

from time import perf_counter

from sklearn.neighbors import NearestNeighbors

from rectifold import GMR

GMR(n_jobs=-1).fit_resample(*make_data(1000))  # import and compile
sizes = [2_000, 4_000, 8_000, 16_000, 32_000]
ours, theirs, certified = [], [], []
for n in sizes:
    X, y = make_data(n)

    start = perf_counter()
    gmr = GMR(n_jobs=-1)
    gmr.fit_resample(X, y)
    ours.append(perf_counter() - start)
    certified.append(gmr.rectification_.certified.mean())

    start = perf_counter()
    NearestNeighbors(n_neighbors=16, n_jobs=-1).fit(X).kneighbors(X)
    theirs.append(perf_counter() - start)

print("n_samples  scikit-learn / GMR  with a certificate")
for n, one, other, share in zip(sizes, ours, theirs, certified, strict=True):
    print(f"{n:9,}  {other / one:18.1f}  {share:18.1%}")

# %%

import matplotlib.pyplot as plt

# sphinx_gallery_alt = "Seconds over n_samples, both on logarithmic scales. The times of GMR are"
# sphinx_gallery_alt = "below those of scikit-learn's search for all samples, and grow more slowly."
_, axes = plt.subplots(layout="constrained")
axes.loglog(sizes, theirs, "s-", color="C1", label="scikit-learn, search for all samples")
axes.loglog(sizes, ours, "o-", color="C0", label="GMR, search and cleaning")
axes.set_xticks(sizes, [f"{n:,}" for n in sizes])
axes.minorticks_off()
axes.set(xlabel="n_samples", ylabel="seconds")
_ = axes.legend()

# %%
# Certificates
# ------------
#
# The reason is in the last column of the table. The neighbours of a sample far from the other class
# all carry its own label, so its vote is known without finding them: it has a *certificate*, which
# is a proof. Neighbours are searched only for the other samples. The result is exact; a plain
# search gives the same:

X, y = make_data(8_000)
exact = GMR(n_jobs=-1)
exact.fit_resample(X, y)
plain = GMR(n_neighbors=NearestNeighbors(n_neighbors=16, n_jobs=-1))
plain.fit_resample(X, y)
print("certificates:", exact.rectification_.certified.sum(), plain.rectification_.certified.sum())
print("same samples:", np.array_equal(exact.sample_indices_, plain.sample_indices_))

# %%
# Memory
# ------
#
# The matrix of all distances is never in memory. Peak memory of a run beyond its input, compared
# with the size of that matrix:

import tracemalloc

X, y = make_data(64_000)
tracemalloc.start()
GMR(n_jobs=-1).fit_resample(X, y)
peak = tracemalloc.get_traced_memory()[1]
tracemalloc.stop()
print(f"{peak / 1e6:.0f} MB for an input of {X.nbytes / 1e6:.0f} MB")
print(f"all distances: {8 * len(X) ** 2 / 1e6:,.0f} MB")

# %%
# When the exact search is slow
# -----------------------------
#
# If classes overlap everywhere, few samples have a certificate, and an exact search compares most
# pairs. ``engine="approximate"`` compares likely neighbours only, and measures its error in every
# run. ``engine="auto"`` never uses it.

from sklearn.datasets import make_blobs

X, cluster = make_blobs(20_000, n_features=40, centers=60, cluster_std=6, random_state=0)
y = (cluster < 6) ^ (np.random.default_rng(0).random(len(X)) < 0.2)

seconds = {}
for engine in ("exact", "approximate"):
    start = perf_counter()
    gmr = GMR(engine=engine, n_jobs=-1)
    gmr.fit_resample(X, y)
    seconds[engine] = perf_counter() - start

print(f"exact / approximate: {seconds['exact'] / seconds['approximate']:.1f}")
print(gmr.rectification_)

# %%
# With tens of thousands of samples an exact search takes seconds, and is the better choice. The
# ratio grows with ``n_samples``: a million samples with 128 features take one minute instead of one
# hour (:doc:`/docs/guide/approximate`, with the command that measured it). :doc:`/docs/guide/speed`
# has all comparisons, ``engine="gpu"`` gives the same result as the exact engine, and
# :doc:`/docs/guide/dask` is for data larger than memory. Below some thousand samples none of this
# matters.
