//! Cholesky factors and what is done with them. Ours are UᵀU by rows, theirs L Lᵀ by columns, which is the same memory.

use crate::numbers;
use crate::products::{assert_near, masked, of_faer, of_nalgebra, ours};
use crate::record::Record;
use crate::turns::task;
use deepgp_numerics::linalg::factor::{Right, cholesky_upper, solve_lower};
use deepgp_numerics::linalg::product::{Left, Part, product};
use deepgp_numerics::linalg::{Cholesky, Mat};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt;
use faer::linalg::{triangular_inverse, triangular_solve};
use faer::{Auto, Par, Spec};
use nalgebra::DMatrix;
use std::hint::black_box;

/// The lower triangle of theirs becomes the factor of K.
fn factor(k: &faer::Mat<f64>, l: &mut faer::Mat<f64>, stack: &mut MemBuffer) {
    l.copy_from_triangular_lower(k);
    let params: Spec<llt::factor::LltParams, f64> = Spec::new(Auto::<f64>::auto());
    let done = llt::factor::cholesky_in_place(l.as_mut(), Default::default(), Par::Seq, MemStack::new(stack), params);
    done.expect("definite");
}

fn of_size(record: &mut Record, n: usize) {
    let size = n.to_string();
    // BBᵀ + I
    let b = ours(n, n, 1);
    let mut k = Mat::default();
    product(&mut k, false, Left::plain(&b, Part::Full), (&b.transpose(), Part::Full), Part::Full);
    k.diagonal_mut().for_each(|x| *x += 1.0);
    let (fk, nk) = (of_faer(&k), of_nalgebra(&k));
    let (mut u, mut inv_diag) = (Mat::default(), vec![]);
    let (mut fl, mut stack) = (faer::Mat::<f64>::zeros(n, n), {
        let params: Spec<llt::factor::LltParams, f64> = Spec::new(Auto::<f64>::auto());
        let one = llt::factor::cholesky_in_place_scratch::<f64>(n, Par::Seq, params);
        MemBuffer::new(one.or(llt::inverse::inverse_scratch::<f64>(n, Par::Seq)))
    });
    let mut kept = Some(DMatrix::<f64>::zeros(n, n));
    let run =
        |u: &mut Mat, inv_diag: &mut Vec<f64>| cholesky_upper(black_box(&k), 1.0, 0.0, u, inv_diag).expect("definite");
    run(&mut u, &mut inv_diag);
    factor(&fk, &mut fl, &mut stack);
    let theirs = faer::Mat::from_fn(n, n, |i, j| fl[(j, i)]);
    assert_near("factor", &Mat::from_fn(n, n, |i, j| u[(i, j)]), theirs.as_ref(), Part::Upper);
    record.compare(
        "Cholesky",
        &size,
        &mut task(|| run(&mut u, &mut inv_diag)),
        vec![
            ("faer", task(|| factor(black_box(&fk), &mut fl, &mut stack))),
            (
                "nalgebra",
                task(|| {
                    let mut memory = kept.take().expect("it was put back");
                    memory.copy_from(black_box(&nk));
                    kept = Some(nalgebra::Cholesky::new(memory).expect("definite").unpack_dirty());
                }),
            ),
        ],
    );

    // L⁻¹, and what is left of K⁻¹ once there is L⁻¹.
    let of_n = nalgebra::Cholesky::new(nk.clone()).expect("definite");
    let nl = of_n.l();
    let (mut x, mut fx, mut nx) = (Mat::default(), faer::Mat::<f64>::zeros(n, n), DMatrix::zeros(n, n));
    record.compare(
        "L⁻¹",
        &size,
        &mut task(|| solve_lower(black_box(&u), &inv_diag, Right::Identity, &mut x)),
        vec![
            (
                "faer",
                task(|| triangular_inverse::invert_lower_triangular(fx.as_mut(), black_box(fl.as_ref()), Par::Seq)),
            ),
            (
                "nalgebra",
                task(|| {
                    nx.fill_with_identity();
                    black_box(&nl).solve_lower_triangular_mut(&mut nx)
                }),
            ),
        ],
    );
    assert_near("inverse of the factor", &x, fx.as_ref(), Part::Lower);

    let mut chol = Cholesky::new(&k, "K").expect("definite");
    let (mut inverse, mut f_inverse) = (Mat::default(), faer::Mat::<f64>::zeros(n, n));
    let mut run = task(|| {
        chol.invert();
        chol.half_inverse_into(&mut inverse);
    });
    record.compare(
        "K⁻¹, lower, from the factor",
        &size,
        &mut run,
        vec![
            (
                "faer",
                task(|| {
                    llt::inverse::inverse(
                        f_inverse.as_mut(),
                        black_box(fl.as_ref()),
                        Par::Seq,
                        MemStack::new(&mut stack),
                    )
                }),
            ),
            (
                "nalgebra",
                task(|| {
                    nx.fill_with_identity();
                    black_box(&of_n).solve_mut(&mut nx)
                }),
            ),
        ],
    );
    drop(run);
    assert_near("inverse", &inverse, f_inverse.as_ref(), Part::Lower);

    // Solutions for n and for 50 right-hand sides.
    for columns in std::iter::once(50).chain((n != 50).then_some(n)) {
        let size = format!("{n}, {columns} columns");
        let t = ours(n, columns, 5);
        let (ft, nt) = (of_faer(&t), of_nalgebra(&t));
        let (mut x, mut fx, mut nx) = (Mat::default(), ft.clone(), nt.clone());
        let mut run = task(|| {
            chol.invert_blocks();
            chol.factored().solve(black_box(&t), Part::Full, &mut x);
        });
        record.compare(
            "K⁻¹T",
            size,
            &mut run,
            vec![
                (
                    "faer",
                    task(|| {
                        fx.copy_from(black_box(&ft));
                        llt::solve::solve_in_place(fl.as_ref(), fx.as_mut(), Par::Seq, MemStack::new(&mut stack));
                    }),
                ),
                (
                    "nalgebra",
                    task(|| {
                        nx.copy_from(black_box(&nt));
                        of_n.solve_mut(&mut nx);
                    }),
                ),
            ],
        );
        drop(run);
        assert_near("solution", &x, fx.as_ref(), Part::Full);
    }
    let r = masked(&ours(n, n, 6), Part::Lower);
    let (fr, nr) = (of_faer(&r), of_nalgebra(&r));
    let mut x = Mat::default();
    record.compare(
        "L⁻¹R, R lower",
        &size,
        &mut task(|| solve_lower(&u, &inv_diag, Right::Lower(black_box(&r)), &mut x)),
        vec![
            (
                "faer",
                task(|| {
                    fx.copy_from(black_box(&fr));
                    triangular_solve::solve_lower_triangular_in_place(fl.as_ref(), fx.as_mut(), Par::Seq);
                }),
            ),
            (
                "nalgebra",
                task(|| {
                    nx.copy_from(black_box(&nr));
                    nl.solve_lower_triangular_mut(&mut nx)
                }),
            ),
        ],
    );
    assert_near("triangle", &x, fx.as_ref(), Part::Lower);

    let right = numbers(n, 7);
    let (mut x, mut fx, mut nx) = (right.clone(), faer::Col::<f64>::zeros(n), nalgebra::DVector::zeros(n));
    let (fr, nr) = (faer::Col::from_fn(n, |i| right[i]), nalgebra::DVector::from_column_slice(&right));
    let mut run = task(|| {
        x.copy_from_slice(black_box(&right));
        chol.factored().solve_upper(&mut x);
    });
    record.compare(
        "L⁻ᵀx",
        &size,
        &mut run,
        vec![
            (
                "faer",
                task(|| {
                    fx.copy_from(black_box(&fr));
                    triangular_solve::solve_upper_triangular_in_place(fl.transpose(), fx.as_mat_mut(), Par::Seq);
                }),
            ),
            (
                "nalgebra",
                task(|| {
                    nx.copy_from(black_box(&nr));
                    nl.tr_solve_lower_triangular_mut(&mut nx)
                }),
            ),
        ],
    );
}

pub fn measure(record: &mut Record) {
    for n in [8, 50, 100, 200, 400] {
        of_size(record, n);
    }
}
