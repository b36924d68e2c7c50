//! Whole runs: engines against each other, statistics, energy, and what cannot be.

#[path = "../../../tests/common/on_adapters.rs"]
mod on_adapters;

use on_adapters::on_adapters;
use transport::{AdapterChoice, Engine, Kernels, Kind, Outcome, Primary, Process, Random, Rejected, Simulation, SimulationBuilder, Status, simulate};

fn on(engine: Engine) -> SimulationBuilder {
    Simulation::builder().engine(engine)
}

fn engines() -> Vec<Engine> {
    let gpus = on_adapters().into_iter().map(|adapter| Engine::Gpu(AdapterChoice::Index(adapter.index)));
    [Engine::Reference, Engine::Cpu].into_iter().chain(gpus).collect()
}

#[test]
fn showers_end_and_keep_their_energy() {
    let primaries = simulate(60, 0.2, 1);
    for engine in engines() {
      for kernels in [Kernels::Split, Kernels::Monolithic] {
        let simulation = on(engine.clone()).kernels(kernels).build().expect("a simulation");
        let t = std::time::Instant::now();
        let outcome = simulation.run(&primaries).expect("a run");
        let Outcome { status, balance, processes, secondaries, iterations, slots, rejected, left, .. } = &outcome;
        println!("{} {status:?} {balance:?} {:e} {processes:?} {secondaries} {iterations} {slots} beyond {} {:?}", simulation.description(), balance.missing(), outcome.deposits.beyond(), t.elapsed());
        assert_eq!(*status, Status::Finished);
        assert!(balance.missing().abs() < 1e-5);
        assert!(rejected.is_empty() && left.is_empty());
      }
    }
}
