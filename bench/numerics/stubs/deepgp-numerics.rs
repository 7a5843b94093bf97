use deepgp_numerics::{
    linalg::{Cholesky, Mat, Op, mul},
    pool::ThreadPool,
    simd,
};
fn main() {
    let n = std::env::args().count() + 9;
    let a = Mat::identity(n, n);
    let mut b = Mat::default();
    mul(&mut b, &a, Op::Id, &a, Op::T);
    let c = Cholesky::new(&b, "b").unwrap();
    let mut x = b.as_slice().to_vec();
    simd::exp_in_place(&mut x);
    ThreadPool::new(2).run(n, &|_, _| ());
    println!("{} {} {}", c.log_det(), c.inverse().trace(), x[0]);
}
