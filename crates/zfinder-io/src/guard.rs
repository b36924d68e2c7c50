//! Turns panics of the crates `parquet` and `oxyroot` into errors. Both panic on some damaged
//! files, and `oxyroot` also on unsupported content.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work` and turns a panic into its message, without printing it. The first call installs a
/// panic hook that passes all other panics to the previous hook.
pub(super) fn quietly<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !INSIDE.try_with(Cell::get).unwrap_or(false) {
                before(info);
            }
        }));
    });
    let outside = INSIDE.replace(true);
    // Values that the work owned are dropped with it.
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    INSIDE.set(outside);
    done.map_err(|panic| message(&*panic))
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a word").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_its_message() {
        assert_eq!(quietly(|| 3), Ok(3));
        assert_eq!(quietly(|| -> u32 { panic!("broken at {}", 7) }), Err("broken at 7".into()));
        assert!(!INSIDE.get());
    }
}
