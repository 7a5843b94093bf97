//! A network with data and factors, and its gradient against differences.

use super::{free, inference};
use deepgp::Data;
use deepgp::gauss::Factor;
use deepgp::infer::{Batch, Engine, State, StepWorkspace};
use deepgp::network::DeepGp;
use deepgp::param::Parameters;
use deepgp_numerics::linalg::Mat;
use deepgp_oracle::{Tolerance, assert_all_close, gradient};

/// A network with data and factors.
pub struct Case {
    pub name: String,
    pub model: DeepGp,
    pub factors: Vec<Vec<Factor>>,
    pub x: Mat,
    pub y: Mat,
    pub alpha: f64,
    pub tolerance: Tolerance,
}

/// A jitter large enough that a linear law with more inducing inputs than dimensions is smooth on the scale of a
/// difference; it scales with K_zz, so that it takes part in the derivative.
pub const SMOOTH_JITTER: f64 = 1e-2;

impl Case {
    fn with_free(&self, theta: &[f64]) -> (DeepGp, usize) {
        let mut model = self.model.clone();
        let used = model.write_free(theta);
        (model, used)
    }

    /// The gradient of a step against differences of the energy that the same engine reports.
    pub fn check_step(&self, engine: Engine) {
        let inference = inference(engine, self.alpha, 0.3, SMOOTH_JITTER);
        let mut ws = StepWorkspace::new(&self.model);
        let mut state = State::new(self.factors.clone(), self.x.rows(), &inference).expect("a state");
        // One step elsewhere, so that the points' own factors differ.
        inference.step(&self.model, &mut state, Batch::of(Data::new(&self.x, &self.y), &[1]), &mut ws).expect("a step");
        let mut theta = free(&self.model);
        state.read_free(&mut theta);
        // Within a batch EP and ADF move from point to point: their gradient is that of each point at its own cavity.
        let batch_rows: &[usize] = match engine {
            Engine::Sep(_) | Engine::JointEnergy => &[0, 2],
            Engine::Ep | Engine::Adf => &[2],
        };
        let batch = Batch::of(Data::new(&self.x, &self.y), batch_rows);
        let energy = |theta: &[f64]| {
            let (model, used) = self.with_free(theta);
            let (mut state, mut ws) = (state.clone(), StepWorkspace::new(&model));
            state.write_free(&theta[used..]);
            match engine {
                Engine::Sep(_) | Engine::JointEnergy => {
                    inference.sep_energy(&model, state.factors(), batch, &mut ws).expect("energy").energy
                }
                Engine::Ep | Engine::Adf => inference.step(&model, &mut state, batch, &mut ws).expect("a step").energy,
            }
        };
        let step = inference.step(&self.model, &mut state.clone(), batch, &mut ws).expect("a step");
        let what = format!("{engine:?}, {}", self.name);
        assert_all_close(&format!("energy, {what}"), &[step.energy], &[energy(&theta)], Tolerance::Rounding);
        assert_all_close(&what, &step.gradient, &gradient(energy, &theta), self.tolerance);
    }
}
