# Virtual Threads Lab. `make compare` does the main job, `make test` proves the parts; both set everything up.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

BLOCKS ?= 3
VTLAB := .venv/bin/vtlab
PYTHON := .venv/bin/python
SETUP := lab/setup

.PHONY: help compare jmh up down test e2e e2e-all generate check-generated vtlab setup setup-test prose lint lock clean

help: ## Show what there is to make
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

compare: setup ## The main job: does a blocking and a CPU-bound service gain from virtual threads here?
	$(VTLAB) run blocking cpu --blocks $(BLOCKS)

jmh: setup ## 500 tasks on pools and on virtual threads, by JMH under a CPU limit (publication 001)
	$(VTLAB) jmh

up: ## The lab on a Kubernetes: TARGET=kind, minikube, current or embedded; what is there if not given
	@e2e/up $(or $(TARGET),auto)

down: ## Take down what `make up` brought up
	@e2e/up down

test: setup-test lint ## Every test on this machine, against real parts (Tomcat, k6, Prometheus, Chromium)
	$(SETUP) java mvn -q -f app/pom.xml test
	cd k6 && K6="$$(../$(PYTHON) -m vtlab.host.tools k6)" PATH="$(CURDIR)/.venv/bin:$$PATH" npm test
	$(PYTHON) -m pytest -c e2e/pytest.ini e2e --ignore e2e/on_cluster
	cd lab && ../$(PYTHON) -m pytest

e2e: setup-test ## A release on a real Kubernetes, from install to uninstall (a cluster is brought up and taken down)
	@e2e/run main

e2e-all: setup-test ## The same with all there is: upgrades, rights, dashboards, publication 002, the image, every fault
	@e2e/run all

lint: setup-test ## Formatting, types and lint rules of every part
	cd k6 && PATH="$(CURDIR)/.venv/bin:$$PATH" npm run check
	cd lab && ../$(PYTHON) -m ruff check . ../e2e && ../$(PYTHON) -m ruff format --check . ../e2e && ../$(PYTHON) -m mypy

generate: ## Write every generated file anew (lab/vtlab/generate.py has their table)
	cd lab && ../$(PYTHON) -m vtlab.generate

check-generated: ## Fail where a generated file is stale
	cd lab && ../$(PYTHON) -m vtlab.generate --check

vtlab: ## vtlab alone, for runs on Kubernetes
	@$(SETUP) vtlab

setup: ## What a comparison on this machine needs: virtual environment, app, MariaDB, k6, Prometheus
	@$(SETUP) run

setup-test: setup ## What the tests need on top: node modules, Helm, Chromium
	@$(SETUP) test

prose: ## The language of README, CHANGELOG, CONTRIBUTING and docs, by Vale (built once, by Go and a C compiler)
	@$(SETUP) prose
	PATH="$(CURDIR)/.tools/bin:$$PATH" vale --glob='*.md' README.md CHANGELOG.md CONTRIBUTING.md docs

lock: ## Write the Python lock files anew (newest versions)
	@$(SETUP) lock

clean: ## Remove everything that make built; results stay
	@! [ -s .tools/up ] || { echo "make: what make up brought up would be forgotten: make down first" >&2; exit 3; }
	rm -rf .venv .tools app/target k6/node_modules
