# Thin: the build itself is CMake's (CMakePresets.json). Each target installs what it misses.
.DEFAULT_GOAL := build
.PHONY: build experiments demo live live-picture page-packages browser-packages test-browser reproduce test test-release test-sanitizers test-asan-ubsan test-tsan
.PHONY: build-release build-asan-ubsan build-tsan build-sanitizers bench bench-diff bench-scaling
.PHONY: bench-peers bench-stream bench-anomalies bench-stalls soak fuzz format lint clean packages

BUILD_PACKAGES := g++ cmake ninja-build pkg-config libcli11-dev libfmt-dev nlohmann-json3-dev libmicrohttpd-dev \
  librdkafka-dev libsqlite3-dev zlib1g-dev
TEST_PACKAGES := libgtest-dev libgmock-dev libeigen3-dev libmatio-dev
JOBS := $(shell nproc)
# Where there is a compiler cache, all clones and work trees share it
ifneq ($(shell command -v ccache),)
export CMAKE_CXX_COMPILER_LAUNCHER ?= ccache
export CCACHE_BASEDIR ?= $(CURDIR)
export CCACHE_NOHASHDIR ?= 1
export CCACHE_SLOPPINESS ?= pch_defines,time_macros
endif
PYTHON_VENV := build/python-venv

packages:
	@tools/install-packages.sh $(BUILD_PACKAGES)

# The program and the libraries, optimised: build/release/kalstream. All that is made in this folder is configured alike,
# and a target below builds its part of it
RELEASE := build/release
RELEASE_OPTIONS :=
PROGRAM := kalstream_cli
LIBRARIES := kalstream kalstream_c

build: packages
	@cmake --preset release -B $(RELEASE) -DCMAKE_INSTALL_LIBDIR=$(LIBDIR) $(RELEASE_OPTIONS) >/dev/null
	@cmake --build $(RELEASE) -j $(JOBS) --target $(PROGRAM) $(LIBRARIES)

# The programs behind figures in the documentation; each says in its first lines how to run it
experiments: packages
	@cmake --preset release >/dev/null
	@cmake --build --preset release -j $(JOBS) --target experiments

# The program with its manual pages, completions and service, and the libraries: make install PREFIX=/usr DESTDIR=…
.PHONY: install
PREFIX := /usr/local
LIBDIR := lib
SHARE = $(DESTDIR)$(PREFIX)/share

install: build
	@tools/install-packages.sh python3
	cmake --install $(RELEASE) --prefix $(PREFIX) --strip
	tools/program-files.py $(RELEASE)/kalstream $(SHARE)
	install -D -m 644 packaging/kalstream@.service $(DESTDIR)$(PREFIX)/lib/systemd/system/kalstream@.service
	@test $(PREFIX) = /usr || sed -i 's|/usr/bin/|$(PREFIX)/bin/|' $(DESTDIR)$(PREFIX)/lib/systemd/system/kalstream@.service

# ---- What is released, under build/dist: wheels and the source for pip, Debian packages, a tarball (docs/install.md)
.PHONY: release wheels sdist deb tarball test-wheels test-deb test-tarball test-reproducible test-packages
DIST := build/dist
PACKAGING_VENV := build/packaging-venv
PACKAGING := $(PACKAGING_VENV)/bin/python
LIBRARY_PACKAGES := curl make gcc libc6-dev pkg-config tcl xz-utils
wheels sdist deb tarball: export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)

release: wheels sdist deb tarball

$(PACKAGING_VENV)/ready: packaging/requirements.txt
	@python3 -c 'import ensurepip' 2>/dev/null || tools/install-packages.sh python3-venv
	python3 -m venv $(PACKAGING_VENV)
	$(PACKAGING_VENV)/bin/pip install --quiet --only-binary :all: -r packaging/requirements.txt
	@touch $@

# For any Linux since glibc 2.17, x86-64 and aarch64; ARCHITECTURES=x86_64 for less
ARCHITECTURES := x86_64 aarch64

wheels: $(PACKAGING_VENV)/ready page-packages
	@tools/install-packages.sh $(LIBRARY_PACKAGES)
	$(PACKAGING) packaging/wheels.py $(DIST) $(ARCHITECTURES)

sdist: $(PACKAGING_VENV)/ready
	$(PACKAGING) -m build --sdist --outdir $(DIST) .

# kalstream, libkalstream0, libkalstream-dev and python3-kalstream. The project has no address: who publishes gives theirs
MAINTAINER := The kalstream authors <kalstream@localhost>
LINTIAN_OPTIONS = --fail-on error $(if $(findstring localhost,$(MAINTAINER)),--suppress-tags bogus-mail-host$(comma)bogus-mail-host-in-debian-changelog)
comma := ,

deb: ARCHITECTURES := $(shell uname -m)
deb: wheels page-packages
	@tools/install-packages.sh g++ dpkg-dev lintian
	rm -rf build/deb
	$(MAKE) install PREFIX=/usr LIBDIR=lib/$$(gcc -print-multiarch) DESTDIR=$(CURDIR)/build/deb/tree \
	  RELEASE=build/debian RELEASE_OPTIONS=-DKALSTREAM_FMT_INSIDE=ON
	for wheel in $(DIST)/*_$$(uname -m).whl; do python3 -m zipfile -e $$wheel build/deb/python; done
	MAINTAINER='$(MAINTAINER)' packaging/deb.sh build/deb/tree $(DIST) build/deb/python
	lintian $(LINTIAN_OPTIONS) $(DIST)/*.deb

# The program alone, in one file that needs nothing of the system
tarball: packages page-packages
	@tools/install-packages.sh $(LIBRARY_PACKAGES) python3
	packaging/tarball.sh $(DIST)

# All that is released, tried as users meet it, as root: bare Debians are made under build/chroots (docs/install.md). Not part
# of make test: it takes half an hour and more
test-wheels: wheels sdist
	tests/packages/wheels.sh $(DIST)
	tests/packages/source.sh $(DIST)

test-deb: deb
	tests/packages/debs.sh $(DIST)

test-tarball: tarball
	tests/packages/tarball.sh $(DIST)

test-reproducible: release
	tests/packages/reproducible.sh $(DIST)

test-packages: test-wheels test-deb test-tarball test-bindings test-reproducible

# Watch several learners on a generated stream; under a minute
demo: build
	@build/release/kalstream demo

# The live page on generated streams, at http://127.0.0.1:8080/ (PORT=8081 for another); DATA=DIR replays a folder's CSV files, too
PORT := 8080

live: page-packages build
	@tools/install-packages.sh python3
	@tools/live.py build/release/kalstream --port $(PORT) $(if $(DATA),--data "$(DATA)")

# What packs the live page. A machine may have npm from elsewhere than Debian; builds without it leave the page out
page-packages:
	@command -v npm >/dev/null || tools/install-packages.sh nodejs npm

# The paper's experiments, quick form; DATA=DIR names a folder with its streams
reproduce: build
	@build/release/kalstream reproduce all --quick $(if $(DATA),--data "$(DATA)") --out build/reproduction

# All tests optimised and under sanitizers, threads under the thread sanitizer, Python. CI also runs test-browser and test-kafka
test: test-release test-python

# The same under the address, undefined-behaviour and thread sanitizers
test-sanitizers: test-asan-ubsan test-tsan

build-sanitizers: build-asan-ubsan build-tsan

test-needs: packages
	@tools/install-packages.sh $(TEST_PACKAGES)

build-release build-asan-ubsan: build-%: test-needs
	cmake --preset $* -DKALSTREAM_BUILD_TESTS=ON >/dev/null
	cmake --build --preset $* -j $(JOBS)

test-release test-asan-ubsan: test-%: build-%
	ctest --preset $* -j $(JOBS)

build-tsan: test-needs
	cmake --preset tsan -DKALSTREAM_BUILD_TESTS=ON >/dev/null
	cmake --build --preset tsan -j $(JOBS) --target kalstream_thread_tests

test-tsan: build-tsan
	ctest --preset tsan -j $(JOBS) -R 'Parallel|Progress|Threads'

# The live page in Chromium, on a real server (docs/serve.md). KALSTREAM_STRICT=1 holds the figures of a load to what is promised
BROWSER := tests/browser

browser-packages: page-packages
	@tools/install-packages.sh chromium

test-browser: browser-packages packages $(BROWSER)/node_modules/ready
	cmake --preset release >/dev/null
	cmake --build --preset release -j $(JOBS) --target $(PROGRAM)
	cd $(BROWSER) && KALSTREAM=$(CURDIR)/build/release/kalstream node --test unit.test.mjs page.test.mjs
	cd $(BROWSER) && KALSTREAM=$(CURDIR)/build/release/kalstream node --test load.test.mjs

$(BROWSER)/node_modules/ready: $(BROWSER)/package-lock.json | page-packages
	cd $(BROWSER) && npm ci --ignore-scripts --no-progress
	@touch $@

# The picture of the README, from the real page: docs/figures/live.png
live-picture: browser-packages build $(BROWSER)/node_modules/ready
	cd $(BROWSER) && node picture.mjs $(CURDIR)/build/release/kalstream $(CURDIR)/docs/figures/live.png

# The interface of libkalstream.so against the one stored in abi/: what is there must stay as it is, more may be added.
# make abi stores it anew, where a version is added to src/capi/exports.map
.PHONY: abi test-abi abi-now
ABI := abi/libkalstream.so.0-$(shell uname -m).abi

abi-now:
	@tools/install-packages.sh gcc libc6-dev python3 abigail-tools
	@mkdir -p build/abi
	@tools/abi-face.py include/kalstream/kalstream.h src/capi/exports.map build/abi/libkalstream.so
	@abidw --no-show-locs --no-corpus-path --no-comp-dir-path --out-file build/abi/now.abi build/abi/libkalstream.so

test-abi: abi-now
	@test -f $(ABI) || { echo "test-abi: no interface is stored for $$(uname -m); skipped"; exit 0; }; \
	  abidiff --no-added-syms $(ABI) build/abi/now.abi && echo "test-abi: the interface is the stored one"

abi: abi-now
	cp build/abi/now.abi $(ABI)

# The packages of other languages, of those whose tools are here, on the library for C as it is installed
.PHONY: test-bindings
test-bindings: test-needs
	@cmake --preset release -DKALSTREAM_BUILD_TESTS=ON >/dev/null
	@cmake --build --preset release -j $(JOBS) --target kalstream_c kalstream_vectors
	tests/bindings.sh build/release .

# Streams that are killed and whose system calls fail; a long life for every learner, and attacks: hours.
# SOAK='--learner auto --minutes 5' for less (docs/robustness.md)
SOAK := --seed 101

soak: test-needs
	@cmake --preset release -DKALSTREAM_BUILD_TESTS=ON >/dev/null
	@tools/install-packages.sh strace python3
	@cmake --build --preset release -j $(JOBS) --target kalstream_soak $(PROGRAM)
	tests/soak/faults.py build/release/kalstream
	build/release/kalstream_soak $(SOAK)

# A fleet on a real broker: Apache Kafka from Maven under build/kafka, on loopback (docs/fleet.md)
.PHONY: fleet test-kafka soak-kafka bench-fleet test-engines kafka
KAFKA_VENV := build/kafka-venv
KAFKA_PYTHON := $(KAFKA_VENV)/bin/python

$(KAFKA_VENV)/ready: tests/kafka/requirements.txt
	@python3 -c 'import ensurepip' 2>/dev/null || tools/install-packages.sh python3-venv
	python3 -m venv $(KAFKA_VENV)
	$(KAFKA_VENV)/bin/pip install --quiet --only-binary :all: -r tests/kafka/requirements.txt
	@touch $@

kafka: packages $(KAFKA_VENV)/ready
	@cmake --preset release >/dev/null
	@cmake --build --preset release -j $(JOBS) --target $(PROGRAM)
	@tools/install-packages.sh openjdk-17-jre-headless maven
	@$(KAFKA_PYTHON) tests/kafka/broker.py fetch

# Watch one: two workers, a thousand devices, a worker killed, nothing lost; a minute
fleet: kafka
	@$(KAFKA_PYTHON) tools/fleet-demo.py build/release/kalstream

# Quick cases, then a run of random events; soak-kafka makes ten longer ones
test-kafka: kafka
	$(KAFKA_PYTHON) -m pytest -p no:cacheprovider tests/kafka
	$(KAFKA_PYTHON) tests/kafka/chaos.py build/release/kalstream --seeds 2 --records 30000 --events 12

soak-kafka: kafka
	$(KAFKA_PYTHON) tests/kafka/chaos.py build/release/kalstream --seeds 11,12,13,14,15,16,17,18,19,20 \
	  --records 100000 --events 40

# Silence after a kill, latency, state written, rate, memory: the tables of docs/fleet.md
bench-fleet: kafka
	@$(KAFKA_PYTHON) bench/fleet.py build/release/kalstream

# kalstream within Spark and Quix Streams: the examples, tried (half a gigabyte is installed)
ENGINES_VENV := build/engines-venv

$(ENGINES_VENV)/ready: examples/engines/requirements.txt
	@python3 -c 'import ensurepip' 2>/dev/null || tools/install-packages.sh python3-venv
	python3 -m venv $(ENGINES_VENV)
	$(ENGINES_VENV)/bin/pip install --quiet -r examples/engines/requirements.txt
	@touch $@

test-engines: kafka python $(ENGINES_VENV)/ready
	PYTHONPATH=$(CURDIR)/build/release/python $(ENGINES_VENV)/bin/python -m pytest -p no:cacheprovider examples

# Fuzzers, SECONDS each, all or one TARGET (csv, mat, snapshot, …): docs/robustness.md
SECONDS := 60
TARGET := $(patsubst tests/fuzz/%_fuzz.cc,%,$(wildcard tests/fuzz/*_fuzz.cc))

fuzz: packages
	@tools/install-packages.sh clang-14 libclang-rt-14-dev
	@cmake --preset fuzz >/dev/null
	@cmake --build --preset fuzz -j $(JOBS) --target $(TARGET:%=%_fuzz)
	@for target in $(TARGET); do \
	  echo "$$target: $(SECONDS) s"; mkdir -p build/fuzz/corpus/$$target build/fuzz/findings; \
	  build/fuzz/$${target}_fuzz -max_total_time=$(SECONDS) -timeout=10 -rss_limit_mb=1024 -max_len=32768 \
	    -print_final_stats=1 -artifact_prefix=build/fuzz/findings/$$target- build/fuzz/corpus/$$target \
	    tests/fuzz/corpus/$$target >build/fuzz/$$target.log 2>&1 || { tail -40 build/fuzz/$$target.log; exit 1; }; \
	  grep -E 'DONE|number_of_executed_units|peak_rss' build/fuzz/$$target.log; done

# The Python package, beside the program: PYTHONPATH=build/release/python build/python-venv/bin/python
.PHONY: python test-python test-python-full docs bench-river
PYTHON := $(PYTHON_VENV)/bin/python

$(PYTHON_VENV)/ready: python/requirements-test.txt
	@python3 -c 'import ensurepip' 2>/dev/null || tools/install-packages.sh python3-venv
	@test -f "$$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" || \
	  tools/install-packages.sh python3-dev
	python3 -m venv $(PYTHON_VENV)
	$(PYTHON_VENV)/bin/pip install --quiet --only-binary :all: -r python/requirements-test.txt
	@touch $@

python: packages $(PYTHON_VENV)/ready
	@cmake --preset release -DKALSTREAM_BUILD_PYTHON=ON -DPython_EXECUTABLE=$(CURDIR)/$(PYTHON) >/dev/null
	@cmake --build --preset release -j $(JOBS) --target kalstream_python $(PROGRAM)

test-python: python
	@tools/install-packages.sh curl openssl
	PYTHONPATH=build/release/python $(PYTHON) -m pytest -m 'not slow'

# Also what takes longer, and the package as pip builds and installs it
test-python-full: python
	PYTHONPATH=build/release/python $(PYTHON) -m pytest
	python/tests/installed.sh

# What is written by programs: the C++ reference (build/docs/cpp), docs/cli-reference.md, the notebooks' pages;
# then every link is checked
docs: python
	@tools/install-packages.sh doxygen
	doxygen docs/Doxyfile
	tools/cli-reference.py build/release/kalstream
	PYTHONPATH=build/release/python $(PYTHON) tools/render-notebooks.py
	tools/check-links.py build/docs/cpp

# The documentation as a site, with search and all references: build/site/index.html
.PHONY: site
SITE_VENV := build/site-venv

$(SITE_VENV)/ready: docs/requirements-site.txt
	@python3 -c 'import ensurepip' 2>/dev/null || tools/install-packages.sh python3-venv
	python3 -m venv $(SITE_VENV)
	$(SITE_VENV)/bin/pip install --quiet --only-binary :all: -r docs/requirements-site.txt
	@touch $@

site: $(SITE_VENV)/ready
	@tools/install-packages.sh doxygen
	doxygen docs/Doxyfile
	$(SITE_VENV)/bin/python tools/site.py build/site
	tools/check-links.py build/site

# kalstream beside river and deep-river on river's data (bench/river/README.md)
RIVER_VENV := build/river-venv

bench-river: python $(RIVER_VENV)/ready
	PYTHONPATH=build/release/python $(RIVER_VENV)/bin/python bench/river/run.py
	PYTHONPATH=build/release/python $(RIVER_VENV)/bin/python bench/river/classes.py

$(RIVER_VENV)/ready: bench/river/requirements.txt
	python3 -m venv $(RIVER_VENV)
	$(RIVER_VENV)/bin/pip install --quiet -r bench/river/requirements.txt
	@touch $@

# What each part of auto is worth (experiments/ablation.py), in a build whose constants the environment can change.
# DATA=DIR names the folder of streams; ABLATION_OPTIONS="--rows 1000 --only kernel" measures less. All of it takes hours;
# what was interrupted goes on.
.PHONY: ablation
ABLATION_OPTIONS :=

ablation: python $(RIVER_VENV)/ready
	cmake -S . -B build/ablation -G Ninja -DCMAKE_BUILD_TYPE=Release -DKALSTREAM_ABLATION=ON -DKALSTREAM_BUILD_TESTS=OFF >/dev/null
	cmake --build build/ablation -j $(JOBS) --target auto_error
	PYTHONPATH=build/release/python $(RIVER_VENV)/bin/python bench/river/classes.py --samples 2500 --export build/class-streams
	nice python3 experiments/ablation.py $(if $(DATA),--data $(DATA)) $(ABLATION_OPTIONS)

# Error against time and against memory, kalstream and others on the streams of docs/auto.md: a table and the picture of
# docs/performance.md. DATA=DIR names the folder of the real ones; what was interrupted goes on, PARETO_OPTIONS=--fresh
# begins anew
.PHONY: pareto
PARETO_VENV := build/pareto-venv
PARETO_OPTIONS :=

pareto: python $(PARETO_VENV)/ready
	PYTHONPATH=build/release/python $(PARETO_VENV)/bin/python experiments/pareto_bench.py \
	  $(if $(DATA),--data "$(DATA)") $(PARETO_OPTIONS)

$(PARETO_VENV)/ready: experiments/pareto/requirements.txt
	python3 -m venv $(PARETO_VENV)
	$(PARETO_VENV)/bin/pip install --quiet --only-binary :all: -r experiments/pareto/requirements.txt
	@touch $@

# auto beside other forecasters on real series (experiments/forecast/README.md); DATA=DIR names their folder
.PHONY: bench-forecast
FORECAST_VENV := build/forecast-venv
FORECAST_OPTIONS :=

bench-forecast: build $(FORECAST_VENV)/ready
	nice $(FORECAST_VENV)/bin/python -W ignore experiments/forecast_bench.py --kalstream build/release/kalstream \
	  --jobs $(JOBS) $(if $(DATA),--data "$(DATA)") $(FORECAST_OPTIONS)
	for period in told found; do \
	  nice $(FORECAST_VENV)/bin/python -W ignore experiments/forecast/short.py --kalstream build/release/kalstream \
	    $(if $(DATA),--data "$(DATA)") --period $$period || exit 1; done

$(FORECAST_VENV)/ready: experiments/forecast/requirements.txt
	@python3 -c 'import ensurepip' 2>/dev/null || tools/install-packages.sh python3-venv
	python3 -m venv $(FORECAST_VENV)
	$(FORECAST_VENV)/bin/pip install --quiet --only-binary :all: -r experiments/forecast/requirements.txt
	@touch $@

# Speed of the kernels and of whole steps (Google Benchmark)
bench: packages
	@tools/install-packages.sh libbenchmark-dev
	@cmake --preset release -DKALSTREAM_BUILD_BENCH=ON >/dev/null
	@cmake --build --preset release -j $(JOBS) --target kalstream_bench
	build/release/kalstream_bench

# What a live stream costs beyond its learner: the tables of docs/performance.md
bench-stream: build
	@tools/install-packages.sh python3 util-linux
	@bench/stream.py

# Many models by key on several cores beside one (docs/performance.md)
.PHONY: bench-jobs bench-batch
bench-jobs: build
	@tools/install-packages.sh python3
	@bench/jobs.py

# How many models of auto stay in 4 GiB, and how fast they are (docs/performance.md)
.PHONY: bench-cold
bench-cold: build
	@tools/install-packages.sh python3
	@bench/jobs.py --memory 4GiB

# Many linear models at once, on one core (docs/batches.md)
bench-batch: packages
	@tools/install-packages.sh libbenchmark-dev
	@cmake --preset release -DKALSTREAM_BUILD_BENCH=ON >/dev/null
	@cmake --build --preset release -j $(JOBS) --target kalstream_batch
	build/release/kalstream_batch

# What `kalstream serve` costs: the table of docs/serve.md
.PHONY: bench-serve bench-http
bench-serve: build
	@tools/install-packages.sh python3 wrk
	@bench/serve.py

# Three HTTP libraries at what it does most (docs/decisions/0009-libmicrohttpd.md)
bench-http:
	@tools/install-packages.sh g++ python3 wrk libmicrohttpd-dev libboost-dev libcpp-httplib-dev
	@bench/http/measure.py

# How well surprise finds labelled anomalies, by the rules of Numenta's benchmark (docs/anomalies.md)
bench-anomalies: build
	@experiments/anomalies.py $(ANOMALY_OPTIONS)

# What checkpoints cost a stream in time, and many models in memory: the tables of docs/streaming.md (needs 20 GB of disk)
bench-stalls: build
	@tools/install-packages.sh python3
	@bench/stalls.py

# This tree against another commit, by interleaved rounds: make bench-diff BASE=main [FILTER=step/]
bench-diff: packages
	@test -n "$(BASE)" || { echo "name a commit: make bench-diff BASE=HEAD~1"; exit 2; }
	@tools/install-packages.sh libbenchmark-dev python3
	@rm -rf build/base && git worktree prune && git worktree add --force --detach build/base $(BASE) >/dev/null
	@for tree in build/base .; do \
	  cmake -S $$tree -B $$tree/build/diff -G Ninja -DCMAKE_BUILD_TYPE=Release -DKALSTREAM_BUILD_TESTS=OFF \
	    -DKALSTREAM_BUILD_APP=OFF -DKALSTREAM_BUILD_BENCH=ON >/dev/null && \
	  cmake --build $$tree/build/diff -j $(JOBS) --target kalstream_bench || exit 1; done
	@tools/bench-diff.py build/base/build/diff/kalstream_bench build/diff/kalstream_bench \
	  $(if $(FILTER),--filter '$(FILTER)') $(if $(ROUNDS),--rounds $(ROUNDS)); \
	  code=$$?; git worktree remove --force build/base; exit $$code

# Cost against the number of units: the figure and tables of docs/performance.md
bench-scaling: packages
	@tools/install-packages.sh libbenchmark-dev
	@cmake --preset release -DKALSTREAM_BUILD_BENCH=ON >/dev/null
	@cmake --build --preset release -j $(JOBS) --target kalstream_scaling
	build/release/kalstream_scaling build/scaling.svg

# The same work in JAX, PyTorch, NumPy, Eigen and OpenBLAS, side by side (bench/peers/README.md)
PEERS_VENV := build/peers-venv
PEERS_OPTIONS :=

bench-peers: build $(PEERS_VENV)/ready
	@tools/install-packages.sh libeigen3-dev libopenblas-dev
	@cmake -S bench/peers -B build/peers -G Ninja -DCMAKE_BUILD_TYPE=Release >/dev/null
	@cmake --build build/peers -j $(JOBS) --target kalstream_peer blas_eigen_peer
	$(PEERS_VENV)/bin/python bench/peers/run.py $(PEERS_OPTIONS)

# PyTorch without its accelerator libraries, which are gigabytes, unless only the full one can be had
$(PEERS_VENV)/ready: bench/peers/requirements.txt bench/peers/requirements-torch.txt
	@python3 -c 'import ensurepip' 2>/dev/null || tools/install-packages.sh python3-venv
	python3 -m venv $(PEERS_VENV)
	$(PEERS_VENV)/bin/pip install --quiet -r bench/peers/requirements.txt
	VIRTUAL_ENV=$(PEERS_VENV) $(PEERS_VENV)/bin/uv pip install --quiet --torch-backend=cpu \
	  -r bench/peers/requirements-torch.txt 2>/dev/null || \
	  $(PEERS_VENV)/bin/pip install --quiet -r bench/peers/requirements-torch.txt
	@touch $@

SOURCES = $(shell git ls-files '*.h' '*.cc')

format:
	@tools/install-packages.sh clang-format
	clang-format -i $(SOURCES)

# Formatting, then clang-tidy over every file
lint: test-needs
	@tools/install-packages.sh clang-format clang-tidy
	clang-format --dry-run --Werror $(SOURCES)
	cmake --preset tidy -DKALSTREAM_BUILD_TESTS=ON >/dev/null
	cmake --build --preset tidy -j $(JOBS)

clean:
	rm -rf build
