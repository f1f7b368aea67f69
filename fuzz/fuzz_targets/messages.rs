//! What a process that has proven the job's secret may say: every decoder of messages. What is understood must come back
//! the same when it is said again.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| oxshmem::fuzzing::messages(bytes));
