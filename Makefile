# `make demo` and `make test` set up everything that they need, once, and then run. `make` alone lists the rest.
.DEFAULT_GOAL := help
.PHONY: help setup demo test test-fast test-web test-python crash-matrix stories backtest-week lint lint-python lint-types \
        lint-imports lint-drift lint-web format bench lock hooks clean

# .node/ exists only where the system's Node.js is missing or too old.
export PATH := $(CURDIR)/.node/bin:$(PATH)

PY := .venv/bin/python
PYTEST_ARGS ?=
on = $(filter-out 0 no false off,$(1))

# Stamps: one file per finished piece of set-up, newer than what it was made from. With FLEETWARD_SETUP_DRYRUN=1
# `make setup` prints what it would do, and leaves none.
do = $(if $(FLEETWARD_SETUP_DRYRUN),@echo 'setup: would run: $(1)',$(1))
STAMP = $(if $(FLEETWARD_SETUP_DRYRUN),,mkdir -p $(@D) && touch $@)

PYTHON_READY  := .venv/.fleetward
NODE_READY    := .make/node
MODULES_READY := web/node_modules/.fleetward
CONSOLE_READY := web/dist/index.html
CONSOLE_SOURCES := web/index.html web/vite.config.ts web/tsconfig.json \
    $(shell find web/src web/public -type f 2>/dev/null | grep -v ' ')

help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  \033[1m%-12s\033[0m %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

# ── Set-up ──────────────────────────────────────────────────────────────────────────────────────────────────────
setup: $(PYTHON_READY) $(MODULES_READY) $(CONSOLE_READY) .make/system-demo .make/system-test ## Set up everything, run nothing

$(PYTHON_READY): requirements.lock pyproject.toml scripts/python-env.sh
	sh scripts/python-env.sh
	@$(STAMP)

$(NODE_READY): scripts/node-env.sh scripts/node.lock $(PYTHON_READY)
	sh scripts/node-env.sh
	@$(STAMP)

$(MODULES_READY): web/package-lock.json web/package.json $(NODE_READY)
	$(call do,cd web && npm ci --no-fund --no-audit)
	@$(STAMP)

$(CONSOLE_READY): $(MODULES_READY) $(CONSOLE_SOURCES)
	$(call do,cd web && npm run build)
	@$(STAMP)

.make/system-%: scripts/system-packages.sh
	sh scripts/system-packages.sh $*
	@$(STAMP)

# ── Run ─────────────────────────────────────────────────────────────────────────────────────────────────────────
demo: $(PYTHON_READY) $(CONSOLE_READY) .make/system-demo ## The fleet, the console and a drill: ONCE=1, DRILL=gray-zone, MODE=observe|auto
	.venv/bin/fleetward demo $(if $(call on,$(ONCE)),--once) $(if $(DRILL),--drill $(DRILL)) $(if $(MODE),--mode $(MODE))

bench: $(PYTHON_READY) .make/system-test ## The resilience benchmark and the speed budgets
	$(PY) -m controlplane.bench
	$(PY) -m chaos.bench $(BENCH_ARGS)

# ── Check ───────────────────────────────────────────────────────────────────────────────────────────────────────
test: test-web test-python ## Every test: console, units, real processes, browser

# What lives under a virtual clock shares the cores; what lives in real time has them to itself.
REAL_TIME := tests/integration tests/e2e
VIRTUAL := $(REAL_TIME:%=--ignore %) -n logical --dist loadfile

test-python: $(PYTHON_READY) $(CONSOLE_READY) .make/system-demo .make/system-test
	$(PY) -m pytest $(VIRTUAL) $(PYTEST_ARGS); virtual=$$?; \
	$(PY) -m pytest $(REAL_TIME) $(PYTEST_ARGS) && exit $$virtual

test-fast: $(PYTHON_READY) ## The tests that need no process of their own, in under a minute
	$(PY) -m pytest -m 'not slow' $(VIRTUAL) $(PYTEST_ARGS)

MATRIX := tests/scenarios/test_crash_matrix.py tests/integration/act/test_flushed_redis.py

crash-matrix: $(PYTHON_READY) ## Kill, overtake or flush at every commit and every effect of every shipped playbook
	$(PY) -m pytest $(MATRIX) --crash-points all $(PYTEST_ARGS)

stories: $(PYTHON_READY) ## Tell new stories of any fleet and whatever happens to it: STORIES=500
	$(PY) -m pytest tests/scenarios/test_any_story.py --stories $(or $(STORIES),500) $(PYTEST_ARGS)

backtest-week: $(PYTHON_READY) .make/system-test ## Replay a policy over a recorded week with planted outages: DAYS=7
	$(PY) -m pytest tests/integration/backtest --backtest-days $(or $(DAYS),7) $(PYTEST_ARGS)

test-web: $(MODULES_READY)
	cd web && npm run test

lint: lint-python lint-types lint-imports lint-drift lint-web ## Style, types, import order, drift of generated files

lint-python: $(PYTHON_READY)
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .

lint-types: $(PYTHON_READY)
	.venv/bin/mypy

lint-imports: $(PYTHON_READY)
	.venv/bin/lint-imports

lint-drift: $(PYTHON_READY) $(MODULES_READY)
	$(PY) -m controlplane.api.openapi --check
	$(PY) -m controlplane.bootstrap.reference --check
	cd web && npm run gen:check

lint-web: $(MODULES_READY)
	cd web && npm run lint && npm run typecheck

format: $(PYTHON_READY) $(MODULES_READY) ## Format everything in place
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .
	cd web && npm run format

# ── Keep ────────────────────────────────────────────────────────────────────────────────────────────────────────
lock: ## Lock what pyproject.toml asks for; UPGRADE=1 takes the newest versions
	UPGRADE=$(UPGRADE) sh scripts/lock.sh

hooks: $(PYTHON_READY) ## Let git run the quick checks before each commit
	.venv/bin/prek install

clean: ## Remove what the set-up and the tools made
	rm -rf .venv .uv .node .make .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	rm -rf web/node_modules web/dist
