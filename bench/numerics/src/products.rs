//! Dense products. Ours are row-major; theirs stand as their crate likes them best, which is by columns.

use crate::numbers;
use crate::record::Record;
use crate::turns::{Task, task};
use deepgp_numerics::linalg::product::{Left, Part, product};
use deepgp_numerics::linalg::transpose::{mirror, transpose_into};
use deepgp_numerics::linalg::{Mat, Op, mul, mul_lower_transposed, mul_symmetric, mul_vec};
use faer::linalg::matmul::triangular::BlockStructure;
use faer::linalg::matmul::{matmul, triangular};
use faer::{Accum, MatRef, Par};
use nalgebra::DMatrix;
use std::hint::black_box;

pub fn ours(rows: usize, cols: usize, seed: u64) -> Mat {
    let x = numbers(rows * cols, seed);
    Mat::from_fn(rows, cols, |i, j| x[i * cols + j])
}

pub fn of_faer(a: &Mat) -> faer::Mat<f64> {
    faer::Mat::from_fn(a.rows(), a.cols(), |i, j| a[(i, j)])
}

pub fn of_nalgebra(a: &Mat) -> DMatrix<f64> {
    DMatrix::from_fn(a.rows(), a.cols(), |i, j| a[(i, j)])
}

pub fn masked(a: &Mat, part: Part) -> Mat {
    Mat::from_fn(a.rows(), a.cols(), |i, j| match part {
        Part::Lower if j > i => 0.0,
        Part::Upper if j < i => 0.0,
        _ => a[(i, j)],
    })
}

pub fn assert_near(what: &str, ours: &Mat, theirs: MatRef<'_, f64>, part: Part) {
    for i in 0..ours.rows() {
        for j in 0..ours.cols() {
            let wanted = part == Part::Full || (part == Part::Lower && j <= i) || (part == Part::Upper && j >= i);
            let (a, b) = (ours[(i, j)], theirs[(i, j)]);
            assert!(!wanted || (a - b).abs() <= 1e-8 * (1.0 + a.abs()), "{what}: entry {i}, {j} is {a} and {b}");
        }
    }
}

/// One of the three full products, of m × k and k × n.
fn full(record: &mut Record, kind: &str, (m, k, n): (usize, usize, usize)) {
    let (a, b) = if kind == "AᵀB" { (ours(k, m, 1), ours(k, n, 2)) } else { (ours(m, k, 1), ours(k, n, 2)) };
    let b = if kind == "ABᵀ" { b.transpose() } else { b };
    let mut out = Mat::zeros(m, n);
    let (fa, fb) = (of_faer(&a), of_faer(&b));
    let va = if kind == "AᵀB" { fa.transpose() } else { fa.as_ref() };
    let vb = if kind == "ABᵀ" { fb.transpose() } else { fb.as_ref() };
    let [mut f1, mut f2, mut f3]: [faer::Mat<f64>; 3] = std::array::from_fn(|_| faer::Mat::zeros(m, n));
    let (na, nb) = (of_nalgebra(&a), of_nalgebra(&b));
    let mut n1 = DMatrix::zeros(m, n);
    let (a, b) = (&a, &b);
    let run = |out: &mut Mat| match kind {
        "AB" => product(out, false, Left::plain(black_box(a), Part::Full), (black_box(b), Part::Full), Part::Full),
        "AᵀB" => {
            product(out, false, Left::transposed(black_box(a), Part::Full), (black_box(b), Part::Full), Part::Full)
        }
        _ => mul(out, black_box(a), Op::Id, black_box(b), Op::T),
    };
    run(&mut out);
    matmul(f1.as_mut(), Accum::Replace, va, vb, 1.0, Par::Seq);
    assert_near(kind, &out, f1.as_ref(), Part::Full);
    let by_gemm = {
        let (to, cs, rs) = (f2.as_ptr_mut(), f2.col_stride(), f2.row_stride());
        task(move || {
            let (x, y) = (black_box(va), black_box(vb));
            // SAFETY: shapes agree, and the pointers cover the matrices.
            unsafe {
                let (xc, xr, yc, yr) = (x.col_stride(), x.row_stride(), y.col_stride(), y.row_stride());
                let seq = gemm::Parallelism::None;
                let (x, y) = (x.as_ptr(), y.as_ptr());
                gemm::gemm(m, n, k, to, cs, rs, false, x, xc, xr, y, yc, yr, 0.0, 1.0, false, false, false, seq);
            }
        })
    };
    let by_matrixmultiply = {
        let (to, cs, rs) = (f3.as_ptr_mut(), f3.col_stride(), f3.row_stride());
        task(move || {
            let (x, y) = (black_box(va), black_box(vb));
            // SAFETY: as above.
            unsafe {
                let (xc, xr, yc, yr) = (x.col_stride(), x.row_stride(), y.col_stride(), y.row_stride());
                matrixmultiply::dgemm(m, k, n, 1.0, x.as_ptr(), xr, xc, y.as_ptr(), yr, yc, 0.0, to, rs, cs);
            }
        })
    };
    let by_nalgebra = task(|| match kind {
        "AB" => n1.gemm(1.0, black_box(&na), black_box(&nb), 0.0),
        "AᵀB" => n1.gemm_tr(1.0, black_box(&na), black_box(&nb), 0.0),
        _ => n1.gemm(1.0, black_box(&na), &black_box(&nb).transpose(), 0.0),
    });
    let mut theirs: Vec<(&'static str, Task<'_>)> = vec![
        ("faer", task(|| matmul(f1.as_mut(), Accum::Replace, black_box(va), black_box(vb), 1.0, Par::Seq))),
        ("gemm", by_gemm),
    ];
    if kind == "AB" {
        theirs.push(("matrixmultiply", by_matrixmultiply));
        theirs.push(("nalgebra", by_nalgebra));
    }
    let size = if m == k && k == n { m.to_string() } else { format!("{m}×{k}·{k}×{n}") };
    record.compare(kind, size, &mut task(|| run(&mut out)), theirs);
}

/// A product with a triangle in it, or of which a triangle is wanted.
fn triangular_product(record: &mut Record, what: &'static str, n: usize) {
    use BlockStructure::{Rectangular, TriangularLower, TriangularUpper};
    let a = ours(n, n, 1);
    let lower = masked(&a, Part::Lower);
    let b = ours(n, n, 2);
    let (left, right, to) = match what {
        "LB" => (Left::plain(&lower, Part::Lower), (&b, Part::Full), Part::Full),
        "AL" => (Left::plain(&b, Part::Full), (&lower, Part::Lower), Part::Full),
        "LᵀL, lower" => (Left::transposed(&lower, Part::Upper), (&lower, Part::Lower), Part::Lower),
        _ => (Left::transposed(&b, Part::Full), (&b, Part::Full), Part::Lower),
    };
    let (fl, fb, mut out, mut f) = (of_faer(&lower), of_faer(&b), Mat::zeros(n, n), faer::Mat::<f64>::zeros(n, n));
    let (x, y, structures) = match what {
        "LB" => (fl.as_ref(), fb.as_ref(), [Rectangular, TriangularLower, Rectangular]),
        "AL" => (fb.as_ref(), fl.as_ref(), [Rectangular, Rectangular, TriangularLower]),
        "LᵀL, lower" => (fl.transpose(), fl.as_ref(), [TriangularLower, TriangularUpper, TriangularLower]),
        _ => (fb.transpose(), fb.as_ref(), [TriangularLower, Rectangular, Rectangular]),
    };
    let [of_out, of_x, of_y] = structures;
    let theirs = move |f: &mut faer::Mat<f64>| {
        let (x, y) = (black_box(x), black_box(y));
        triangular::matmul(f.as_mut(), of_out, Accum::Replace, x, of_x, y, of_y, 1.0, Par::Seq);
    };
    product(&mut out, false, left, right, to);
    theirs(&mut f);
    assert_near(what, &out, f.as_ref(), to);
    let mut run = task(|| product(&mut out, false, black_box(left), black_box(right), to));
    record.compare(what, n.to_string(), &mut run, vec![("faer", task(|| theirs(&mut f)))]);
}

fn of_vectors(record: &mut Record, n: usize) {
    let size = n.to_string();
    let (a, x) = (ours(n, n, 1), numbers(n, 3));
    let mut symmetric = a.clone();
    mirror(&mut symmetric, Part::Lower);
    let lower = masked(&a, Part::Lower);
    // Rows, along which dot products go, and columns, of which there are sums: both are tried.
    let (fa, ft, fx) = (of_faer(&a), of_faer(&a.transpose()), faer::Col::from_fn(n, |i| x[i]));
    let (na, nx) = (of_nalgebra(&a), nalgebra::DVector::from_column_slice(&x));
    let (fs, fl) = (of_faer(&symmetric), of_faer(&lower));
    let (ns, nl) = (of_nalgebra(&symmetric), of_nalgebra(&lower));
    let mut out = vec![0.0; n];
    let [mut f1, mut f2]: [faer::Col<f64>; 2] = std::array::from_fn(|_| faer::Col::zeros(n));
    let mut n1 = nalgebra::DVector::zeros(n);
    record.compare(
        "Ax",
        &size,
        &mut task(|| mul_vec(black_box(&a), Part::Full, black_box(&x), &mut out)),
        vec![
            ("faer", task(|| matmul(f1.as_mut(), Accum::Replace, black_box(&fa), black_box(&fx), 1.0, Par::Seq))),
            (
                "faer by rows",
                task(|| matmul(f2.as_mut(), Accum::Replace, black_box(ft.transpose()), black_box(&fx), 1.0, Par::Seq)),
            ),
            ("nalgebra", task(|| n1.gemv(1.0, black_box(&na), black_box(&nx), 0.0))),
        ],
    );
    record.compare(
        "Sx, symmetric",
        &size,
        &mut task(|| mul_symmetric(black_box(&symmetric), black_box(&x), &mut out)),
        vec![
            ("faer", task(|| matmul(f1.as_mut(), Accum::Replace, black_box(&fs), black_box(&fx), 1.0, Par::Seq))),
            ("nalgebra", task(|| n1.sygemv(1.0, black_box(&ns), black_box(&nx), 0.0))),
        ],
    );
    record.compare(
        "Lᵀx",
        &size,
        &mut task(|| mul_lower_transposed(black_box(&lower), black_box(&x), &mut out)),
        vec![
            (
                "faer",
                task(|| matmul(f1.as_mut(), Accum::Replace, black_box(fl.transpose()), black_box(&fx), 1.0, Par::Seq)),
            ),
            ("nalgebra", task(|| n1.gemv_tr(1.0, black_box(&nl), black_box(&nx), 0.0))),
        ],
    );
    let (mut t, mut tf, mut tn) = (Mat::zeros(n, n), faer::Mat::<f64>::zeros(n, n), DMatrix::zeros(n, n));
    record.compare(
        "transpose",
        &size,
        &mut task(|| transpose_into(black_box(&a), &mut t)),
        vec![
            ("faer", task(|| tf.copy_from(black_box(fa.transpose())))),
            ("nalgebra", task(|| black_box(&na).transpose_to(&mut tn))),
        ],
    );
}

pub fn measure(record: &mut Record) {
    for n in [2, 3, 4, 6, 8, 12, 16, 50, 100, 200, 400] {
        full(record, "AB", (n, n, n));
    }
    for shape in [(50, 50, 200), (50, 200, 50), (200, 50, 50), (100, 100, 50), (200, 200, 50), (50, 50, 1000)] {
        full(record, "AB", shape);
    }
    for kind in ["AᵀB", "ABᵀ"] {
        for n in [8, 16, 50, 100, 200, 400] {
            full(record, kind, (n, n, n));
        }
    }
    for what in ["LB", "AL", "LᵀL, lower", "BᵀB, lower"] {
        for n in [8, 16, 50, 100, 200, 400] {
            triangular_product(record, what, n);
        }
    }
    for n in [8, 50, 100, 200, 400] {
        of_vectors(record, n);
    }
}
