//! What a stranger may send: both sides of the handshake, the frames after it, and the texts by which processes find each
//! other.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| oxshmem::fuzzing::strangers(bytes));
