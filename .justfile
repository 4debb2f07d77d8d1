# What is done often. `just` lists it.

target := "x86_64-unknown-linux-gnu"
artefact_flags := "-C target-feature=+crt-static -C relocation-model=static"

_list:
    @just --list

# Everything that CI runs: format, lints, all tests
test:
    tests/run.sh

# Less than three minutes on two cores, built: units, rules and commands. Installs nothing
quick:
    cargo nextest run --locked --features postgres --profile quick

# The long set, with its assertions about time: 2400 points where a process is killed, three gigabytes of output, idle minutes
soak:
    FAIRWAY_SOAK=1200 FAIRWAY_GUARD_FUZZ=600 FAIRWAY_MODEL_SEQUENCES=20000 cargo nextest run --locked --profile soak --run-ignored all

# The tests of the command line, of records and of sessions with their stores on a PostgreSQL server; those that need a file are left out
postgres-suite *words:
    FAIRWAY_TEST_ENGINE=postgres cargo nextest run --locked --features postgres --profile postgres {{words}}

# 5,000 claims by 64 workers on 8 hosts, and launches cut at every message, on durable PostgreSQL servers
postgres-storm:
    FAIRWAY_SOAK=1200 cargo nextest run --locked --features postgres --no-capture -E 'test(/^postgres::(storm|storm_with_faults|launch_faults)::/)'

# The agents' real command lines on models of the tests, with the report of a bare container. As root
agents:
    PATH="$(tests/node.sh):$PATH" tests/agents.sh --all
    PATH="$(tests/node.sh):$PATH" FAIRWAY_REQUIRE_ALL=1 cargo nextest run --locked --profile agents --run-ignored all

# The tests that fail now and then: ten runs of the suite beside two builds
flaky *words:
    tests/flaky.sh {{words}}

# After an intended change: rewrite snapshots, documents, schemas, plugins and budgets until nothing changes
accept *words:
    tests/accept.sh {{words}}

# Format the code
fmt:
    cargo fmt --all

# Lints, as errors
lint:
    cargo fmt --all --check
    cargo clippy --locked -- -D warnings
    cargo clippy --locked --all-targets --features bench,postgres -- -D warnings

# Cut the version of Cargo.toml: its date in CHANGELOG, its fixtures. `just cut 2026-11-28`
cut date:
    packaging/cut.sh {{date}}

# The files of a release: static binaries, packages, checksums. FAIRWAY_REPOSITORY is its public address
release *targets:
    packaging/release.sh {{targets}}

# Install the files of a release in a bare Debian system, run the day there, remove them. As root
try-release *directory:
    packaging/try-release.sh {{directory}}

# The plugins of examples/plugins, from the sources
plugins:
    UPDATE_PLUGINS=1 cargo nextest run --locked -E 'test(/^plugins::plugins_are_made/)'

# The table of BENCHMARKS.md, on a static build with this C library; `just bench storm` for one row
bench *rows:
    cargo build --locked --release --features bench --bins --examples
    RUSTFLAGS="{{artefact_flags}}" cargo build --locked --profile artefact --features bench --bins --examples --target {{target}} --target-dir target/artefact
    FAIRWAY_BENCH_ARTEFACT="$PWD/target/artefact/{{target}}/artefact" cargo bench --locked --bench speed -- {{rows}}

# The rows of BENCHMARKS.md with the store on a PostgreSQL server, which it starts; `just bench-postgres claim` for one row
bench-postgres *rows:
    cargo build --locked --release --features bench,postgres --bins --examples
    cargo bench --locked --features postgres --bench postgres -- {{rows}}

# Background runs beside pueue, task-spooler and nq; `just peers --install` brings those first
peers *words:
    benches/peers.sh {{words}}
