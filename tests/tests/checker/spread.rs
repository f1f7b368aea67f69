//! Many jobs on the machine's cores.

use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// What `job` makes of each item, in their order.
pub(crate) fn over<T: Sync, R: Send>(items: &[T], job: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(items.len()));
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        for _ in 0..cores.min(items.len()) {
            scope.spawn(|| {
                while let Some((number, item)) = nth(items, next.fetch_add(1, Ordering::Relaxed)) {
                    let result = job(item);
                    done.lock().expect("no job panics").push((number, result));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no job panics");
    done.sort_by_key(|&(number, _)| number);
    done.into_iter().map(|(_, result)| result).collect()
}

fn nth<T>(items: &[T], number: usize) -> Option<(usize, &T)> {
    items.get(number).map(|item| (number, item))
}

/// What `job` gives, or what it panicked with.
pub(crate) fn caught<R>(job: impl FnOnce() -> R) -> Result<R, String> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(job)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        format!("panicked: {}", text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("of something else"))
    })
}
