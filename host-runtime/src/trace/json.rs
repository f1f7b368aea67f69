//! Events in Chrome's trace format, each a line of its own.

use std::fmt::Write as _;

/// A JSON string.
pub(super) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            // Writing to a String cannot fail, here and below.
            c if c < ' ' => _ = write!(quoted, "\\u{:04x}", c as u32),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Nanoseconds as microseconds.
fn micros(ns: u64) -> String {
    format!("{}.{:03}", ns / 1000, ns % 1000)
}

/// The `args` of an event.
#[derive(Debug, Default)]
pub(super) struct Args(String);

impl Args {
    fn key(&mut self, name: &str) {
        let comma = if self.0.is_empty() { "" } else { "," };
        let _ = write!(self.0, "{comma}\"{name}\":");
    }

    pub(super) fn number(mut self, name: &str, value: impl Into<i128>) -> Self {
        self.key(name);
        let _ = write!(self.0, "{}", value.into());
        self
    }

    pub(super) fn text(mut self, name: &str, value: &str) -> Self {
        self.key(name);
        self.0.push_str(&quote(value));
        self
    }

    pub(super) fn flag(mut self, name: &str) -> Self {
        self.key(name);
        self.0.push_str("true");
        self
    }
}

/// A row: the process, which is a PE, and the thread in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) pid: u64,
    pub(super) tid: u64,
}

/// Something that lasted from `begin` to `end`, in nanoseconds.
pub(super) fn span(name: &str, category: &str, row: Row, (begin, end): (u64, u64), args: &Args) -> String {
    let (name, dur) = (quote(name), end.saturating_sub(begin));
    let Row { pid, tid } = row;
    format!(
        "{{\"ph\":\"X\",\"name\":{name},\"cat\":\"{category}\",\"pid\":{pid},\"tid\":{tid},\"ts\":{},\"dur\":{},\"args\":{{{}}}}}",
        micros(begin),
        micros(dur),
        args.0
    )
}

/// What is said of a row.
pub(super) fn about(what: &str, row: Row, args: &Args) -> String {
    let Row { pid, tid } = row;
    format!("{{\"ph\":\"M\",\"name\":\"{what}\",\"pid\":{pid},\"tid\":{tid},\"args\":{{{}}}}}", args.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_escaped_and_times_have_three_decimals() {
        assert_eq!(quote("a\"b\\c\n"), "\"a\\\"b\\\\c\\u000a\"");
        let args = Args::default().number("peer", 1u32).text("kernel", "k\"").flag("unfinished");
        let line = span("put", "device", Row { pid: 2, tid: 3 }, (1_000_007, 1_002_000), &args);
        assert_eq!(
            line,
            "{\"ph\":\"X\",\"name\":\"put\",\"cat\":\"device\",\"pid\":2,\"tid\":3,\"ts\":1000.007,\"dur\":1.993,\
             \"args\":{\"peer\":1,\"kernel\":\"k\\\"\",\"unfinished\":true}}"
        );
    }
}
