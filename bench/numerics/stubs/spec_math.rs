use spec_math::cephes64::{ndtr, ndtri};
fn main() {
    let x = std::env::args().count() as f64;
    println!("{} {}", ndtr(x), ndtri(0.1 * x));
}
