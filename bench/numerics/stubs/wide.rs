fn main() {
    let x = wide::f64x8::splat(std::env::args().count() as f64);
    println!("{:?}", x.exp());
}
