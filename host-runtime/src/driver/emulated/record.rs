//! What can be queued again: a launch, and what a stream has recorded; and points that it has reached.

use super::{Body, Launch, Mark, Recorded, not_comparable};
use crate::driver::{blocked, site};
use crate::error::Result;
use oxshmem_device::abi::ContextAbi;
use oxshmem_emulator as emu;
use std::any::Any;
use std::fmt::{self, Debug, Formatter};
use std::panic::Location;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A launch that can be made again.
pub(super) struct Node {
    name: &'static str,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    collective: bool,
    context: ContextAbi,
    site: Option<&'static Location<'static>>,
    pub(super) names: Vec<(u64, u64, &'static str)>,
    body: Arc<dyn Fn(ContextAbi) + Send + Sync>,
}

impl Node {
    pub(super) fn of(launch: &Launch<'_>) -> Self {
        let body: Body = (launch.body)();
        Self {
            name: launch.symbol,
            grid: launch.grid,
            block: launch.block,
            shared: launch.shared,
            collective: launch.collective,
            context: launch.context,
            site: launch.site,
            names: launch.names.clone(),
            body: Arc::from(body),
        }
    }

    /// One thread that does not look at its context.
    pub(super) fn step(name: &'static str, run: impl Fn(ContextAbi) + Send + Sync + 'static) -> Self {
        // SAFETY: integers only, for which all zero is right.
        let context = unsafe { std::mem::zeroed() };
        let (grid, block, shared, collective) = ([1; 3], [1; 3], 0, false);
        let (site, names, body) = (None, Vec::new(), Arc::new(run));
        Self { name, grid, block, shared, collective, context, site, names, body }
    }

    pub(super) fn launch(&self) -> emu::Launch {
        let body = self.body.clone();
        emu::Launch {
            name: self.name,
            grid: self.grid,
            block: self.block,
            shared_bytes: self.shared,
            collective: self.collective,
            context: self.context,
            site: self.site,
            run: Box::new(move |context| body(context)),
        }
    }
}

impl Debug for Node {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {:?} x {:?}", self.name, self.grid, self.block)
    }
}

/// What a stream has recorded.
#[derive(Debug)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    /// The end of its last replay.
    pub(super) last: Mutex<Option<emu::Point>>,
}

impl Recorded for Graph {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// When a kernel of one thread, launched for this, ran.
#[derive(Debug, Default)]
pub(super) struct Point {
    at: Mutex<Option<Instant>>,
    changed: Condvar,
}

impl Point {
    pub(super) fn reach(&self) {
        *self.at.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        self.changed.notify_all();
    }

    fn at(&self) -> Option<Instant> {
        *self.at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
pub(super) struct Reached {
    pub(super) reached: Arc<Point>,
    /// The same, as the emulator knows it.
    pub(super) point: emu::Point,
    pub(super) stream: emu::Stream,
    pub(super) machine: Arc<emu::Machine>,
}

impl Mark for Reached {
    fn is_done(&self) -> Result<bool> {
        self.machine.comes_to(site());
        // Beyond a kernel that failed it is not reached.
        Ok(self.stream.asked(&self.point) != Some(false) && self.reached.at().is_some())
    }

    fn pause(&self, _: u32, longest: Duration) {
        self.machine.comes_to(site());
        if self.stream.wait_checked(&self.point) {
            return;
        }
        blocked(|| {
            let at = self.reached.at.lock().unwrap_or_else(PoisonError::into_inner);
            // Looks again now and then: a stream that failed never reaches the point.
            let _ = self.reached.changed.wait_timeout_while(at, longest, |at| at.is_none());
        });
    }

    fn since(&self, earlier: &dyn Mark) -> Result<Duration> {
        let earlier = earlier.as_any().downcast_ref::<Self>().and_then(|earlier| earlier.reached.at());
        match (self.reached.at(), earlier) {
            (Some(end), Some(start)) => Ok(end.saturating_duration_since(start)),
            _ => Err(not_comparable()),
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
