//! Graphs: what a stream has recorded, instantiated. A queue records on its own driver stream, which nobody asks or waits for
//! meanwhile: the driver would break the recording off.

use super::check::cu;
use super::context::Context;
use super::queue::Stream;
use crate::driver::Recorded;
use crate::error::Result;
use cudarc::driver::sys::{self, CUgraph, CUgraphExec, CUstreamCaptureMode};
use std::any::Any;
use std::sync::Arc;

/// A graph that can run.
#[derive(Debug)]
pub(super) struct Graph {
    context: Arc<Context>,
    pub(super) exec: CUgraphExec,
}

// SAFETY: the driver's executable graphs may be used from any thread, one at a time; the PE's lock sees to that.
unsafe impl Send for Graph {}
// SAFETY: as above.
unsafe impl Sync for Graph {}

impl Stream {
    /// Has the stream record. What other streams of the thread do is not restricted: the runtime says itself what cannot be
    /// recorded.
    pub(super) fn begin(&self) -> Result<()> {
        self.context.enter()?;
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: a live stream.
        unsafe { cu!(cuStreamBeginCapture_v2(self.stream, mode), "recording a graph") }
    }

    /// Ends it, and makes the graph ready to run: its first launch must not make the driver wait for a kernel that waits.
    pub(super) fn end(&self) -> Result<Graph> {
        self.context.enter()?;
        let doing = "recording a graph";
        let mut graph: CUgraph = std::ptr::null_mut();
        // SAFETY: a live stream that records, and `graph` may be written.
        unsafe { cu!(cuStreamEndCapture(self.stream, &mut graph), doing) }?;
        let mut exec: CUgraphExec = std::ptr::null_mut();
        // SAFETY: a live graph, and `exec` may be written; no flags.
        let made = unsafe { cu!(cuGraphInstantiateWithFlags(&mut exec, graph, 0), "instantiating a graph") };
        // SAFETY: a live graph, destroyed once; the instance needs it no more.
        let _ = unsafe { sys::cuGraphDestroy(graph) };
        made?;
        let graph = Graph { context: self.context.clone(), exec };
        // SAFETY: a live instance and a live stream, on which nothing else runs.
        unsafe { cu!(cuGraphUpload(graph.exec, self.stream), "making a graph ready") }?;
        self.finish("making a graph ready")?;
        Ok(graph)
    }
}

impl Recorded for Graph {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        let _ = self.context.enter();
        // SAFETY: made once, destroyed once; the driver keeps one that still runs until it has ended.
        let _ = unsafe { sys::cuGraphExecDestroy(self.exec) };
    }
}
