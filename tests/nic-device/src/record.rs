//! What the device refused, a sentence each: calls that it does not know, attributes and fields that a kernel or
//! firmware would not take.
//!
//! A refusal is rarely fatal to libmlx5, which tries old forms of a call, so tests read the record to learn what it
//! asked for. `OXSHMEM_NIC_LOG` names a file to which each sentence is also appended at once.

use std::fs::OpenOptions;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

static SENTENCES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Adds a sentence.
pub(crate) fn say(sentence: String) {
    if let Some(path) = std::env::var_os("OXSHMEM_NIC_LOG")
        && let Ok(mut file) = OpenOptions::new().create(true).append(true).open(path)
    {
        // The record in memory stands whether or not the file can be written.
        let _ = file.write_all(format!("{}: {sentence}\n", std::process::id()).as_bytes());
    }
    SENTENCES.lock().unwrap_or_else(PoisonError::into_inner).push(sentence);
}

/// All sentences so far, a line each.
pub(crate) fn all() -> String {
    SENTENCES.lock().unwrap_or_else(PoisonError::into_inner).iter().fold(
        String::new(),
        |mut text, sentence| {
            text.push_str(sentence);
            text.push('\n');
            text
        },
    )
}
