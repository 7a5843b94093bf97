use nalgebra::DMatrix;
fn main() {
    let n = std::env::args().count() + 9;
    let a = DMatrix::<f64>::identity(n, n);
    let b = &a * a.transpose();
    println!("{}", b.cholesky().unwrap().inverse()[0]);
}
