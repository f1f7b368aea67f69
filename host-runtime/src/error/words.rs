//! Parts of the sentences that errors say.

/// `12040` as `12.4`.
pub(super) fn cuda_version(version: i32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

pub(super) fn because(cause: &Option<String>) -> String {
    cause.as_ref().map(|cause| format!(" ({cause})")).unwrap_or_default()
}

pub(super) fn list_calls(calls: &[String]) -> String {
    let called = calls.iter().enumerate().filter(|(_, call)| !call.is_empty());
    let each: Vec<String> = called.map(|(pe, call)| format!("PE {pe}: {call}")).collect();
    each.join("; ")
}

pub(super) fn why_absent(in_kernels: &[u32], stopped: &[u32]) -> String {
    if !stopped.is_empty() {
        return format!(
            "the process of {} does not run: it was stopped (SIGSTOP, a debugger), or hangs in the kernel",
            list_pes(stopped)
        );
    }
    if in_kernels.is_empty() {
        return "they may be stuck in host code, or have skipped the call".into();
    }
    format!(
        "{} still wait for their kernels: these are stuck, or need a longer OXSHMEM_DEADLINE",
        list_pes(in_kernels)
    )
}

/// ` (pid 12)`, or nothing if it is not known.
pub(crate) fn pid_in_brackets(pid: u32) -> String {
    if pid == 0 { String::new() } else { format!(" (pid {pid})") }
}

/// `PE 1`, or `PEs 0, 3`.
pub(super) fn list_pes(pes: &[u32]) -> String {
    let numbers: Vec<String> = pes.iter().map(u32::to_string).collect();
    format!("PE{} {}", if pes.len() == 1 { "" } else { "s" }, numbers.join(", "))
}

pub(super) fn range(start: u64, bytes: u64) -> String {
    if start == u64::MAX { "an index out of range".into() } else { format!("bytes {start:#x}..+{bytes:#x}") }
}

/// How a device gets more memory.
pub(super) fn more_memory(emulated: bool) -> &'static str {
    match emulated {
        true => {
            "raise OXSHMEM_EMULATED_MEMORY (Config::emulated_memory), or spread the PEs over more OXSHMEM_EMULATED_DEVICES"
        }
        false => "run fewer PEs on it",
    }
}

/// What bounds a heap.
pub(super) fn grows_to(limited: bool) -> &'static str {
    match limited {
        true => "the limit that OXSHMEM_HEAP sets",
        false => "the memory of its device, which OXSHMEM_EMULATED_MEMORY sets for an emulated one",
    }
}

/// What other PEs of a device leave of it.
pub(super) fn beside(device_blocks: u64, held: u64, held_by_others: u64) -> String {
    if held_by_others == 0 {
        return String::new();
    }
    format!(
        ", and at most {device_blocks} less these {held}, less {held_by_others} held by other PEs of the device in collective launches that are not known to be over, = {}",
        device_blocks.saturating_sub(held).saturating_sub(held_by_others)
    )
}
