//! What the engine asks of the host side of a run.

use super::engine::Engine;
use super::finding::Waiter;
use super::know::Know;
use core::panic::Location;
use std::fmt::Debug;

/// Host threads, if there are any.
pub(crate) trait Hosts: Debug {
    /// Does what hosts have asked for since the last call.
    fn take_in(&mut self, engine: &mut Engine);
    /// How many can go on, if so much has [happened](Engine::happened).
    fn ready(&self, happened: u64) -> u32;
    /// Whether any asks something, and goes on only when something has happened.
    fn ask(&self) -> bool;
    /// Lets the `n`-th of those that can go on run until it waits. Whether it did anything but ask.
    fn run(&mut self, n: u32, engine: &mut Engine) -> bool;
    /// Whether any is left.
    fn left(&self) -> bool;
    /// Whether one may do something though none is ready. Waits a moment for it.
    fn may_return(&self) -> bool;
    /// What the launch with this ticket knows at its start, and where it was made.
    fn past(&self, ticket: u64) -> Option<(Know, &'static Location<'static>)>;
    /// Those who wait, for a report.
    fn waiting(&self) -> Vec<Waiter>;
}

/// No hosts.
#[derive(Debug)]
pub(crate) struct Alone;

impl Hosts for Alone {
    fn take_in(&mut self, _: &mut Engine) {}
    fn ready(&self, _: u64) -> u32 {
        0
    }
    fn ask(&self) -> bool {
        false
    }
    fn run(&mut self, _: u32, _: &mut Engine) -> bool {
        false
    }
    fn left(&self) -> bool {
        false
    }
    fn may_return(&self) -> bool {
        false
    }
    fn past(&self, _: u64) -> Option<(Know, &'static Location<'static>)> {
        None
    }
    fn waiting(&self) -> Vec<Waiter> {
        Vec::new()
    }
}
