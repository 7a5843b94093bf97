fn main() {
    let n = std::env::args().count() + 9;
    let (a, mut c) = (vec![1.0_f64; n * n], vec![0.0; n * n]);
    let s = n as isize;
    unsafe { matrixmultiply::dgemm(n, n, n, 1.0, a.as_ptr(), s, 1, a.as_ptr(), s, 1, 0.0, c.as_mut_ptr(), s, 1) };
    println!("{}", c[0]);
}
