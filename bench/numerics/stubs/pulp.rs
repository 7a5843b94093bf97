fn main() {
    let mut x = vec![1.0_f64; std::env::args().count() + 9];
    pulp::Arch::new().dispatch(|| x.iter_mut().for_each(|x| *x *= 2.0));
    println!("{}", x[0]);
}
