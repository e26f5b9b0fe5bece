"""Long-tailed images: the cut, the network, the losses, training, and GMR on features."""

import numpy as np
import pytest

from rectifold.bench import BenchError
from rectifold.progress import listening

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from conftest import DATA  # noqa: E402
from experiments.deep.longtail import (  # noqa: E402
    METHODS,
    LongTailed,
    Recipe,
    Trainer,
    long_tailed,
    methods,
    read_cifar,
    read_npz,
    run,
    train,
    train_together,
    training,
)
from experiments.deep.longtail.augmentation import (  # noqa: E402
    Normaliser,
    augmented,
    draw,
    padded,
)
from experiments.deep.longtail.losses import (  # noqa: E402
    Loss,
    class_balanced,
    margins,
    weights_at,
)
from experiments.deep.longtail.network import Block, ResNet32  # noqa: E402
from experiments.deep.longtail.schedule import rate_at  # noqa: E402
from images import small, stripes  # noqa: E402

CPU = torch.device("cpu")
COUNTS = np.array([5000, 2997, 1796, 1077, 645, 387, 232, 139, 83, 50])
#: A network that learns a little in a second.
SMALL = Recipe(batch=32, width=4, blocks=1)


pytestmark = pytest.mark.usefixtures("one_thread")


class TestTheCut:
    def test_class_sizes_follow_the_usual_formula(self):
        for n_classes, size, ratio in ((10, 5000, 100), (100, 500, 100), (10, 5000, 50)):
            labels = np.tile(np.arange(n_classes), size)
            kept = long_tailed(labels, ratio, seed=0)
            usual = [
                int(size * (1 / ratio) ** (code / (n_classes - 1))) for code in range(n_classes)
            ]
            np.testing.assert_array_equal(np.bincount(labels[kept]), usual)
        labels = np.tile(np.arange(10), 5000)
        kept = long_tailed(labels, 100, seed=0)
        np.testing.assert_array_equal(np.bincount(labels[kept]), COUNTS)

    def test_the_cut_depends_on_the_seed_only_and_has_no_duplicates(self):
        labels = np.random.default_rng(0).permutation(np.repeat(np.arange(5), 50))
        one, same, other = (long_tailed(labels, 10, seed) for seed in (1, 1, 2))
        np.testing.assert_array_equal(one, same)
        assert not np.array_equal(one, other)
        assert (np.diff(one) > 0).all()

    def test_the_cut_keeps_the_test_part(self):
        whole = small(counts=(100, 100, 100))
        cut = whole.cut(ratio=10, seed=0)
        np.testing.assert_array_equal(cut.counts, [100, 31, 10])
        assert cut.ratio == 10
        assert cut.test_images is whole.test_images
        rows = {image.tobytes() for image in whole.train_images}
        assert all(image.tobytes() in rows for image in cut.train_images)

    @pytest.mark.parametrize(
        ("counts", "ratio", "message"),
        [
            ((50, 50), 0.5, "at least 1"),
            ((50, 50), float("nan"), "at least 1"),
            ((50, 50), 100, "would have no image"),
            ((50, 10), 2, "needs 25 images and has 10"),
            ((50,), 2, "only one class"),
        ],
    )
    def test_an_impossible_cut_is_refused(self, counts, ratio, message):
        with pytest.raises(BenchError, match=message):
            long_tailed(np.repeat(np.arange(len(counts)), counts), ratio, 0)


class TestReading:
    def test_npz_files_are_read(self, tmp_path):
        data = small()
        for part in ("train", "test"):
            np.savez(
                tmp_path / f"{part}.npz",
                X=getattr(data, f"{part}_images"),
                y=getattr(data, f"{part}_labels").astype(np.uint8),
                label_names=np.array(data.names),
            )
        read = read_npz(tmp_path / "train.npz", tmp_path / "test.npz")
        np.testing.assert_array_equal(read.train_images, data.train_images)
        np.testing.assert_array_equal(read.test_labels, data.test_labels)
        assert (read.names, read.name, read.ratio) == (data.names, "train", 4.0)

    def test_a_file_with_a_pickle_or_without_an_array_is_refused(self, tmp_path):
        np.savez(tmp_path / "pickle.npz", X=np.array([{}]), y=[0], label_names=["a"])
        np.savez(tmp_path / "less.npz", X=np.zeros(3))
        (tmp_path / "broken.npz").write_bytes(b"PK no archive")
        for name in ("pickle", "less", "broken", "missing"):
            with pytest.raises(BenchError, match=name):
                read_npz(tmp_path / f"{name}.npz", tmp_path / f"{name}.npz")

    def test_the_long_tailed_cifar_10_file_has_the_counts_of_the_formula(self):
        home = DATA / "large"
        if not (home / "cifar10_lt100.npz").is_file():
            pytest.skip(f"cifar10_lt100.npz is not at {home} (set RECTIFOLD_DATA)")
        data = read_npz(home / "cifar10_lt100.npz", home / "cifar10_test.npz")
        np.testing.assert_array_equal(data.counts, COUNTS)
        np.testing.assert_array_equal(np.bincount(data.test_labels), [1000] * 10)

    @pytest.mark.parametrize("classes", [10, 100])
    def test_binary_cifar_files_are_read(self, tmp_path, classes):
        made = write_cifar(tmp_path, classes)
        for folder in (tmp_path, made["home"]):
            data = read_cifar(folder, classes)
            np.testing.assert_array_equal(data.train_images, made["X"])
            np.testing.assert_array_equal(data.train_labels, made["y"])
            np.testing.assert_array_equal(data.test_images, made["X_test"])
            np.testing.assert_array_equal(data.test_labels, made["y_test"])
            assert data.names == tuple(f"class{code}" for code in range(classes))
            assert data.name == f"CIFAR-{classes}"

    @pytest.mark.parametrize("classes", [10, 100])
    def test_a_file_that_is_cut_off_is_refused(self, tmp_path, classes):
        home = write_cifar(tmp_path, classes)["home"]
        path = home / ("data_batch_3.bin" if classes == 10 else "train.bin")
        whole = path.read_bytes()
        record = 3072 + (1 if classes == 10 else 2)
        for kept, message in (
            (len(whole) - 1, "cut off"),
            (len(whole) - record, "not whole|no image"),
        ):
            path.write_bytes(whole[:kept])
            with pytest.raises(BenchError, match=message):
                read_cifar(tmp_path, classes)
        path.unlink()
        with pytest.raises(BenchError, match="there is no file"):
            read_cifar(tmp_path, classes)

    def test_the_python_version_is_refused_with_the_reason(self, tmp_path):
        with pytest.raises(BenchError, match="has no folder cifar-100-binary"):
            read_cifar(tmp_path, 100)
        (tmp_path / "cifar-100-python").mkdir()
        with pytest.raises(BenchError, match=r"pickles could run any code.*cifar-100-binary"):
            read_cifar(tmp_path, 100)
        with pytest.raises(BenchError, match=r"10 or 100, .* not 20"):
            read_cifar(tmp_path, 20)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"train_images": np.zeros((3, 28, 28, 3), np.uint8)}, r"shape \(3, 28, 28, 3\)"),
            ({"test_images": np.zeros((90, 32, 32, 3))}, "test part: images must be bytes"),
            ({"train_labels": np.zeros(3, int)}, "one for each"),
            ({"test_labels": np.full(90, 7)}, "from 0 to 2"),
            ({"train_labels": np.zeros(280, int)}, "'stripes 1' has no image"),
            ({"names": ("a",)}, "at least 2"),
        ],
    )
    def test_invalid_images_are_refused(self, change, message):
        with pytest.raises(BenchError, match=message):
            LongTailed(**{**vars(small()), **change})


def write_cifar(folder, classes):
    """Write small CIFAR files in the binary version."""
    rng = np.random.default_rng(classes)
    ten = classes == 10
    home = folder / ("cifar-10-batches-bin" if ten else "cifar-100-binary")
    home.mkdir()
    names = "\n".join(f"class{code}" for code in range(classes)) + "\n\n"
    (home / ("batches.meta.txt" if ten else "fine_label_names.txt")).write_text(names)
    made = {"home": home}
    parts = [("", [f"data_batch_{n}.bin" for n in range(1, 6)] if ten else ["train.bin"])]
    parts.append(("_test", ["test_batch.bin" if ten else "test.bin"]))
    for suffix, files in parts:
        y = rng.permutation(np.repeat(np.arange(classes), 1 if suffix else 5))
        X = rng.integers(256, size=(len(y), 32, 32, 3), dtype=np.uint8)
        made[f"X{suffix}"], made[f"y{suffix}"] = X, y
        records = [
            bytes([label] if ten else [label // 5, label]) + image.transpose(2, 0, 1).tobytes()
            for image, label in zip(X, y, strict=True)
        ]
        for path, part in zip(files, np.array_split(np.arange(len(y)), len(files)), strict=True):
            (home / path).write_bytes(b"".join(records[row] for row in part))
    return made


class TestTheNetwork:
    def test_the_network_is_a_resnet_32_with_parameter_free_shortcuts(self):
        def size(network):
            return sum(weights.numel() for weights in network.parameters())

        network = ResNet32(10)
        assert size(network) == 464154
        assert size(ResNet32(100)) == 464154 + 90 * 65
        assert size(ResNet32(10, normed=True)) == 464154 - 10
        layers = [part for part in network.modules() if isinstance(part, torch.nn.Conv2d)]
        assert len(layers) + 1 == 32

    def test_features_are_64_and_logits_one_for_each_class(self):
        network = ResNet32(7).eval()
        x = torch.randn(3, 3, 32, 32)
        with torch.no_grad():
            assert network.features(x).shape == (3, 64)
            assert network(x).shape == (3, 7)
            torch.testing.assert_close(network(x), network.head(network.features(x)))

    def test_a_shortcut_drops_pixels_and_adds_zero_channels(self):
        x = torch.randn(2, 16, 8, 8)
        assert Block(16, 16, 1).shortcut(x) is x
        past = Block(16, 32, 2).shortcut(x)
        torch.testing.assert_close(past[:, 8:24], x[:, :, ::2, ::2])
        assert past.shape == (2, 32, 4, 4)
        assert not past[:, :8].any()
        assert not past[:, 24:].any()

    def test_normed_logits_are_cosines(self):
        head = ResNet32(5, normed=True).head
        x = torch.randn(4, 64)
        cosines = torch.nn.functional.cosine_similarity(x[:, :, None], head.weight[None], dim=1)
        torch.testing.assert_close(head(x), cosines)
        torch.testing.assert_close(head(9 * x), cosines)


def slow_cross_entropy(logits, labels, weights):
    total = 0.0
    for row, label in zip(logits, labels, strict=True):
        total += weights[label] * (np.log(np.exp(row - row.max()).sum()) + row.max() - row[label])
    return total / sum(weights[label] for label in labels)


class TestLosses:
    def test_class_balanced_weights_follow_the_effective_number(self):
        raw = [(1 - 0.9999) / (1 - 0.9999**count) for count in COUNTS.tolist()]
        np.testing.assert_allclose(class_balanced(COUNTS), np.array(raw) / sum(raw) * 10)
        np.testing.assert_allclose(class_balanced(COUNTS, beta=0.0), 1)

    def test_margins_fall_with_the_fourth_root_of_the_count(self):
        expected = [0.5 * (50 / count) ** 0.25 for count in COUNTS.tolist()]
        np.testing.assert_allclose(margins(COUNTS), expected)

    @pytest.mark.parametrize("name", ["CE", "CB", "LDAM"])
    @pytest.mark.parametrize("epoch", [0, 159, 160])
    def test_losses_agree_with_the_formulas(self, name, epoch):
        rng = np.random.default_rng(0)
        logits, labels = rng.uniform(-1, 1, size=(40, 10)), rng.integers(10, size=40)
        loss = Loss(name, COUNTS, CPU)
        loss.begin(epoch, 200)
        found = loss(torch.tensor(logits, dtype=torch.float32), torch.tensor(labels))
        weighed = name == "CB" or (name == "LDAM" and epoch >= 160)
        weights = class_balanced(COUNTS) if weighed else np.ones(10)
        if name == "LDAM":
            logits = logits.copy()
            logits[np.arange(40), labels] -= margins(COUNTS)[labels]
            logits *= 30
        expected = slow_cross_entropy(logits, labels, weights)
        if name == "CB":
            # Cui et al. divide by the number of images.
            expected *= weights[labels].sum() / len(labels)
        assert float(found) == pytest.approx(expected, rel=1e-5)

    @pytest.mark.parametrize("epochs", [10, 200])
    def test_ldam_weights_classes_in_the_last_fifth_of_the_epochs(self, epochs):
        weighed = [
            bool((weights_at("LDAM", COUNTS, epoch, epochs) != 1).any()) for epoch in range(epochs)
        ]
        assert weighed == [epoch >= epochs * 4 // 5 for epoch in range(epochs)]

    def test_weights_are_updated_in_place(self):
        loss = Loss("LDAM", COUNTS, CPU)
        place = loss.weights.data_ptr()
        loss.begin(160, 200)
        assert loss.weights.data_ptr() == place
        np.testing.assert_allclose(loss.weights.numpy(), class_balanced(COUNTS), rtol=1e-6)

    def test_the_rate_rises_and_falls_twice(self):
        rates = [rate_at(epoch, 200, 0.1) for epoch in range(200)]
        np.testing.assert_allclose(rates[:6], [0.02, 0.04, 0.06, 0.08, 0.1, 0.1])
        np.testing.assert_allclose(rates[5:160], 0.1)
        np.testing.assert_allclose(rates[160:180], 1e-3)
        np.testing.assert_allclose(rates[180:], 1e-5)
        assert rate_at(0, 1) == 0.1


class TestAugmentation:
    def test_augmented_images_are_shifted_and_flipped_copies(self):
        rng = np.random.default_rng(0)
        images = rng.integers(1, 256, size=(20, 32, 32, 3), dtype=np.uint8)
        rows = torch.from_numpy(rng.integers(20, size=50))
        drawn = draw(rows, torch.Generator().manual_seed(0))
        found = augmented(padded(torch.from_numpy(images)), drawn).numpy()
        seen = set()
        for image, row in zip(found, rows.tolist(), strict=True):
            wide = np.pad(images[row], ((4, 4), (4, 4), (0, 0)))
            matches = [
                (top, left, flipped)
                for top in range(9)
                for left in range(9)
                for flipped in (False, True)
                if np.array_equal(
                    image, wide[top : top + 32, left : left + 32][:, :: -1 if flipped else 1]
                )
            ]
            assert len(matches) == 1
            seen.update(matches)
        # All of it happens: shifts both ways, flips.
        assert len(seen) > 30
        assert {flipped for *_, flipped in seen} == {False, True}
        assert {0, 8} <= {top for top, *_ in seen} | {left for _, left, _ in seen}

    def test_the_same_seed_draws_the_same(self):
        one, same, other = (
            draw(torch.arange(100), torch.Generator().manual_seed(seed)) for seed in (3, 3, 4)
        )
        assert torch.equal(one, same)
        assert not torch.equal(one, other)

    def test_normalised_training_images_have_mean_0_and_deviation_1(self):
        images, _ = stripes((30, 30), 0)
        found = Normaliser(images, CPU)(torch.from_numpy(images))
        assert found.shape == (60, 3, 32, 32)
        assert found.is_contiguous(memory_format=torch.channels_last)
        torch.testing.assert_close(found.mean((0, 2, 3)), torch.zeros(3), atol=1e-4, rtol=0)
        torch.testing.assert_close(found.std((0, 2, 3)), torch.ones(3), atol=1e-3, rtol=0)


class TestTraining:
    def test_it_learns_and_the_same_seed_gives_the_same(self):
        data = small()
        one, same, other = (
            train(data, epochs=2, seed=seed, device="cpu", recipe=SMALL) for seed in (0, 0, 1)
        )
        assert one.losses == same.losses
        assert one.losses != other.losses
        assert one.losses[-1] < one.losses[0]
        np.testing.assert_array_equal(
            one.features(data.test_images), same.features(data.test_images)
        )

    def test_training_together_gives_the_same_networks_as_one_by_one(self):
        data = small()
        alone = [train(data, name, epochs=2, device="cpu", recipe=SMALL) for name in ("CB", "LDAM")]
        seen = []
        with listening(lambda done, total: seen.append((done, total))):
            beside = train_together(
                [
                    Trainer(data, name, epochs=2, device="cpu", recipe=SMALL)
                    for name in ("CB", "LDAM")
                ]
            )
        assert [one.losses for one in beside] == [one.losses for one in alone]
        assert seen == [(2, 4), (4, 4)]

    def test_training_restores_the_generator_of_torch(self):
        before = torch.get_rng_state()
        train(small(counts=(20, 10)), epochs=1, device="cpu", recipe=SMALL)
        assert torch.equal(torch.get_rng_state(), before)

    def test_a_loss_that_is_not_finite_raises_an_error_with_advice(self):
        wild = Recipe(batch=32, width=4, blocks=1, rate=1e30)
        with pytest.raises(BenchError, match="lower learning rate than 1e"):
            train(small(counts=(60, 30)), epochs=3, device="cpu", recipe=wild)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"epochs": 0}, "epochs must be an integer"),
            ({"epochs": 1.5}, "not 1.5"),
            ({"loss": "LDAN"}, "did you mean 'LDAM'"),
            ({"device": "nowhere"}, "device='nowhere'"),
        ],
    )
    def test_bad_arguments_are_refused(self, options, message):
        with pytest.raises(ValueError, match=message):
            train(small(), **options)

    @pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
    def test_a_missing_cuda_device_is_refused_before_any_work(self):
        with pytest.raises(
            ValueError, match="device='cuda' is not a device that torch can use here"
        ):
            run(small(), device="cuda")
        assert training.find_device(None) == CPU

    @pytest.mark.gpu
    def test_replayed_steps_equal_launched_steps(self):
        data = small()
        for name in ("CE", "LDAM"):
            trainers = [
                Trainer(data, name, epochs=5, device="cuda", recipe=SMALL, graph=graph)
                for graph in (True, False)
            ]
            moved = []
            for trainer in trainers:
                for _ in range(5):
                    weights = [weights.detach().clone() for weights in trainer.network.parameters()]
                    list(trainer.steps())
                    trainer.end()
                pairs = zip(trainer.network.parameters(), weights, strict=True)
                moved.append(sum(float((now.detach() - then).norm()) for now, then in pairs))
            replayed, launched = trainers
            assert replayed.recorded
            assert not launched.recorded
            np.testing.assert_allclose(replayed.losses, launched.losses, rtol=1e-3)
            # In the last epoch the rate is a hundredth, and LDAM weighs classes.
            np.testing.assert_allclose(*moved, rtol=0.05)

    @pytest.mark.gpu
    def test_a_gpu_learns_about_what_the_cpu_learns(self):
        data = small()
        one, other = (
            train(data, epochs=3, device=device, recipe=SMALL) for device in ("cuda", "cpu")
        )
        # In bfloat16 they part slowly.
        assert one.losses[0] == pytest.approx(other.losses[0], rel=0.05)
        assert one.losses[-1] < one.losses[0]


class TestTheExperiment:
    def test_all_methods_give_scores_better_than_chance(self):
        data, seen = small(), []
        with listening(lambda done, total: seen.append((done, total))):
            results = list(run(data, seeds=[0], epochs=4, device="cpu", recipe=SMALL))
        assert {result["method"] for result in results} == set(METHODS)
        # One network serves three methods.
        assert seen[-1] == (12, 12)
        for result in results:
            assert np.isfinite(result["balanced_accuracy"])
            assert result["balanced_accuracy"] == pytest.approx(np.mean(result["per_class"]))
            assert len(result["per_class"]) == 3
            assert result["seconds_training"] > 0
            assert np.isnan(result["few"])
            assert result["many"] == result["per_class"][0]
            assert (result["metric"] == "euclidean") == (result["method"] == "GMR-Feature")
        by_name = {result["method"]: result for result in results}
        assert by_name["CE"]["balanced_accuracy"] > 0.5
        assert by_name["CE-Linear"]["balanced_accuracy"] > 0.5
        assert by_name["CE-Linear"]["removed"] is None

    def test_the_same_seed_gives_the_same_together_or_one_by_one(self):
        data = small()

        def figures(seeds, together):
            kept = ("method", "seed", "per_class", "removed")
            asked = (data, ["CE", "GMR-Feature"], seeds)
            found = run(*asked, epochs=1, device="cpu", recipe=SMALL, together=together)
            return [{name: result[name] for name in kept} for result in found]

        assert figures([0, 1], together=2) == figures([0], 1) + figures([1], 1)

    def test_cleaning_sees_the_training_part_only(self):
        # Stripes that are hard to see, so that there is something to remove.
        data = small(noise=-50)
        other = LongTailed(**{**vars(data), "test_images": 255 - data.test_images[::-1]})
        options = {"epochs": 1, "device": "cpu", "recipe": SMALL}
        removed = [
            next(run(each, ["gmr-feature"], [0], **options))["removed"] for each in (data, other)
        ]
        assert removed[0] == removed[1]
        assert sum(removed[0]) > 0

    def test_classes_are_grouped_by_their_training_images(self):
        data = small(counts=(101, 100, 20, 19), test=10)
        predicted = data.test_labels.copy()
        predicted[np.flatnonzero(predicted == 1)[:5]] = 0
        found = methods.scores(predicted, data)
        assert found["per_class"] == [1, 0.5, 1, 1]
        assert (found["many"], found["medium"], found["few"]) == (1, 0.75, 1)

    def test_a_single_class_left_by_cleaning_is_predicted(self):
        X = np.zeros((3, 2))
        np.testing.assert_array_equal(methods.linear(X, np.array([1, 1, 1]), X), [1, 1, 1])

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"methods": ["GMR-Featur"]}, "did you mean 'GMR-Feature'"),
            ({"methods": []}, "methods is empty"),
            ({"epochs": 0}, "epochs must be an integer"),
            ({"seeds": [-1]}, "seeds must be"),
            ({"seeds": []}, "seeds must be"),
            ({"seeds": 5}, "seeds must be .* not 5"),
            ({"together": 0}, "together must be"),
            ({"strategy": "majorities"}, "sampling_strategy"),
            ({"strategy": [0, 3]}, "3 is not a class"),
        ],
    )
    def test_invalid_arguments_are_refused_at_the_call(self, options, message):
        with pytest.raises(ValueError, match=message):
            run(small(), **options)
