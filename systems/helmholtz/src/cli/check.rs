//! Expected answers of timed runs.

use std::sync::Arc;
use std::time::Duration;

use command_host::{Failure, timed};
use helmholtz::{Action, CpuEngine, Error, Mesh, Number, Precision};

use super::figures::{Distance, largest};

pub(super) const STAGES: [&str; 4] = ["forcing", "mass", "stiffness", "lumped"];

/// Each stage's answer.
pub(super) struct Fields<T>(pub(super) [Vec<T>; 4]);

impl<T: Number> Fields<T> {
    pub(super) fn zero(engine: &CpuEngine<T>) -> Self {
        Self(std::array::from_fn(|_| engine.zero()))
    }

    pub(super) fn by_cpu(mesh: &Arc<Mesh>) -> Result<Self, Error> {
        let engine = CpuEngine::new(mesh.clone());
        let mut fields = Self::zero(&engine);
        fields.make(&engine, 1)?;
        Ok(fields)
    }

    /// So many times each stage by the CPU engine, one stage after the other.
    pub(super) fn make(&mut self, engine: &CpuEngine<T>, rounds: usize) -> Result<[Vec<Duration>; 4], Error> {
        let [forcing, mass, stiffness, lumped] = &mut self.0;
        Ok([
            timed(rounds, || engine.forcing(forcing))?,
            timed(rounds, || engine.act(Action::Mass, forcing, mass))?,
            timed(rounds, || engine.act(Action::Stiffness, mass, stiffness))?,
            timed(rounds, || engine.lumped(lumped))?,
        ])
    }

    /// How far each stage is from what it should be; an error if that is more than rounding. Lumped
    /// volumes that prisms make are what is left of gradients that cancel, each rounded by
    /// `cancelling`.
    pub(super) fn check(&self, wanted: &Wanted, cancelling: f64, who: &str) -> Result<[Distance; 4], Failure> {
        let mut distances = [Distance::default(); 4];
        for (i, (found, right)) in self.0.iter().zip(&wanted.fields.0).enumerate() {
            let distance = Distance::of(found, right);
            let least = match T::PRECISION {
                Precision::F32 => 5e-6,
                Precision::F64 => 1e-10,
            };
            let most = if STAGES[i] == "lumped" { (8.0 * cancelling * wanted.cancelled).max(least) } else { least };
            if !distance.is_within::<T>(most) {
                let Distance { largest, norm } = distance;
                return Err(Failure::wrong_answer(format!(
                    "{who}: {} is off by {largest:.1e} of the largest number and {norm:.1e} of the norm, and {most:.0e} is rounding",
                    STAGES[i]
                )));
            }
            distances[i] = distance;
        }
        Ok(distances)
    }
}

/// The expected answers.
pub(super) struct Wanted {
    fields: Fields<f64>,
    /// The largest entry of M + S, of the largest lumped volume, which is a sum of such.
    cancelled: f64,
}

impl Wanted {
    pub(super) fn new(mesh: &Arc<Mesh>, fields: Fields<f64>) -> Result<Self, Error> {
        let engine = CpuEngine::<f64>::new(mesh.clone());
        let mut diagonal = engine.zero();
        engine.diagonal(Action::Helmholtz, &mut diagonal)?;
        let most = |field: &[f64]| largest(field, field, |number, _| number.abs());
        let cancelled = most(&diagonal) / most(&fields.0[3]);
        Ok(Self { fields, cancelled })
    }

    pub(super) fn by_cpu(mesh: &Arc<Mesh>) -> Result<Self, Error> {
        Self::new(mesh, Fields::by_cpu(mesh)?)
    }
}

/// Of a sum or a product, of its size.
pub(super) fn rounding<T: Number>() -> f64 {
    match T::PRECISION {
        Precision::F32 => f64::from(f32::EPSILON) / 2.0,
        Precision::F64 => f64::EPSILON / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use command_host::Code;
    use helmholtz::{Extrusion, generate};

    use super::*;

    #[test]
    fn wrong_answers_are_told() {
        let flat = generate::unit_square(4).expect("triangles");
        let mesh = Arc::new(Mesh::new(flat, Extrusion { levels: 5, height: 0.1 }).expect("a mesh"));
        let wanted = Wanted::by_cpu(&mesh).expect("answers");
        let right = || Fields::<f32>::by_cpu(&mesh).expect("answers");
        assert!(right().check(&wanted, 0.0, "it").is_ok());
        for stage in 0..STAGES.len() {
            let mut wrong = right();
            // A little, or no number at all.
            let most = largest(&wrong.0[stage], &wrong.0[stage], |number, _| number.abs()) as f32;
            for error in [1e-5 * most, f32::NAN] {
                wrong.0[stage][7] += error;
                let failed = wrong.check(&wanted, 0.0, "it").expect_err("a wrong answer");
                assert_eq!(failed.code(), Some(Code::WrongAnswer), "{failed:?}");
            }
        }
    }
}
