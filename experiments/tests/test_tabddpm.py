"""TabDDPM: formulas against plain versions, recovery of known distributions, and errors."""

import json
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import wasserstein_distance
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rectifold.datasets import load_wine_quality
from rectifold.progress import listening

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
safetensors = pytest.importorskip("safetensors.torch", reason="safetensors is not installed")

from experiments.deep import cuda_graphs  # noqa: E402
from experiments.deep.tabddpm import TabDDPM, sampling  # noqa: E402
from experiments.deep.tabddpm.denoiser import waves  # noqa: E402
from experiments.deep.tabddpm.gaussian import Gaussian  # noqa: E402
from experiments.deep.tabddpm.multinomial import Multinomial, Segments  # noqa: E402
from experiments.deep.tabddpm.schedule import cosine  # noqa: E402

CPU = torch.device("cpu")
#: Where tests run; those that are marked run on a GPU as well.
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
SIZES = (3, 2, 5)
SMALL = {"timesteps": 10, "layers": (16,), "embedding": 8, "iterations": 10, "device": "cpu"}


pytestmark = pytest.mark.usefixtures("one_thread")


# The formulas


def test_the_cosine_schedule_is_that_of_the_paper():
    T = 20
    schedule = cosine(T)

    def curve(share):
        return np.cos((share + 0.008) / 1.008 * np.pi / 2) ** 2

    left = 1.0
    for t in range(T):
        beta = min(1 - curve((t + 1) / T) / curve(t / T), 0.999)
        assert schedule.beta[t] == pytest.approx(beta)
        assert schedule.before[t] == pytest.approx(left)
        left *= 1 - beta
        assert schedule.left[t] == pytest.approx(left)


def gaussian(T=20, columns=1, reach=100.0):
    return Gaussian(cosine(T), [-reach] * columns, [reach] * columns, CPU)


def test_the_estimate_inverts_the_noise():
    process, t = gaussian(columns=3), torch.arange(19)
    start, noise = torch.randn(19, 3), torch.randn(19, 3)
    noisy = process.noised(start, t, noise)
    assert torch.allclose(process.start(noisy, t, noise), start, atol=1e-4)


@pytest.mark.parametrize("t", [1, 7, 18])
def test_the_mean_of_the_posterior_is_bayes_rule(t):
    schedule = cosine(20)
    start, row = 0.7, -0.4
    grid = np.linspace(-12, 12, 200_001)
    prior = np.exp(
        -0.5 * (grid - np.sqrt(schedule.before[t]) * start) ** 2 / (1 - schedule.before[t])
    )
    step = np.exp(-0.5 * (row - np.sqrt(1 - schedule.beta[t]) * grid) ** 2 / schedule.beta[t])
    mean = (grid * prior * step).sum() / (prior * step).sum()
    found = gaussian().posterior_mean(
        torch.tensor([[start]]), torch.tensor([[row]]), torch.tensor([t])
    )
    assert found.item() == pytest.approx(mean, abs=1e-4)


@pytest.mark.parametrize("t", [1, 10, 18])
def test_a_step_back_keeps_normal_rows_normal(t):
    # Of standard normal rows the best estimate of the noise is known.
    torch.manual_seed(0)
    schedule, rows = cosine(20), torch.randn(200_000, 1)
    steps = torch.full((len(rows),), t)
    back = gaussian().back(rows, steps, rows * np.sqrt(1 - schedule.left[t]))
    assert back.var().item() == pytest.approx(1, abs=0.02)
    slope = (back * rows).mean() / rows.square().mean()
    assert slope.item() == pytest.approx(np.sqrt(1 - schedule.beta[t]), abs=0.01)


def test_the_last_step_back_adds_no_noise_and_stays_in_range():
    process, first = gaussian(reach=2.0), torch.zeros(4, dtype=torch.int64)
    rows = torch.tensor([[-9.0], [0.5], [1.0], [9.0]])
    one, other = (process.back(rows, first, torch.zeros(4, 1)) for _ in range(2))
    assert torch.equal(one, other)
    assert one.abs().max() <= 2.0


def softmax(values):
    return np.exp(values) / np.exp(values).sum()


def per_column(row):
    return np.split(np.asarray(row, dtype=np.float64), np.cumsum(SIZES)[:-1])


def posterior(start, row, t, schedule):
    """Bayes' rule for one column, in plain probabilities."""
    K = len(start)
    found = np.empty(K)
    for k in range(K):
        prior = schedule.before[t] * start[k] + (1 - schedule.before[t]) / K
        step = (1 - schedule.beta[t]) * row[k] + schedule.beta[t] / K
        found[k] = prior * step
    return found / found.sum()


def test_sums_within_segments_equal_sums_of_columns():
    segments = Segments(SIZES, CPU)
    values = (torch.randn(6, 10) * 30).requires_grad_()
    expected = torch.stack([part.logsumexp(1) for part in values.split(SIZES, 1)], 1)
    assert torch.allclose(segments.log_sum_exp(values).float(), expected, atol=1e-5)
    normal = segments.normalised(values)
    plain = torch.cat([part.log_softmax(1) for part in values.split(SIZES, 1)], 1)
    assert torch.allclose(normal, plain, atol=1e-4)
    weights = torch.randn(6, 10)
    (one,) = torch.autograd.grad((normal * weights).sum(), values, retain_graph=True)
    (other,) = torch.autograd.grad((plain * weights).sum(), values)
    assert torch.allclose(one, other, atol=1e-5)


def test_one_hot_encoding_is_inverted():
    segments = Segments(SIZES, CPU)
    codes = torch.stack([torch.randint(size, (50,)) for size in SIZES], 1)
    ones = segments.one_hot(codes)
    assert torch.equal(segments.highest(ones), codes)
    assert all((part.sum(1) == 1).all() for part in ones.split(SIZES, 1))


def test_noisy_categories_have_the_probabilities_of_the_schedule():
    torch.manual_seed(0)
    schedule = cosine(20)
    process, codes = Multinomial(schedule, SIZES, CPU), torch.tensor([[2, 0, 4]])
    for t in (0, 8, 19):
        drawn = process.noised(codes.expand(100_000, -1), torch.full((100_000,), t))
        for column, size in enumerate(SIZES):
            shares = np.bincount(drawn[:, column], minlength=size) / 100_000
            expected = np.full(size, (1 - schedule.left[t]) / size)
            expected[codes[0, column]] += schedule.left[t]
            assert shares == pytest.approx(expected, abs=0.007)


@pytest.mark.parametrize("t", [0, 1, 10, 19])
def test_posterior_and_loss_of_categories_agree_with_plain_probabilities(t):
    torch.manual_seed(t)
    schedule = cosine(20)
    process = Multinomial(schedule, SIZES, CPU)
    codes = torch.stack([torch.randint(size, (8,)) for size in SIZES], 1)
    row = process.segments.one_hot(process.noised(codes, torch.full((8,), t)))
    logits, steps = torch.randn(8, 10), torch.full((8,), t)
    estimate = process.posterior(process.segments.normalised(logits), row, steps).exp()
    loss = process.loss(codes, row, steps, logits)
    for i in range(8):
        divergence = 0.0
        parts = zip(
            *(per_column(values[i]) for values in (row, logits, estimate)), codes[i], strict=True
        )
        for now, logit, found, code in parts:
            start = np.eye(len(now))[int(code)]
            true = posterior(start, now, t, schedule)
            model = posterior(softmax(logit), now, t, schedule)
            assert found == pytest.approx(model, abs=1e-5)
            there = true > 0
            divergence += (true[there] * np.log(true[there] / model[there])).sum()
            if t == 0:
                assert true == pytest.approx(start)
        expected = 20 * divergence / len(SIZES)
        assert loss[i].item() == pytest.approx(expected, rel=1e-3, abs=1e-4)


def test_a_step_back_draws_categories_from_the_posterior():
    torch.manual_seed(1)
    process, t = Multinomial(cosine(20), SIZES, CPU), torch.full((100_000,), 12)
    row = process.segments.one_hot(torch.tensor([[1, 1, 0]])).expand(100_000, -1)
    logits = torch.randn(1, 10).expand(100_000, -1)
    expected = process.posterior(process.segments.normalised(logits), row, t)[0].exp()
    shares = process.back(row, t, logits).mean(0)
    assert shares.numpy() == pytest.approx(expected.numpy(), abs=0.007)


def test_steps_have_distinct_embeddings():
    made = waves(torch.arange(1000), 16)
    assert made.shape == (1000, 16)
    assert len(torch.unique(made, dim=0)) == 1000


# Tables that it must recover


def mixture(n, seed):
    """Draw two correlated clouds in each class, and a category that depends on the class."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.3, "rare", "common")
    side = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    rare = y == "rare"
    sign = np.where(rare, -1, 1)
    u = rng.normal(size=n)
    v = sign * (0.8 * u + side) + 0.6 * rng.normal(size=n) + 1.5 * rare
    usual = np.where(rare, "red", "blue")
    colour = np.where(rng.random(n) < 0.2, "green", usual)
    return pd.DataFrame({"u": u + 2 * side, "v": v, "colour": colour}), y


def distances(X, y, X_new, y_new):
    """Return the largest Wasserstein distance, correlation error and total variation of a class."""
    found = np.zeros(3)
    for label in ("common", "rare"):
        real, new = X[y == label], X_new[y_new == label]
        far = max(wasserstein_distance(real[k], new[k]) / real[k].std() for k in "uv")
        turned = abs(real["u"].corr(real["v"]) - new["u"].corr(new["v"]))
        shares = [part["colour"].value_counts(normalize=True) for part in (real, new)]
        varied = shares[0].sub(shares[1], fill_value=0).abs().sum() / 2
        found = np.maximum(found, (far, turned, varied))
    return found


#: Wasserstein distance, difference of correlations, total variation.
BOUNDS = (0.2, 0.08, 0.1)


@pytest.fixture(scope="module")
def trained():
    X, y = mixture(6000, 0)
    model = TabDDPM(
        timesteps=50,
        layers=(128, 128),
        embedding=64,
        iterations=700,
        batch_size=256,
        learning_rate=3e-3,
        device="cpu",
    )
    return model.fit(X, y, categorical=["colour"])


@pytest.mark.parametrize("device", DEVICES)
def test_a_known_mixture_is_recovered(trained, device):
    model = trained
    if device != "cpu":
        X, y = mixture(6000, 0)
        model = clone(trained).set_params(device=device).fit(X, y, categorical=["colour"])
    found = distances(*mixture(10_000, 1), *model.sample(4000))
    assert (found < BOUNDS).all(), found


def test_two_draws_of_the_mixture_itself_are_closer_than_the_bounds():
    assert (distances(*mixture(10_000, 1), *mixture(6000, 0)) < np.array(BOUNDS) / 2).all()


def test_an_untrained_network_is_out_of_bounds(trained):
    X, y = mixture(6000, 0)
    model = clone(trained).set_params(iterations=1, learning_rate=1e-9)
    found = distances(*mixture(10_000, 1), *model.fit(X, y, categorical=["colour"]).sample(4000))
    assert (found > BOUNDS).all(), found


def test_samples_of_another_class_are_out_of_bounds(trained):
    X, y = trained.sample(4000)
    swapped = np.where(y == "rare", "common", "rare")
    assert (distances(*mixture(10_000, 1), X, swapped) > BOUNDS).all()


def test_a_model_that_ignores_classes_would_be_out_of_bounds(trained):
    X, y = trained.sample(4000)
    shuffled = np.random.default_rng(0).permutation(y)
    assert (distances(*mixture(10_000, 1), X, shuffled) > BOUNDS).all()


def test_classes_are_drawn_with_their_frequencies(trained):
    _, y = trained.sample(4000)
    assert (y == "rare").mean() == pytest.approx(0.3, abs=0.03)


def test_samples_have_the_requested_classes(trained):
    asked = np.array(["rare", "common"] * 500)
    X, y = trained.sample(1000, y=asked)
    assert (y == asked).all()
    assert (X["colour"][asked == "rare"] == "red").mean() > 0.7
    assert (X["colour"][asked == "common"] == "red").mean() < 0.05


def test_the_loss_of_held_out_samples_is_higher_with_wrong_classes(trained):
    X, y = mixture(1000, 2)
    right = trained.loss(X, y)
    wrong = trained.loss(X, np.where(y == "rare", "common", "rare"))
    assert right == trained.loss(X, y)
    assert right == pytest.approx(trained.losses_[-1], rel=0.2)
    assert wrong > 1.5 * right


def test_a_classifier_learns_real_wine_from_synthetic_wine():
    X, y = load_wine_quality(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)

    def precision(X, y):
        fitted = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)).fit(X, y)
        return average_precision_score(y_test == "poor", fitted.predict_proba(X_test)[:, 1])

    model = TabDDPM(
        timesteps=50,
        layers=(128, 128),
        embedding=64,
        iterations=400,
        batch_size=256,
        learning_rate=2e-3,
        device="cpu",
    )
    X_new, y_new = model.fit(X, y).sample(2 * len(y))
    assert precision(X_new, y_new) >= 0.8 * precision(X, y)
    untrained = clone(model).set_params(iterations=1, learning_rate=1e-9).fit(X, y)
    assert precision(*untrained.sample(2 * len(y))) < 0.5 * precision(X, y)
    assert (X_new >= X.min(0)).all()
    assert (X_new <= X.max(0)).all()


# Seeds, blocks, files


@pytest.mark.parametrize("device", DEVICES)
def test_the_same_seed_gives_the_same_samples(device):
    X, y = mixture(300, 3)
    models = [
        TabDDPM(**SMALL | {"device": device}, dropout=0.1).fit(X, y, categorical=["colour"])
        for _ in range(2)
    ]
    (one, y_one), (other, y_other) = (model.sample(40) for model in models)
    pd.testing.assert_frame_equal(one, other)
    assert (y_one == y_other).all()
    assert not one.equals(models[0].sample(40, random_state=1)[0])
    assert not one.equals(
        clone(models[0])
        .set_params(random_state=1)
        .fit(X, y, categorical=["colour"])
        .sample(40, random_state=0)[0]
    )


def test_global_random_states_are_unchanged():
    X, y = mixture(100, 3)
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    TabDDPM(**SMALL).fit(X, y, categorical=["colour"]).sample(3)
    assert torch.equal(torch.rand(3), expected)


def test_many_samples_are_drawn_in_blocks(trained, monkeypatch):
    monkeypatch.setattr(sampling, "_MAX_SAMPLES", 300)
    asked = np.repeat(["rare", "common"], [700, 300])
    X, y = trained.sample(1000, y=asked)
    assert len(X) == len(y) == 1000
    assert (X["colour"][:700] == "red").mean() > 0.7
    assert (X["colour"][700:] == "red").mean() < 0.05
    assert not X.duplicated(["u", "v"]).any()


@pytest.mark.gpu
def test_a_recorded_step_equals_the_step():
    X, y = mixture(6000, 0)
    model = TabDDPM(**SMALL | {"device": "cuda", "iterations": 200})
    precision = torch.backends.cuda.matmul.fp32_precision
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        recorded = model.fit(X, y, categorical=["colour"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cuda_graphs, "_WARM", 10**9)
        plain = clone(model).fit(X, y, categorical=["colour"])
    held_out = mixture(2000, 1)
    assert recorded.loss(*held_out) == pytest.approx(plain.loss(*held_out), rel=0.05)
    assert torch.backends.cuda.matmul.fp32_precision == precision


def test_a_loaded_model_draws_the_same_samples(trained, tmp_path):
    path = tmp_path / "model.safetensors"
    trained.save(path)
    again = TabDDPM.load(path, device="cpu")
    for one, other in zip(trained.sample(50), again.sample(50), strict=True):
        assert pd.DataFrame(one).equals(pd.DataFrame(other))
    assert again.get_params() == trained.get_params()
    assert again.losses_ == trained.losses_
    assert again.loss(*mixture(50, 4)) == trained.loss(*mixture(50, 4))
    assert [file.name for file in tmp_path.iterdir()] == ["model.safetensors"]


@pytest.mark.parametrize(
    "classes", [["a", "b"], [3, -1], [0.5, 2.0], [True, False], np.array([1, 2], dtype=np.uint8)]
)
def test_classes_of_all_plain_types_are_saved(classes, tmp_path):
    y = np.repeat(np.asarray(classes), 10)
    model = TabDDPM(**SMALL).fit(np.random.default_rng(0).normal(size=(20, 2)), y)
    model.save(tmp_path / "model")
    _, labels = TabDDPM.load(tmp_path / "model", device="cpu").sample(30)
    assert labels.dtype == y.dtype
    assert set(labels) == set(y)
    assert (labels == model.sample(30)[1]).all()


def test_a_file_that_is_not_a_model_is_refused(tmp_path):
    path = tmp_path / "other"
    path.write_bytes(b"something else entirely")
    with pytest.raises(ValueError, match="does not hold a TabDDPM model"):
        TabDDPM.load(path)
    path.write_bytes(safetensors.save({"weight": torch.zeros(2)}))
    with pytest.raises(ValueError, match="does not hold a TabDDPM model"):
        TabDDPM.load(path)
    about = {"format": "rectifold TabDDPM", "model": json.dumps({"version": 99})}
    path.write_bytes(safetensors.save({"weight": torch.zeros(2)}, about))
    with pytest.raises(ValueError, match="has format 99"):
        TabDDPM.load(path)
    with pytest.raises(FileNotFoundError):
        TabDDPM.load(tmp_path / "nowhere")


def test_a_failed_save_leaves_no_file(tmp_path):
    X, y = np.random.default_rng(0).normal(size=(20, 1)), np.repeat([1, 2], 10)
    days = pd.DataFrame({"x": X[:, 0], "day": pd.to_datetime(["2020-01-01", "2020-01-02"] * 10)})
    model = TabDDPM(**SMALL).fit(days, y, categorical=["day"])
    with pytest.raises(ValueError, match="text, numbers or bool"):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


# Tables in all their forms


def odd_table():
    rng = np.random.default_rng(2)
    return pd.DataFrame(
        {
            "single": rng.normal(size=60).astype(np.float32),
            "count": rng.poisson(4, 60),
            "small": rng.integers(0, 9, 60).astype(np.uint8),
            "flag": rng.random(60) < 0.5,
            "nullable": pd.array(rng.integers(-5, 5, 60), dtype="Int64"),
            "constant": 0.1,
            "large": 2**60 + 1,
            "colour": pd.Categorical(rng.choice(["r", "g"], 60), categories=["g", "r", "never"]),
            "text": rng.choice(["x", "y", "z"], 60),
            "code": rng.choice([10, 20, 30], 60),
            "one": "same",
        }
    ), pd.Series(rng.choice(["n", "p"], 60), name="target")


ODD = ["colour", "text", "code", "one"]


@pytest.mark.parametrize("from_file", [False, True])
def test_samples_are_a_dataframe_with_the_dtypes_and_range_of_the_table(from_file, tmp_path):
    X, y = odd_table()
    model = TabDDPM(**SMALL).fit(X, y, categorical=ODD)
    if from_file:
        model.save(tmp_path / "model")
        model = TabDDPM.load(tmp_path / "model", device="cpu")
    X_new, y_new = model.sample(200)
    assert (X_new.dtypes == X.dtypes).all()
    assert list(X_new.columns) == list(X.columns)
    assert isinstance(y_new, pd.Series)
    assert (y_new.name, y_new.dtype) == (y.name, y.dtype)
    for name in X.columns:
        if name in ODD:
            assert set(X_new[name]) <= set(X[name])
        else:
            assert X_new[name].min() >= X[name].min()
            assert X_new[name].max() <= X[name].max()


def test_constant_columns_are_restored_exactly():
    X, y = odd_table()
    X_new, _ = TabDDPM(**SMALL).fit(X, y, categorical=ODD).sample(7)
    for name in ("constant", "large", "one"):
        assert set(X_new[name]) == set(X[name])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, object])
def test_samples_are_an_array_and_integers_stay_integers(dtype):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 50, size=(40, 3)).astype(dtype)
    X_new, _ = TabDDPM(**SMALL).fit(X, np.repeat([0, 1], 20), categorical=[-1]).sample(30)
    assert X_new.dtype == dtype
    assert (X_new.astype(float) == np.rint(X_new.astype(float))).all()
    assert set(X_new[:, 2]) <= set(X[:, 2])


@pytest.mark.parametrize("categorical", [None, [0, 1]])
def test_tables_of_numbers_only_or_categories_only_are_supported(categorical):
    X = np.random.default_rng(0).integers(0, 4, size=(40, 2)).astype(float)
    X_new, y_new = TabDDPM(**SMALL).fit(X, np.zeros(40), categorical=categorical).sample(9)
    assert X_new.shape == (9, 2)
    assert (y_new == 0).all()


def test_progress_counts_iterations():
    seen = []
    with listening(lambda done, total: seen.append((done, total))):
        TabDDPM(**SMALL | {"iterations": 60}).fit(*mixture(100, 0), categorical=["colour"])
    assert seen[0] == (0, 60)
    assert seen[-1] == (60, 60)
    assert seen == sorted(seen)


def test_modules_import_without_torch_and_the_model_names_it():
    program = """
import sys
import experiments.deep.tabular, experiments.deep.report, rectifold.cli.bench
from rectifold.bench import METHODS
assert "torch" not in sys.modules
sys.modules["torch"] = None
try:
    import experiments.deep.tabddpm
except ImportError as error:
    print(error)
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.startswith("TabDDPM needs torch: pip install -r experiments/requirements.txt")


# Wide tables


def normal(n_columns, n_rows=40):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n_rows, n_columns)), np.tile([0, 1], n_rows // 2)


@pytest.mark.parametrize(("columns", "embedding"), [(3, 128), (128, 128), (129, 256), (300, 512)])
def test_the_embedding_is_at_least_as_wide_as_the_columns_of_numbers(columns, embedding, tmp_path):
    model = TabDDPM(**SMALL | {"embedding": None, "layers": (512,), "iterations": 1})
    model.fit(*normal(columns))
    assert model.embedding_ == embedding
    model.save(tmp_path / "model")
    again = TabDDPM.load(tmp_path / "model", device="cpu")
    assert (again.embedding, again.embedding_) == (None, embedding)
    np.testing.assert_array_equal(model.sample(5)[0], again.sample(5)[0])


def test_categories_do_not_widen_the_embedding():
    X = np.arange(600).reshape(300, 2)
    model = TabDDPM(**SMALL | {"embedding": None}).fit(X, np.tile([0, 1], 150), categorical=[1])
    assert model.embedding_ == 128


@pytest.mark.parametrize(
    ("widths", "sentence"),
    [
        ({"embedding": 8}, "embedding of width 8 is too narrow for 12 columns"),
        ({"layers": (16, 10)}, "layers of width 10 is too narrow for 12 .* make it at least 12"),
    ],
)
def test_too_narrow_layers_give_a_warning(widths, sentence):
    with pytest.warns(UserWarning, match=sentence):
        TabDDPM(**SMALL | {"embedding": 16} | widths).fit(*normal(12))


def test_a_narrow_embedding_cannot_represent_the_noise():
    X, y = normal(12, 2000)
    settings = SMALL | {"layers": (64,), "batch_size": 256, "iterations": 400}
    # Of independent normal columns half of the noise can be predicted, on average over all steps.
    wide = TabDDPM(**settings | {"embedding": 32, "learning_rate": 3e-3}).fit(X, y)
    with pytest.warns(UserWarning, match="too narrow for"):
        narrow = TabDDPM(**settings | {"embedding": 4, "learning_rate": 3e-3}).fit(X, y)
    assert wide.loss(X, y) < 0.65
    assert narrow.loss(X, y) > 0.5 * 4 / 12 + 8 / 12 - 0.05


# What it refuses


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"timesteps": 1}, "'timesteps' parameter"),
        ({"iterations": 0}, "'iterations' parameter"),
        ({"batch_size": 2.5}, "'batch_size' parameter"),
        ({"learning_rate": 0}, "'learning_rate' parameter"),
        ({"ema": 1.0}, "'ema' parameter"),
        ({"dropout": 1.0}, "'dropout' parameter"),
        ({"layers": 512}, "'layers' parameter"),
        ({"layers": ()}, r"layers must be the widths of the hidden layers.*not \(\)"),
        ({"layers": (8, 0)}, "layers must be the widths"),
        ({"embedding": 7}, "embedding must be even, not 7"),
        ({"device": "tpu9"}, "device='tpu9' is not a device that torch can use"),
        ({"device": "meta"}, "device='meta' is not a device that torch can use"),
    ],
)
def test_invalid_parameters_are_refused(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        TabDDPM(**SMALL | options).fit(*mixture(50, 0), categorical=["colour"])


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_missing_device_is_refused_before_any_work():
    seen = []
    with (
        listening(lambda *numbers: seen.append(numbers)),
        pytest.raises(ValueError, match="not a device that torch can use here: it sees 'cpu'"),
    ):
        TabDDPM(device="cuda").fit(*mixture(50, 0), categorical=["colour"])
    assert not seen


def with_cell(column, value):
    X, _ = mixture(50, 0)
    X[column] = X[column].astype(object) if isinstance(value, str) else X[column]
    X.loc[3, column] = value
    return X


@pytest.mark.parametrize(
    ("X", "categorical", "sentence"),
    [
        (with_cell("u", np.nan), ["colour"], "column 'u' has a missing value"),
        (with_cell("u", np.inf), ["colour"], "column 'u' has an infinite value"),
        (with_cell("colour", None), ["colour"], "column 'colour' has a missing value"),
        (with_cell("u", "much"), ["colour"], "column 'u' does not hold numbers"),
        (mixture(50, 0)[0], None, "column 'colour' does not hold numbers: name it in categorical"),
        (mixture(50, 0)[0], ["color"], "categorical names 'color', which is not a column"),
        (mixture(50, 0)[0], [7], "categorical names 7, which is not a column"),
        (mixture(49, 0)[0], ["colour"], "X has 49 samples, and y has 50 labels"),
        (np.ones((50, 2)), None, "all columns of X are constant"),
        (np.ones(50), None, "it has 1 dimensions, not 2"),
        (np.empty((50, 0)), None, "X is empty: it has 50 rows and 0 columns"),
        (np.array([["a", "b"]] * 50), None, "column 0 does not hold numbers"),
    ],
)
def test_invalid_tables_are_refused(X, categorical, sentence):
    with pytest.raises(ValueError, match=sentence):
        TabDDPM(**SMALL).fit(X, np.repeat([0, 1], 25), categorical=categorical)


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (np.repeat(["n", "p"], [47, 3]), "class 'p' has 3 samples: TabDDPM needs at least 5"),
        (np.repeat([1, 2], [49, 1]), "class 2 has 1 sample: TabDDPM"),
        (np.full(50, np.nan), "y has a missing value"),
        (np.zeros((50, 2)), "y must have one dimension, not 2"),
    ],
)
def test_invalid_classes_are_refused(y, sentence):
    with pytest.raises(ValueError, match=sentence):
        TabDDPM(**SMALL).fit(mixture(50, 0)[0], y, categorical=["colour"])


def test_an_unfitted_model_raises_not_fitted_error(tmp_path):
    model = TabDDPM(**SMALL)
    for ask in (
        lambda: model.sample(3),
        lambda: model.loss(*mixture(5, 0)),
        lambda: model.save(tmp_path / "model"),
    ):
        with pytest.raises(NotFittedError):
            ask()


@pytest.mark.parametrize(
    ("n", "y", "sentence"),
    [
        (0, None, "n must be an integer of at least 1, not 0"),
        (2.5, None, "not 2.5"),
        (3, ["rare"], "y has 1 labels for n=3 samples"),
        (2, ["rare", "unheard"], "y has 'unheard', unknown in fit: 'common', 'rare'"),
        (4, "rare", "y must have one dimension, not 0"),
    ],
)
def test_invalid_arguments_of_sample_are_refused(trained, n, y, sentence):
    with pytest.raises(ValueError, match=sentence):
        trained.sample(n, y=y)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda X: X.assign(colour="pink"), "column 'colour' has 'pink', unknown in fit"),
        (lambda X: X[["u", "v"]], "X has 2 columns, and fit had 3"),
        (lambda X: X[["v", "u", "colour"]], "X has column 'v' where fit had 'u'"),
        (lambda X: X.assign(u=np.nan), "column 'u' has a missing value"),
    ],
)
def test_columns_that_differ_from_fit_are_refused(trained, change, sentence):
    X, y = mixture(20, 0)
    with pytest.raises(ValueError, match=sentence):
        trained.loss(change(X), y)


def test_a_loss_that_is_not_finite_ends_training():
    seen = []
    with (
        listening(lambda done, total: seen.append(done)),
        pytest.raises(RuntimeError, match="try a lower learning_rate than 1e"),
    ):
        TabDDPM(**SMALL | {"learning_rate": 1e30, "iterations": 5000}).fit(
            *mixture(100, 0), categorical=["colour"]
        )
    assert max(seen) < 100


def test_a_mask_of_columns_equals_positions():
    X, y = mixture(300, 0)
    quick = TabDDPM(**SMALL | {"iterations": 3, "timesteps": 4})
    mask = [name == "colour" for name in X.columns]
    one, other = (
        clone(quick).fit(X, y, categorical=columns).sample(20)[0] for columns in (mask, ["colour"])
    )
    pd.testing.assert_frame_equal(one, other)
    with pytest.raises(ValueError, match="categorical is a mask of 2 columns, and X has"):
        quick.fit(X, y, categorical=[True, False])


def test_a_model_is_saved_as_it_was_fitted(tmp_path):
    X, y = mixture(300, 0)
    model = TabDDPM(**SMALL | {"iterations": 3, "timesteps": 4}).fit(X, y, categorical=["colour"])
    rows, _ = model.sample(20)
    model.set_params(timesteps=9, layers=(8,))
    pd.testing.assert_frame_equal(model.sample(20)[0], rows)
    model.save(tmp_path / "model")
    pd.testing.assert_frame_equal(TabDDPM.load(tmp_path / "model").sample(20)[0], rows)
