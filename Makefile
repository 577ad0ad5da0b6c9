# Everything runs in .venv, which the first target that needs it creates.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# At these matrix sizes BLAS threads only fight with each other and with the test workers.
export OMP_NUM_THREADS ?= 1

# The runs that figures are made from: those of the study, and no other versions beside them.
RUNS ?= $(wildcard benchmarks/results/study/*.jsonl)

.DEFAULT_GOAL := help
.PHONY: help demo test test-faults lint format pictures truth clean bench-core bench-climb bench-hmc \
	bench-overhead bench-synthetic bench-equal bench-problems bench-likelihoods bench-journal bench-archive \
	bench-parallel bench-in-flight bench-real bench-variants bench-evidence bench-mode \
	bench-house bench-stress bench-verdict bench-modes bench-robust bench-calibration bench-forecast bench-stack \
	bench-deviations bench-integers study figures illustrations page

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

$(VENV)/.dev: pyproject.toml hatch_build.py $(wildcard src/quell/native/*.[ch])
	$(PYTHON) -c 'import sys; sys.exit("Quell needs Python 3.11 or newer; set PYTHON=python3.11") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

$(VENV)/.peers: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --editable '.[dev,peers]'
	@touch $@

$(VENV)/.docs: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --editable '.[dev,docs]'
	@touch $@

$(VENV)/.truth: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --editable '.[dev,truth]'
	@touch $@

demo: $(VENV)/.dev  ## noisy inference on a banana; writes demo/report.html and demo/figure1.png
	$(BIN)/quell demo --out demo

test: $(VENV)/.dev  ## the whole test suite
	$(BIN)/python -m pytest -n 2 $(ARGS)

test-faults: $(VENV)/.dev  ## a hundred kills at random moments; full disks; read-only folders
	QUELL_KILLS=100 $(BIN)/python -m pytest tests/faults tests/integration/test_dask.py $(ARGS)

lint: $(VENV)/.dev  ## formatting, lint rules and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/.dev  ## rewrite the sources in the house format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

pictures: $(VENV)/.dev  ## the pictures of docs/plots.md
	$(BIN)/python docs/make_pictures.py

report-picture: $(VENV)/.dev  ## the picture of docs/report.md (needs chromium and the extra browser)
	$(BIN)/python docs/make_report_picture.py

.PHONY: report-picture

figures: $(VENV)/.dev  ## the paper's figures and table 1 from the committed runs, in figures/; no inference
	$(BIN)/quell bench figures $(RUNS) $(wildcard benchmarks/results/illustrations/*) --out figures $(ARGS)

illustrations: $(VENV)/.dev  ## make again the small files behind figures 1 and S5 (needs QUELL_DATA)
	$(BIN)/python benchmarks/make_illustrations.py $(ARGS)

page: $(VENV)/.dev  ## bring docs/benchmark.md and its pictures up to date with the committed runs (needs QUELL_DATA)
	$(BIN)/python benchmarks/make_page.py $(ARGS)

bench-core: $(VENV)/.peers  ## CPU ms per call of the numerical kernels, beside gpyreg in the same run
	$(BIN)/python benchmarks/bench_core.py $(ARGS)

bench-climb: $(VENV)/.dev  ## units for the means of the mixture in its optimisation
	$(BIN)/python benchmarks/bench_climb.py

bench-overhead: $(VENV)/.peers  ## the algorithm's CPU time per evaluation beside PyVBMC's; growth; memory
	$(BIN)/python benchmarks/bench_overhead.py $(ARGS)

bench-synthetic: $(VENV)/.dev  ## accuracy on the synthetic targets beside PyVBMC's published figures
	$(BIN)/python benchmarks/campaigns.py synthetic $(ARGS)

bench-equal: $(VENV)/.dev  ## the same beside PyVBMC at equal evaluations, and at both's own stops
	$(BIN)/python benchmarks/campaigns.py equal $(ARGS)

bench-real: $(VENV)/.dev  ## the ten problems, the paper's algorithm and Quell (hours; resumable)
	$(BIN)/python benchmarks/campaigns.py real $(ARGS)

bench-variants: $(VENV)/.dev  ## the paper's acquisition functions, with and without whitening (resumable)
	$(BIN)/python benchmarks/campaigns.py variants $(ARGS)

bench-deviations: $(VENV)/.dev  ## default settings beside the same with one rule of the paper (resumable)
	$(BIN)/python benchmarks/bench_deviations.py $(ARGS)

bench-hmc: $(VENV)/.peers  ## cost and accuracy of the hyperparameter sampler, beside gpyreg's slice sampler
	$(BIN)/python benchmarks/bench_hmc.py $(ARGS)

bench-mode: $(VENV)/.dev  ## the search for the mode of the hyperposterior, plain and along its curvature
	$(BIN)/python benchmarks/bench_mode.py $(ARGS)

bench-evidence: $(VENV)/.dev  ## bias and coverage of four estimates of the log evidence (resumable)
	$(BIN)/python benchmarks/bench_evidence.py $(ARGS)

truth: $(VENV)/.truth  ## ground truth of the ten problems on simulated data (hours; resumable)
	$(BIN)/python benchmarks/make_truth.py $(ARGS)

bench-problems: $(VENV)/.dev  ## CPU seconds of one evaluation of every real problem
	$(BIN)/python benchmarks/bench_problems.py $(ARGS)

bench-likelihoods: $(VENV)/.dev  ## cost and calibration of the likelihood estimators
	$(BIN)/python benchmarks/bench_likelihoods.py $(ARGS)

bench-journal: $(VENV)/.dev  ## what the journal costs per evaluation
	$(BIN)/python benchmarks/bench_journal.py $(ARGS)

bench-archive: $(VENV)/.dev  ## ask times and memory after ten thousand told points
	$(BIN)/python benchmarks/bench_archive.py $(ARGS)

bench-parallel: $(VENV)/.dev  ## evaluations per second with 1, 8 and 32 workers
	$(BIN)/python benchmarks/bench_parallel.py $(ARGS)

bench-in-flight: $(VENV)/.dev  ## accuracy with 8 points under evaluation beside one (an hour; resumable)
	$(BIN)/python benchmarks/campaigns.py in-flight $(ARGS)

bench-stress: $(VENV)/.dev  ## problems of awkward kinds: worst cases, and runs that are nonsense (hours; resumable)
	$(BIN)/python benchmarks/campaigns.py stress $(ARGS)

bench-verdict: $(VENV)/.dev  ## what runs say of themselves beside whether they are usable; ARGS="FILE ..."
	$(BIN)/python benchmarks/bench_verdict.py $(ARGS)

.PHONY: bench-answer
bench-answer: $(VENV)/.dev  ## what a posterior could be made of: the mixture, the surrogate, late iterations (half an hour; resumable)
	$(BIN)/python benchmarks/bench_answer.py $(ARGS)

bench-modes: $(VENV)/.dev  ## posteriors of several modes: how many runs know all of them
	$(BIN)/python benchmarks/bench_modes.py $(ARGS)

bench-integers: $(VENV)/.dev  ## integer parameters with few likely values, beside sums over them
	$(BIN)/python benchmarks/bench_integers.py $(ARGS)

bench-robust: $(VENV)/.dev  ## wrong values and wrong SDs, with and without Settings(robust=True); ARGS="--out FILE"
	$(BIN)/python benchmarks/bench_robust.py $(ARGS)

bench-calibration: $(VENV)/.dev  ## simulation-based calibration of posteriors on three models
	$(BIN)/python benchmarks/bench_calibration.py $(ARGS)

bench-forecast: $(VENV)/.dev  ## what more evaluations were forecast to buy, beside what they did; ARGS="FILE ..."
	$(BIN)/python benchmarks/bench_forecast.py $(ARGS)

bench-stack: $(VENV)/.dev  ## one run, ten and twenty stacked; one long run or several short (an hour; resumable)
	$(BIN)/python benchmarks/bench_stack.py $(ARGS)

study: $(VENV)/.peers  ## the whole study (12 CPU hours; resumable): ARGS="--list", "--part P", "--minutes M"
	$(BIN)/python benchmarks/study.py $(ARGS)

.PHONY: bench-watch
bench-watch: $(VENV)/.dev  ## what `quell watch` costs the run that it watches
	$(BIN)/python benchmarks/bench_watch.py $(ARGS)

bench-house: $(VENV)/.dev  ## the shape of the source tree; ARGS="--src DIR" for another one beside it
	$(BIN)/python benchmarks/bench_house.py $(ARGS)

.PHONY: docs site-pictures tutorial-runs
docs: $(VENV)/.docs  ## the documentation as a site, in docs/_build/html; warnings are errors
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

site-pictures: $(VENV)/.dev  ## the pictures of the start page and of docs/how-it-works.md
	$(BIN)/python docs/make_site_pictures.py

tutorial-runs: $(VENV)/.dev  ## the saved runs that the tutorials open (minutes); ARGS="ibs" for one page
	$(BIN)/python docs/make_runs.py $(ARGS)

.PHONY: check-package check-versions
check-package: $(VENV)/.dev  ## build wheel and sdist, install both into new environments, make a run there
	$(BIN)/python benchmarks/check_package.py

check-versions: $(VENV)/.dev  ## tests with the oldest dependencies allowed, and on every Python named that is here
	$(BIN)/python benchmarks/check_versions.py $(ARGS)

clean:  ## remove the environment and everything generated
	rm -rf $(VENV) demo figures .pytest_cache .mypy_cache .ruff_cache .hypothesis dist docs/_build docs/reference/generated
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
