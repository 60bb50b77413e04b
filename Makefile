# make demo    a live windowed view within seconds of starting (first build: some minutes)
# make test    everything a change must pass
# make bench   speed, in release mode
#
# Tools that are missing on a bare machine with Rust and git are installed first (scripts/tools).
# CARGO_TARGET_DIR and CARGO_BUILD_JOBS are honoured, as by cargo itself. Always the whole workspace is built: parts of
# it would choose other features of the dependencies, and compile half of them once more.

CARGO ?= cargo
TARGET_DIR = $(or $(CARGO_TARGET_DIR),target)

.PHONY: demo test bench fmt lint doc

demo:
	@scripts/tools compiler
	$(CARGO) build --locked --workspace --bins --profile demo
	@exec "$(TARGET_DIR)/demo/millpond" demo

test:
	@scripts/tools compiler psql postgres
	$(CARGO) test --locked --workspace

bench:
	@scripts/tools compiler
	$(CARGO) build --release --locked --workspace --bins
	@exec "$(TARGET_DIR)/release/millpond-bench"

fmt:
	$(CARGO) fmt --all

lint:
	$(CARGO) fmt --all -- --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings

doc:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps --document-private-items
