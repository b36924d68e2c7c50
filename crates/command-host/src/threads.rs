//! The threads of rayon, which every engine on the host uses.

use std::collections::TryReserveError;
use std::num::NonZeroUsize;
use std::{env, fmt, io};

use crate::failure::{Code, Failure};

/// The variable that rayon reads.
const VARIABLE: &str = "RAYON_NUM_THREADS";

/// Starts the threads of rayon's global pool: as many as given, else as RAYON_NUM_THREADS says,
/// else one a core. Without this call rayon starts them when it first computes, and panics if the
/// system has no threads to give. A pool that exists already stays.
///
/// # Errors
/// [`Code::Gpu`] if RAYON_NUM_THREADS is above 8 for each core and above 64, or if the system
/// cannot start the threads or has no memory for them.
pub fn start_threads(threads: Option<NonZeroUsize>) -> Result<(), Failure> {
    let threads = match threads {
        Some(threads) => threads,
        None => of_variable(env::var(VARIABLE).ok().as_deref())?.unwrap_or(cores()),
    };
    let failed = |error: &dyn fmt::Display| {
        Failure::new(Code::Gpu, format_args!("cannot start threads: {error}"))
            .with_help("a limit of the system is too low (ulimit -u, ulimit -v), or fewer threads are enough")
    };
    check_memory(threads).map_err(|error| failed(&error))?;
    match rayon::ThreadPoolBuilder::new().num_threads(threads.get()).build_global() {
        Err(error) if is_of_system(&error) => Err(failed(&error)),
        _ => Ok(()),
    }
}

fn cores() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// Reserves memory for the threads and returns it. Threads that fill the address space leave none
/// for the heap, and the process aborts when the next allocation fails.
fn check_memory(threads: NonZeroUsize) -> Result<(), TryReserveError> {
    /// The stack of a thread.
    const STACK_BYTES: usize = 2 << 20;
    /// A server has as many threads again.
    const POOLS: usize = 2;
    const HEAP_BYTES: usize = 32 << 20;
    let bytes = threads.get().saturating_mul(POOLS * STACK_BYTES).saturating_add(HEAP_BYTES);
    Vec::<u8>::new().try_reserve_exact(bytes)
}

/// Whether the system refused a thread. Otherwise there is a pool already.
fn is_of_system(error: &rayon::ThreadPoolBuildError) -> bool {
    std::error::Error::source(error).is_some_and(|source| source.is::<io::Error>())
}

/// Returns the number of threads that the variable gives. Rayon ignores 0 and texts that are no
/// number.
fn of_variable(value: Option<&str>) -> Result<Option<NonZeroUsize>, Failure> {
    const PER_CORE: usize = 8;
    const LEAST: usize = 64;
    let most = (PER_CORE * cores().get()).max(LEAST);
    match value.and_then(|value| value.parse::<NonZeroUsize>().ok()) {
        Some(threads) if threads.get() > most => {
            let message = format!("{VARIABLE} is {threads}, and {most} threads are the most");
            Err(Failure::new(Code::Gpu, message).with_help("leave the variable out: one thread a core is the default"))
        }
        threads => Ok(threads),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absurd_number_of_threads_is_an_error() {
        for (value, wanted) in [
            (None, Ok(None)),
            (Some("0"), Ok(None)),
            (Some("8"), Ok(Some(8))),
            (Some("many"), Ok(None)),
            (Some("1000000"), Err(Some(Code::Gpu))),
        ] {
            let threads = of_variable(value).map(|threads| threads.map(NonZeroUsize::get));
            assert_eq!(threads.map_err(|failure| failure.code()), wanted, "{value:?}");
        }
        assert!(check_memory(NonZeroUsize::MIN).is_ok() && check_memory(NonZeroUsize::MAX).is_err());
    }

    #[test]
    fn a_pool_that_exists_stays() {
        for _ in 0..2 {
            assert!(start_threads(None).is_ok());
        }
    }
}
