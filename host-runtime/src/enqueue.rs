//! What is queued on a stream and is no kernel: counted as launches are, so that memory stays until it is over.

use crate::debug;
use crate::driver::Queue;
use crate::error::Result;
use crate::launch::{Slots, obstacle};
use crate::named::Live;
use crate::pe::Pe;
use oxshmem_device::launch::Named;
use std::sync::Arc;
use tracing::trace;

/// Queues something on stream `slot`, and notes it as a launch called `name`, or as a part of the graph that the stream
/// records. It names memory that is alive.
pub(crate) fn enqueue(
    pe: &Arc<Pe>,
    slot: usize,
    name: &'static str,
    named: &[Named],
    start: impl FnOnce(&Arc<dyn Queue>) -> Result<()>,
) -> Result<()> {
    if let Some(error) = obstacle(pe) {
        return Err(error);
    }
    let began = pe.trace_time();
    let mut state = pe.lock();
    let state = &mut *state;
    if let Some(error) = state.broken() {
        return Err(error);
    }
    for (parameter, named) in (0..).zip(named) {
        Live::of(state).check(*named).map_err(|wrong| wrong.into_error(name, parameter))?;
    }
    let place = state.place(pe, slot, name);
    start(Slots(state).queue(place.slot)?).inspect_err(|error| state.note_failure(error))?;
    trace!(target: debug::OPERATION, pe = pe.me, stream = slot, name, number = place.number, "queued");
    state.started(place, named, None);
    pe.trace_start(&place, began);
    Ok(())
}
