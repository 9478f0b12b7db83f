# Virtual Threads Lab. `make compare` does the main job, `make test` proves the parts; both set everything up.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

VTLAB := .venv/bin/vtlab
PYTHON := .venv/bin/python
SETUP := lab/setup
# What ruff looks at, from lab/.
PYTHON_CODE := . ../e2e
# Stops all processes of the tests for two seconds, about once a minute.
STALLED := $(if $(STALLS),$(PYTHON) lab/tests/support/stalling.py)

# Tests that measure what a neighbour would change, from lab/.
ALONE := $(addprefix tests/contract/test_,cpu_bottleneck.py foreign_block.py machine.py real_block.py)

.PHONY: help compare demo jmh up down unit unit-python unit-java unit-k6 unit-chart unit-helm3 unit-types test contract contract-agent \
  contract-app contract-k6 contract-python truth truth-all truth-calls e2e e2e-all generate check-generated measured \
  vtlab wheel chart setup setup-test picture prose site lock clean

help: ## Show what there is to make
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

compare: setup ## The main job: a service that waits, and one behind a pool: does it gain from virtual threads here?
	$(VTLAB) run blocking behind-a-pool $(if $(BLOCKS),--blocks $(BLOCKS),--precision 25%)

demo: compare ## The same as compare

jmh: step-jmh ## 500 tasks on pools and on virtual threads, by JMH under a CPU limit (publication 001); JMH="its options"
	cd lab && ../$(PYTHON) -m maintain.jmh $(JMH)

up: ## The lab on a Kubernetes: TARGET=kind, minikube, current or kind-from-source; what is there if not given
	@e2e/up $(or $(TARGET),auto)

down: ## Take down what `make up` brought up
	@e2e/up down

unit: setup-test ## What needs no root, no k6 and no running service: logic, rules, chart, types, formatting
	@$(MAKE) -j2 --output-sync=target unit-python unit-java unit-k6 unit-chart unit-types

unit-python: check-generated
	cd lab && ../$(PYTHON) -m pytest -q -n 2 tests/unit

unit-java:
	$(SETUP) java mvn -q -f agent/pom.xml checkstyle:check test -DexcludedGroups=context
	$(SETUP) java mvn -q -f app/pom.xml test -DexcludedGroups=context

unit-k6:
	cd k6 && export PATH="$(CURDIR)/.venv/bin:$$PATH" && npm run -s check && npm run -s test:pure

unit-chart:
	$(PYTHON) -m pytest -q -n 2 -c e2e/pytest.ini e2e --ignore e2e/on_cluster

unit-helm3: step-helm step-helm3 ## That Helm 3, which Go builds for it, makes the same objects of the chart
	$(PYTHON) -m pytest -q -c e2e/pytest.ini e2e/chart/test_helm_3.py

unit-types:
	cd lab && ../$(PYTHON) -m ruff check -q $(PYTHON_CODE) && ../$(PYTHON) -m ruff format -q --check $(PYTHON_CODE) && ../$(PYTHON) -m mypy

test: setup-test ## unit, and every part against the real ones beside it (k6, Prometheus, limits, Chromium); STALLS=1 disturbs it
	@$(STALLED) $(MAKE) unit contract

# These tests wait most of their time, so they run beside each other. The last ones measure, and have no neighbours.
contract:
	@$(MAKE) -j2 --output-sync=target contract-agent contract-app
	@$(MAKE) -j2 --output-sync=target contract-k6 contract-python
	cd lab && ../$(PYTHON) -m pytest -q $(ALONE)

contract-agent:
	export JAVA_21_HOME="$$($(PYTHON) -m vtlab.host.tools java-home 21)" && \
	$(SETUP) java mvn -q -f agent/pom.xml test -Dgroups=context

contract-app:
	$(SETUP) java mvn -q -f app/pom.xml test -Dgroups=context

contract-k6:
	cd k6 && K6="$$(../$(PYTHON) -m vtlab.host.tools k6)" PATH="$(CURDIR)/.venv/bin:$$PATH" npm run -s test:blocks

contract-python:
	cd lab && ../$(PYTHON) -m pytest -q -n 3 --dist loadfile tests/contract $(addprefix --ignore ,$(ALONE))

truth: setup-test ## Real load on planted bottlenecks: one of each name, and whether all figures of a long run agree
	cd lab && ../$(PYTHON) -m pytest -q tests/truth -m small

truth-all: setup-test ## All planted cases: bottlenecks, what users feel, verdicts, heaps that are too small, thread dumps
	cd lab && ../$(PYTHON) -m pytest -q tests/truth -m "not calls"

truth-calls: setup-test ## Whole calls of vtlab: foreign services, findings, publications, the wheel, killed JVMs; 1000 users of k6
	cd lab && ../$(PYTHON) -m pytest -q tests/truth -m calls
	cd k6 && K6="$$(../$(PYTHON) -m vtlab.host.tools k6)" npm run -s test:backlog

e2e: setup-test ## A release on a real Kubernetes, from install to uninstall (a cluster is brought up and taken down)
	@e2e/run main

e2e-all: setup-test ## The same with all there is: upgrades, rights, dashboards, publication 002, the image, every fault
	@e2e/run all

generate: ## Write every generated file anew (lab/maintain/generate.py has their table)
	cd lab && ../$(PYTHON) -m maintain.generate

check-generated: ## Fail where a generated file is stale
	cd lab && ../$(PYTHON) -m maintain.generate --check

measured: vtlab ## The figures of RESULTS="results/DIR ..." for docs/evidence/measured.md
	cd lab && ../$(PYTHON) -m maintain.measured_page $(abspath $(RESULTS))

vtlab: ## vtlab alone, for runs on Kubernetes
	@$(SETUP) vtlab

# One step of the set-up each. What does not depend on each other runs at once, but for Maven's steps: Maven does not
# lock its local repository. Helm 3 is for one test, which is not in `make unit`.
STEPS := agent app jmh foreign mariadb postgres k6 prometheus promtool helm actionlint modules browser
.PHONY: $(addprefix step-,$(STEPS) helm3)
$(addprefix step-,$(STEPS) helm3): step-%: vtlab
	@$(SETUP) $*
step-app: step-agent
step-jmh step-foreign step-mariadb: step-app
step-foreign: | step-jmh
step-mariadb: | step-foreign
step-postgres: | step-mariadb
step-promtool: | step-prometheus

wheel: ## dist/vtlab-….whl: vtlab with all that it starts but a JDK, for machines of this kind without a checkout
	@$(SETUP) wheel

chart: ## dist/virtual-threads-lab-….tgz: the chart; REGISTRY=registry.example/name has its images, SOURCE=https://… is its repository
	@$(SETUP) chart

setup: ## What a comparison on this machine needs: virtual environment, app, k6, Prometheus
	@$(MAKE) -j3 $(addprefix step-,app k6 prometheus)

setup-test: ## That, and what the tests need on top: MariaDB, PostgreSQL, node modules, Helm, actionlint, Chromium
	@$(MAKE) -j3 $(addprefix step-,$(STEPS))

picture: setup-test ## docs/images/report*.png: the card of a report, for README and docs
	cd lab && ../$(PYTHON) -m tests.support.picture

prose: ## The language of the pages that are written by hand, by Vale (built once, by Go and a C compiler)
	@$(SETUP) vale
	PATH="$(CURDIR)/.tools/bin:$$PATH" vale --glob='*.md' README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md docs \
	  agent/README.md e2e/kind/README.md

site: vtlab ## The docs as a site, in .tools/site
	NO_MKDOCS_2_WARNING=1 $(PYTHON) -m mkdocs build -q --strict

lock: ## Write the Python lock files anew (newest versions)
	@$(SETUP) lock

clean: ## Remove everything that make built; results stay
	@! [ -s .tools/up ] || { echo "make: what make up brought up would be forgotten: make down first" >&2; exit 3; }
	rm -rf .venv .tools agent/target app/target k6/node_modules dist lab/build
