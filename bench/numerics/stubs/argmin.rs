use argmin::core::{CostFunction, Error, Executor, Gradient, State};
use argmin::solver::{linesearch::MoreThuenteLineSearch, quasinewton::LBFGS};
struct P;
impl CostFunction for P {
    type Param = Vec<f64>;
    type Output = f64;
    fn cost(&self, x: &Vec<f64>) -> Result<f64, Error> {
        Ok(x[0] * x[0])
    }
}
impl Gradient for P {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;
    fn gradient(&self, x: &Vec<f64>) -> Result<Vec<f64>, Error> {
        Ok(vec![2.0 * x[0]])
    }
}
fn main() {
    let r = Executor::new(P, LBFGS::new(MoreThuenteLineSearch::new(), 10))
        .configure(|s| s.param(vec![1.0]).max_iters(9))
        .run()
        .unwrap();
    println!("{}", r.state().get_best_cost());
}
