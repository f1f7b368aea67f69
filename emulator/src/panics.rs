//! Panics inside a kernel: silent on the console, kept for the report. All other panics go to the hook that
//! was there before.

use std::cell::{Cell, RefCell};
use std::panic::{PanicHookInfo, set_hook, take_hook};
use std::sync::Once;

/// What a panic said, and where.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) message: String,
    pub(crate) location: String,
}

thread_local! {
    static IN_KERNEL: Cell<bool> = const { Cell::new(false) };
    static SAID: RefCell<Option<Said>> = const { RefCell::new(None) };
}

/// Wraps the process's panic hook, once.
pub(crate) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| if IN_KERNEL.get() { keep(info) } else { before(info) }));
    });
}

/// Says that this operating-system thread runs kernel threads until the guard is dropped.
pub(crate) fn in_kernel() -> impl Drop {
    struct Guard(bool);
    impl Drop for Guard {
        fn drop(&mut self) {
            IN_KERNEL.set(self.0);
        }
    }
    Guard(IN_KERNEL.replace(true))
}

/// Takes what the last panic on this operating-system thread said.
pub(crate) fn take() -> Said {
    SAID.take().unwrap_or_else(|| Said {
        message: "a panic without a message".to_owned(),
        location: "an unknown place".to_owned(),
    })
}

fn keep(info: &PanicHookInfo<'_>) {
    let message = info.payload_as_str().unwrap_or("a panic with a payload that is no text").to_owned();
    let location = info.location().map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
    SAID.set(Some(Said { message, location }));
}
