use faer::{Mat, prelude::*};
fn main() {
    let n = std::env::args().count() + 9;
    let a = Mat::<f64>::identity(n, n);
    let b = &a * a.transpose();
    let c = b.llt(faer::Side::Lower).unwrap();
    println!("{:?}", c.solve(&a)[(0, 0)]);
}
