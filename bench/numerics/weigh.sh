#!/bin/sh
# What each crate weighs: CPU seconds of a clean release build, crates in its tree, bytes it adds to a stripped program
# that uses it. Prints JSON lines.
#   ./weigh.sh [CRATE ...]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

weigh() { # name of a program in stubs/, what it depends on
    case " $wanted " in *" $1 "* | "  ") ;; *) return ;; esac
    mkdir -p "$work/$1/src"
    {
        printf '[package]\nname = "stub"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n'
        printf '[profile.release]\nstrip = true\n[dependencies]\n%b\n' "${2:-}"
    } > "$work/$1/Cargo.toml"
    cp "$here/stubs/$1.rs" "$work/$1/src/main.rs"
    cd "$work/$1"
    cp "$here/Cargo.lock" . && cargo fetch -q
    export CARGO_TARGET_DIR="$work/$1/target"
    crates=$(cargo tree --edges normal,build --prefix none | sed 's/ (\*)//; s/ (proc-macro)//' | sort -u | grep -c . )
    before=$(children)
    cargo build --release -q -j1 2> "$work/log" || { cat "$work/log" >&2; return; }
    after=$(children)
    bytes=$(stat -c %s target/release/stub)
    [ "$1" != nothing ] || empty=$bytes
    printf '{"group":"weight","operation":"%s","crates":%d,"cpu_seconds":%s,"bytes":%d}\n' "$1" $((crates - 1)) \
        "$(awk "BEGIN { print $after - $before }")" $((bytes - ${empty:-0}))
    [ "$1" = deepgp-numerics ] || return 0
    cargo clean -q --release -p deepgp-numerics
    before=$(children)
    cargo build --release -q -j1
    after=$(children)
    printf '{"group":"weight","operation":"deepgp-numerics without what it uses","crates":1,"cpu_seconds":%s}\n' \
        "$(awk "BEGIN { print $after - $before }")"
}

# CPU seconds of this shell's children so far.
children() {
    awk -v hz="$(getconf CLK_TCK)" '{ print ($16 + $17) / hz }' "/proc/$$/stat"
}

wanted="$*"
[ -z "$wanted" ] || wanted="nothing $wanted"
weigh nothing
weigh deepgp-numerics "deepgp-numerics = { path = \"$here/../../crates/numerics\" }"
weigh faer 'faer = { version = "0.24", default-features = false, features = ["std", "linalg", "nightly"] }'
weigh gemm 'gemm = { version = "0.19", default-features = false, features = ["std", "x86-v4"] }'
weigh matrixmultiply 'matrixmultiply = "0.3"'
weigh nalgebra 'nalgebra = { version = "0.34", default-features = false, features = ["std"] }'
weigh pulp 'pulp = { version = "0.22", features = ["x86-v4"] }'
weigh wide 'wide = "1"'
weigh statrs 'statrs = { version = "0.19", default-features = false, features = ["std"] }'
weigh spec_math 'spec_math = "0.1"'
weigh argmin 'argmin = { version = "0.11", default-features = false }\nargmin-math = { version = "0.5", default-features = false, features = ["vec"] }'
weigh rayon 'rayon = "1"'
