"""Large data, timed
=================

How time grows with rows, why most rows need no search at all, and when approximate neighbours are
worth it. All times are taken while this page is built, on a shared and noisy machine: look at the
ratios.
"""

# %%
# Thirty groups of rows, in one of which about half are positive. So the rare class overlaps with a
# part of the large one, and nearly all rows are far from it, as in card fraud or network traffic.

import numpy as np


def make_rows(n, columns=12):
    """Draw n rows around thirty centres."""
    rng = np.random.default_rng(0)
    centres = rng.normal(0, 4, (30, columns))
    group = rng.integers(0, 30, n)
    X = centres[group] + rng.normal(0, 1, (n, columns))
    y = ((group == 0) & (rng.random(n) < 0.5)).astype(int)
    return X, y


# %%
# How time grows
# --------------
#
# :class:`rectifold.GMR`, from rows to cleaned rows, beside what others begin with: the neighbours
# of all rows, by scikit-learn's :class:`~sklearn.neighbors.NearestNeighbors`. Both have all
# cores.

from time import perf_counter

from sklearn.neighbors import NearestNeighbors

from rectifold import GMR

GMR(n_jobs=-1).fit_resample(*make_rows(1000))  # load what has to be loaded
sizes = [2_000, 4_000, 8_000, 16_000, 32_000]
ours, theirs, certified = [], [], []
for n in sizes:
    X, y = make_rows(n)

    start = perf_counter()
    gmr = GMR(n_jobs=-1)
    gmr.fit_resample(X, y)
    ours.append(perf_counter() - start)
    certified.append(gmr.rectification_.certified.mean())

    start = perf_counter()
    NearestNeighbors(n_neighbors=16, n_jobs=-1).fit(X).kneighbors(X)
    theirs.append(perf_counter() - start)

print("  rows  scikit-learn / GMR  rows with a certificate")
for n, one, other, share in zip(sizes, ours, theirs, certified, strict=True):
    print(f"{n:6,}  {other / one:18.1f}  {share:23.1%}")

# %%

import matplotlib.pyplot as plt

# sphinx_gallery_alt = "Seconds over rows, both on logarithmic scales. GMR's search and cleaning"
# sphinx_gallery_alt = "lie below scikit-learn's search for all rows, and rise less steeply."
_, axes = plt.subplots(layout="constrained")
axes.loglog(sizes, theirs, "s-", color="C1", label="scikit-learn's search for all rows")
axes.loglog(sizes, ours, "o-", color="C0", label="GMR, search and cleaning")
axes.set_xticks(sizes, [f"{n:,}" for n in sizes])
axes.minorticks_off()
axes.set(xlabel="rows", ylabel="seconds")
_ = axes.legend()

# %%
# Certificates
# ------------
#
# The reason is in the last column of the table. A row far from the other class has neighbours of
# its own class only, and its vote is known without finding them: it holds a *certificate*, a
# proof. Only the rest is searched for. Nothing is guessed; a plain search gives the same removed
# rows:

X, y = make_rows(8_000)
exact = GMR(n_jobs=-1)
exact.fit_resample(X, y)
plain = GMR(n_neighbors=NearestNeighbors(n_neighbors=16, n_jobs=-1))
plain.fit_resample(X, y)
print("certificates:", exact.rectification_.certified.sum(), plain.rectification_.certified.sum())
print("same rows:", np.array_equal(exact.sample_indices_, plain.sample_indices_))

# %%
# Memory
# ------
#
# All pairs are never in memory at once. This is the most that a run takes beyond its input, beside
# what a table of all distances would:

import tracemalloc

X, y = make_rows(64_000)
tracemalloc.start()
GMR(n_jobs=-1).fit_resample(X, y)
peak = tracemalloc.get_traced_memory()[1]
tracemalloc.stop()
print(f"{peak / 1e6:.0f} MB beside a table of {X.nbytes / 1e6:.0f} MB")
print(f"all distances: {8 * len(X) ** 2 / 1e6:,.0f} MB")

# %%
# Where it is not fast
# --------------------
#
# Where classes are mixed everywhere, hardly a row holds a certificate, and an exact search has to
# look at most pairs. ``engine="approximate"`` looks at the likely ones. It measures what it
# missed, every time, and ``engine="auto"`` never takes it unless you give a ``time_budget``.

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
# With tens of thousands of rows an exact search takes seconds anyway, and is the better choice.
# The ratio grows with rows: a million rows of 128 columns take one minute instead of one hour
# (:doc:`/docs/guide/approximate`, with the command that measured it). :doc:`/docs/guide/speed` has
# all comparisons, ``engine="gpu"`` gives the same rows as the exact engine on a GPU, and
# :doc:`/docs/guide/dask` is for tables that no machine holds. Below some thousand rows none of this
# matters.
