#!/bin/sh
# Everything in one run: ./run.sh OUT.jsonl prints tables and writes the JSON lines. Takes two minutes after the builds.
# `wide` chooses its vectors when it is compiled, so a second build is made for this processor.
set -eu
out=$(realpath "$1")
cd "$(dirname "$0")"
BENCH_COMMIT=$(git rev-parse --short=12 HEAD)
export BENCH_COMMIT
target=${CARGO_TARGET_DIR:-target}
cargo build --release
RUSTFLAGS="-C target-cpu=native" cargo build --release --no-default-features --target-dir "$target/native"
rm -f "$out"
"$target/release/deepgp-numerics-bench" "$out"
"$target/native/release/deepgp-numerics-bench" "$out"
