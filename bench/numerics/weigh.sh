#!/bin/sh
# What each crate weighs: CPU seconds of a clean release build, crates in its tree, bytes it adds to a stripped program
# that uses it. Prints JSON lines.
#   ./weigh.sh [CRATE ...]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

weigh() { # name, lines of dependencies, body of main
    case " $wanted " in *" $1 "* | "  ") ;; *) return ;; esac
    mkdir -p "$work/$1/src"
    printf '[package]\nname = "stub"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n[profile.release]\nstrip = true\n[dependencies]\n%b\n' "$2" > "$work/$1/Cargo.toml"
    printf '%b\n' "$3" > "$work/$1/src/main.rs"
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
weigh nothing '' 'fn main() {}'
weigh deepgp-numerics "deepgp-numerics = { path = \"$here/../../crates/numerics\" }" \
    'use deepgp_numerics::{linalg::{Cholesky, Mat, mul, Op}, pool::ThreadPool, simd};\nfn main() { let n = std::env::args().count() + 9; let a = Mat::identity(n, n); let mut b = Mat::default(); mul(&mut b, &a, Op::Id, &a, Op::T); let c = Cholesky::new(&b, "b").unwrap(); let mut x = b.as_slice().to_vec(); simd::exp_in_place(&mut x); ThreadPool::new(2).run(n, &|_, _| ()); println!("{} {} {}", c.log_det(), c.inverse().trace(), x[0]); }'
weigh faer 'faer = { version = "0.24", default-features = false, features = ["std", "linalg", "nightly"] }' \
    'use faer::{Mat, prelude::*};\nfn main() { let n = std::env::args().count() + 9; let a = Mat::<f64>::identity(n, n); let b = &a * a.transpose(); let c = b.llt(faer::Side::Lower).unwrap(); println!("{:?}", c.solve(&a)[(0, 0)]); }'
weigh gemm 'gemm = { version = "0.19", default-features = false, features = ["std", "x86-v4"] }' \
    'fn main() { let n = std::env::args().count() + 9; let (a, mut c) = (vec![1.0_f64; n * n], vec![0.0; n * n]); let s = n as isize; unsafe { gemm::gemm(n, n, n, c.as_mut_ptr(), s, 1, false, a.as_ptr(), s, 1, a.as_ptr(), s, 1, 0.0, 1.0, false, false, false, gemm::Parallelism::None) }; println!("{}", c[0]); }'
weigh matrixmultiply 'matrixmultiply = "0.3"' \
    'fn main() { let n = std::env::args().count() + 9; let (a, mut c) = (vec![1.0_f64; n * n], vec![0.0; n * n]); let s = n as isize; unsafe { matrixmultiply::dgemm(n, n, n, 1.0, a.as_ptr(), s, 1, a.as_ptr(), s, 1, 0.0, c.as_mut_ptr(), s, 1) }; println!("{}", c[0]); }'
weigh nalgebra 'nalgebra = { version = "0.34", default-features = false, features = ["std"] }' \
    'use nalgebra::DMatrix;\nfn main() { let n = std::env::args().count() + 9; let a = DMatrix::<f64>::identity(n, n); let b = &a * a.transpose(); println!("{}", b.cholesky().unwrap().inverse()[0]); }'
weigh pulp 'pulp = { version = "0.22", features = ["x86-v4"] }' \
    'fn main() { let mut x = vec![1.0_f64; std::env::args().count() + 9]; pulp::Arch::new().dispatch(|| x.iter_mut().for_each(|x| *x *= 2.0)); println!("{}", x[0]); }'
weigh wide 'wide = "1"' \
    'fn main() { let x = wide::f64x8::splat(std::env::args().count() as f64); println!("{:?}", x.exp()); }'
weigh statrs 'statrs = { version = "0.19", default-features = false, features = ["std"] }' \
    'fn main() { let x = std::env::args().count() as f64; println!("{} {}", statrs::function::erf::erfc(x), statrs::function::erf::erfc_inv(0.1 * x)); }'
weigh spec_math 'spec_math = "0.1"' \
    'use spec_math::cephes64::{ndtr, ndtri};\nfn main() { let x = std::env::args().count() as f64; println!("{} {}", ndtr(x), ndtri(0.1 * x)); }'
weigh argmin 'argmin = { version = "0.11", default-features = false }\nargmin-math = { version = "0.5", default-features = false, features = ["vec"] }' \
    'use argmin::core::{CostFunction, Error, Executor, Gradient, State};\nuse argmin::solver::{linesearch::MoreThuenteLineSearch, quasinewton::LBFGS};\nstruct P;\nimpl CostFunction for P { type Param = Vec<f64>; type Output = f64; fn cost(&self, x: &Vec<f64>) -> Result<f64, Error> { Ok(x[0] * x[0]) } }\nimpl Gradient for P { type Param = Vec<f64>; type Gradient = Vec<f64>; fn gradient(&self, x: &Vec<f64>) -> Result<Vec<f64>, Error> { Ok(vec![2.0 * x[0]]) } }\nfn main() { let r = Executor::new(P, LBFGS::new(MoreThuenteLineSearch::new(), 10)).configure(|s| s.param(vec![1.0]).max_iters(9)).run().unwrap(); println!("{}", r.state().get_best_cost()); }'
weigh rayon 'rayon = "1"' \
    'use rayon::prelude::*;\nfn main() { println!("{}", (0..std::env::args().count()).into_par_iter().map(|x| x * 2).sum::<usize>()); }'
