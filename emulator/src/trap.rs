//! What ends a kernel thread from outside: faults that are signals on the host (a stack that is used up, a pointer to
//! memory that is not there), and in a checked run a loop that comes to no operation. The thread ends as if it had
//! returned, and nothing on its stack is dropped.

use crate::check::run::Run;
use crate::thread::{Body, Ended, Trap};
use corosensei::trap::{CoroutineTrapHandler, TrapHandlerRegs};
use std::cell::{Cell, RefCell};
use std::sync::{Once, OnceLock};
use std::time::Duration;

thread_local! {
    /// The coroutine that runs on this operating-system thread, and where its stack ends.
    static RUNNING: Cell<Option<(CoroutineTrapHandler<Ended>, usize)>> = const { Cell::new(None) };
}

/// Bytes above a stack's end at which an access is taken for an overflow, with the guard page below.
const NEAR: usize = 64 * 1024;

thread_local! {
    /// Operations that this thread's coroutines have come to, and resumptions.
    static STEPS: Cell<u64> = const { Cell::new(0) };
    /// `STEPS` at the last tick, and how many ticks ago it changed.
    static TICKED: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
    /// Ticks after which a thread is taken to be in an endless loop.
    static PATIENCE: Cell<u64> = const { Cell::new(u64::MAX) };
    /// The run, if it is checked: while it is borrowed, a thread is in an operation.
    static CHECKED: Cell<*const RefCell<Run>> = const { Cell::new(std::ptr::null()) };
}

/// Processor time between two ticks.
const TICK: Duration = Duration::from_millis(100);
/// The signal that tells of a tick. Nobody uses it, and by default it is ignored.
const TICKS: libc::c_int = libc::SIGURG;

/// Notes that a thread has come to an operation.
pub(crate) fn step() {
    STEPS.set(STEPS.get().wrapping_add(1));
}

/// Ends coroutines of this operating-system thread that use `patience` of processor time without coming to any operation
/// of the run, until the guard is dropped.
pub(crate) fn bound(patience: Duration, run: &RefCell<Run>) -> impl Drop + use<> {
    struct Guard(Option<libc::timer_t>);
    impl Drop for Guard {
        fn drop(&mut self) {
            CHECKED.set(std::ptr::null());
            if let Some(timer) = self.0 {
                // SAFETY: a timer that was made here and is not used again.
                unsafe { libc::timer_delete(timer) };
            }
        }
    }
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // SAFETY: as in `install`.
        unsafe {
            let mut new: libc::sigaction = std::mem::zeroed();
            new.sa_sigaction = tick as *const () as usize;
            new.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
            libc::sigemptyset(&mut new.sa_mask);
            libc::sigaction(TICKS, &new, std::ptr::null_mut());
        }
    });
    PATIENCE.set((patience.as_millis() / TICK.as_millis()).max(1) as u64);
    TICKED.set((STEPS.get(), 0));
    CHECKED.set(run);
    // SAFETY: plain C data, for which all zero is valid; the timer's signal goes to the calling thread alone.
    let timer = unsafe {
        let mut event: libc::sigevent = std::mem::zeroed();
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = TICKS;
        event.sigev_notify_thread_id = libc::gettid();
        let mut timer: libc::timer_t = std::ptr::null_mut();
        if libc::timer_create(libc::CLOCK_THREAD_CPUTIME_ID, &mut event, &mut timer) == 0 {
            let each = libc::timespec { tv_sec: 0, tv_nsec: TICK.as_nanos() as libc::c_long };
            let times = libc::itimerspec { it_interval: each, it_value: each };
            libc::timer_settime(timer, 0, &times, std::ptr::null_mut());
            Some(timer)
        } else {
            None
        }
    };
    Guard(timer)
}

unsafe extern "C" fn tick(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let (steps, (before, ticks)) = (STEPS.get(), TICKED.get());
    let ticks = if steps == before { ticks + 1 } else { 0 };
    TICKED.set((steps, ticks));
    if ticks < PATIENCE.get() || CHECKED.get().is_null() {
        return;
    }
    // SAFETY: the run outlives the guard that has set it; looking whether it is borrowed reads one cell. The context is
    // valid for this call.
    let (busy, context) =
        unsafe { ((*CHECKED.get()).try_borrow_mut().is_err(), &mut *context.cast::<libc::ucontext_t>()) };
    if busy {
        return;
    }
    if let Some((handler, limit)) = RUNNING.take() {
        if handler.stack_ptr_in_bounds(stack_pointer(context)) {
            let trap = Trap::Endless(ticks * TICK.as_millis() as u64);
            // SAFETY: as in `handle`.
            unsafe {
                let registers = handler.setup_trap_handler(move || Ended::Trapped(trap));
                set(context, registers);
            }
        } else {
            RUNNING.set(Some((handler, limit)));
        }
    }
}

/// Catches the faults of `body` until the guard is dropped.
pub(crate) fn watch(body: &Body, limit: usize) -> impl Drop + use<> {
    struct Guard;
    impl Drop for Guard {
        fn drop(&mut self) {
            RUNNING.set(None);
        }
    }
    step();
    RUNNING.set(Some((body.trap_handler(), limit)));
    Guard
}

/// The handlers that were there before.
static BEFORE: OnceLock<[libc::sigaction; 2]> = OnceLock::new();
const SIGNALS: [libc::c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// Installs the handler, once per process. Faults outside of kernel code go to the handler that was there before.
pub(crate) fn install() {
    BEFORE.get_or_init(|| {
        SIGNALS.map(|signal| {
            // SAFETY: both structures are plain C data, for which all zero is valid; the handler has the type that
            // SA_SIGINFO asks for and does only what a handler may.
            unsafe {
                let mut new: libc::sigaction = std::mem::zeroed();
                let mut old: libc::sigaction = std::mem::zeroed();
                new.sa_sigaction = handle as *const () as usize;
                new.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
                libc::sigemptyset(&mut new.sa_mask);
                libc::sigaction(signal, &new, &mut old);
                old
            }
        })
    });
}

unsafe extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the system passes the information and the interrupted context, both valid for this call.
    let (address, context) =
        unsafe { ((*info).si_addr() as usize, &mut *context.cast::<libc::ucontext_t>()) };
    // Whoever is caught runs no more; others are not in a coroutine.
    if let Some((handler, limit)) = RUNNING.take()
        && handler.stack_ptr_in_bounds(stack_pointer(context))
    {
        let overflow = address.wrapping_add(NEAR) >= limit && address < limit + NEAR;
        let trap = if overflow { Trap::Overflow } else { Trap::Access(address as u64) };
        // SAFETY: the context's stack pointer is inside the coroutine, and its registers are set as asked. What the
        // kernel's code had half done is its own: the device ends the launch.
        unsafe {
            let registers = handler.setup_trap_handler(move || Ended::Trapped(trap));
            set(context, registers);
        }
        return;
    }
    let before = BEFORE.get().map(|all| all[usize::from(signal == libc::SIGBUS)]);
    // SAFETY: what was installed before, as the system would have called it; else the default, which ends the process
    // when the access is tried again.
    unsafe {
        match before {
            Some(old) if old.sa_sigaction != libc::SIG_DFL && old.sa_sigaction != libc::SIG_IGN => {
                if old.sa_flags & libc::SA_SIGINFO != 0 {
                    let call: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                        std::mem::transmute(old.sa_sigaction);
                    call(signal, info, std::ptr::from_mut(context).cast());
                } else {
                    let call: extern "C" fn(libc::c_int) = std::mem::transmute(old.sa_sigaction);
                    call(signal);
                }
            }
            _ => {
                let mut default: libc::sigaction = std::mem::zeroed();
                default.sa_sigaction = libc::SIG_DFL;
                libc::sigaction(signal, &default, std::ptr::null_mut());
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn stack_pointer(context: &libc::ucontext_t) -> usize {
    context.uc_mcontext.gregs[libc::REG_RSP as usize] as usize
}

#[cfg(target_arch = "x86_64")]
fn set(context: &mut libc::ucontext_t, registers: TrapHandlerRegs) {
    let TrapHandlerRegs { rip, rsp, rbp, rdi, rsi } = registers;
    let all = &mut context.uc_mcontext.gregs;
    for (register, value) in [
        (libc::REG_RIP, rip),
        (libc::REG_RSP, rsp),
        (libc::REG_RBP, rbp),
        (libc::REG_RDI, rdi),
        (libc::REG_RSI, rsi),
    ] {
        all[register as usize] = value as i64;
    }
}

#[cfg(target_arch = "aarch64")]
fn stack_pointer(context: &libc::ucontext_t) -> usize {
    context.uc_mcontext.sp as usize
}

#[cfg(target_arch = "aarch64")]
fn set(context: &mut libc::ucontext_t, registers: TrapHandlerRegs) {
    let TrapHandlerRegs { pc, sp, x0, x1, x29, lr } = registers;
    let all = &mut context.uc_mcontext;
    all.pc = pc;
    all.sp = sp;
    all.regs[0] = x0;
    all.regs[1] = x1;
    all.regs[29] = x29;
    all.regs[30] = lr;
}
