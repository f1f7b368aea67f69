//! The PEs of this process from their start to their end.

use crate::bootstrap;
use crate::config::Config;
use crate::debug;
use crate::error::{Error, Result};
use crate::fault;
use crate::job::Job;
use crate::pe::Pe;
use crate::trace::TraceFile;
use oxshmem_device::abi::collective::reserved;
use oxshmem_device::abi::tuning::Tuning;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tracing::{info, info_span};

/// The PEs of this process, ready to run.
#[derive(Debug)]
pub(crate) struct Process {
    job: Arc<Job>,
    pes: Vec<Arc<Pe>>,
    trace: Option<TraceFile>,
}

impl Process {
    /// Makes the PEs that the configuration gives to this process.
    ///
    /// # Errors
    /// Those of [`Config::run`], before anything runs.
    pub(crate) fn start(config: &Config) -> Result<Self> {
        let _span = info_span!(target: debug::INIT, "init").entered();
        config.check()?;
        let config = &config.placed()?;
        let first = config.launched.as_ref().map_or(0, |launched| launched.rank);
        let trace =
            config.trace.as_ref().map(|asked| TraceFile::open(asked, first, config.deadline)).transpose()?;
        let Some(launched) = &config.launched else {
            let process = Self::of(Arc::new(Job::of_threads(config)?), trace)?;
            process.pes.iter().try_for_each(|pe| pe.first_control())?;
            process.can_be_stopped();
            process.start_trace()?;
            process.say_started();
            return Ok(process);
        };
        let parts = bootstrap::join(config, launched)?;
        fault::point("joined", launched.rank);
        let me = launched.rank;
        // From here on the others wait for this PE.
        let group = parts.group.clone();
        let started = Job::new(config, parts).and_then(|job| {
            let process = Self::of(Arc::new(job), trace)?;
            process.start_heap()?;
            process.can_be_stopped();
            process.choose_alike()?;
            process.start_trace()?;
            process.say_started();
            Ok(process)
        });
        started.inspect_err(|error| group.fail(me, error.clone()))
    }

    fn say_started(&self) {
        for pe in &self.pes {
            let device = pe.device.info().name.as_str();
            info!(target: debug::INIT, pe = pe.me, n_pes = self.job.n_pes, device, "ready");
        }
    }

    fn of(job: Arc<Job>, trace: Option<TraceFile>) -> Result<Self> {
        let pe = |me| {
            let pe = Pe::new(&job, me, trace.as_ref())?;
            pe.first_teams()?;
            Ok(pe)
        };
        let pes: Vec<Arc<Pe>> = job.own_pes().map(pe).collect::<Result<_>>()?;
        let stop = job.stop.clone();
        job.group.on_failure(Box::new(move |failed| stop.now(failed)));
        Ok(Self { job, pes, trace })
    }

    /// Gives the heap its first memory, which holds the control areas.
    fn start_heap(&self) -> Result<()> {
        for pe in &self.pes {
            let goal = self.job.heap().space().growth_to(reserved(self.job.n_pes));
            if let (Some(exchange), Some(goal)) = (&self.job.exchange, goal) {
                pe.grow(exchange, goal, None, || pe.first_control())?;
            }
        }
        Ok(())
    }

    /// From here on a failure reaches the kernels: the control areas are mapped and reset.
    fn can_be_stopped(&self) {
        self.pes.iter().for_each(|pe| self.job.stop.add(pe.copies.clone(), pe.base()));
    }

    /// Has the collective operations choose as PE 0 does: each process has read its own environment.
    fn choose_alike(&self) -> Result<()> {
        for pe in &self.pes {
            let agreed = pe.gather(self.job.chosen_by().word.to_le_bytes().to_vec(), None)?;
            let first = agreed.gathered.first().and_then(|of_pe| of_pe.as_slice().try_into().ok());
            if let Some(word) = first {
                self.job.choose_by(Tuning { word: u64::from_le_bytes(word) });
            }
        }
        Ok(())
    }

    /// Reads the clocks of the devices, if the run is traced.
    fn start_trace(&self) -> Result<()> {
        self.pes.iter().try_for_each(|pe| pe.start_trace())
    }

    pub(crate) fn pes(&self) -> &[Arc<Pe>] {
        &self.pes
    }

    /// Waits for the other PEs of the job and for the kernels of this process's, and closes the run. If a kernel does
    /// not end, what it may use is leaked, and nobody waits for it.
    ///
    /// # Errors
    /// The first failure of any PE.
    pub(crate) fn end(self) -> Result<()> {
        for pe in &self.pes {
            if let Err(error) = self.job.group.wait_for_end(pe.me) {
                pe.fail(error);
            }
        }
        let drained: Vec<Result<()>> = self.pes.iter().map(|pe| pe.drain()).collect();
        // What kernels of a run that has failed did is wanted most.
        let over = drained.iter().all(Result::is_ok);
        let traced = self.trace.map_or(Ok(()), |trace| trace.write(self.pes.iter().map(|pe| &**pe), over));
        for pe in &self.pes {
            info!(target: debug::INIT, pe = pe.me, failed = self.job.group.failed().is_some(), "ended");
        }
        self.job.ended.store(true, Ordering::Release);
        self.job.stop.close();
        if drained.iter().any(|drained| matches!(drained, Err(Error::StreamStuck { .. }))) {
            self.pes.iter().for_each(|pe| std::mem::forget(pe.clone()));
            self.job.device_of_pe.iter().flatten().for_each(|device| device.abandon());
        }
        match self.job.group.failed() {
            // Of this process's PEs it is the PE's own error.
            Some((failed, cause)) if self.pes.iter().any(|pe| pe.me == failed) => Err(cause),
            Some((failed, cause)) => Err(Error::of_another_pe(failed, cause)),
            None => drained.into_iter().collect::<Result<()>>().and(traced),
        }
    }
}
