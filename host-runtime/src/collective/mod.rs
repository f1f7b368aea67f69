//! Collective operations of a team, on streams and blocking: kernels of `oxshmem_stream_collectives`, as many blocks of
//! one as all PEs choose alike. The arguments are checked here, before anything is queued; the device half is the module of
//! the same name.
//!
//! | file | what it holds |
//! |---|---|
//! | `exchange` | broadcast, all-gather, all-to-all |
//! | `varying` | those of parts whose lengths differ |
//! | `reduce` | reductions and scans |
//! | `operator` | operators and element types, and the kernel of each |
//! | `tuning` | by what the protocol is chosen |

mod exchange;
mod operator;
mod reduce;
mod tuning;
mod varying;

use crate::calls::{Calls, block_for};
use crate::driver;
use crate::error::{BadCollective, Error, Result};
use crate::memory::{Range, moves, nowhere};
use crate::pe::Pe;
use crate::shmem::Shmem;
use crate::stream::Stream;
use crate::team::Team;
use oxshmem_device::Sym;
use oxshmem_device::abi::{collective as area, control};
use oxshmem_device::launch::LaunchConfig;

pub use operator::{Combined, Operator};
pub use tuning::Tuning;
pub use varying::Parts;

/// Bytes that a thread has before another is worth it.
const BYTES_PER_THREAD: u64 = 16;
/// Bytes that a block has before another is worth it.
const BYTES_PER_BLOCK: u64 = 64 << 10;
/// Most threads of a block on the emulator, where each has a stack of its own and a process some ten thousand of them.
const EMULATED_THREADS: u32 = 64;
/// Most blocks on a GPU, over all of its PEs.
const MOST_BLOCKS: u32 = 32;

/// A team and which of its 4 channels an operation takes: what [`Team::channel`] gives, or a `&Team`, which is channel 0.
#[derive(Clone, Copy, Debug)]
pub struct TeamChannel<'a> {
    team: &'a Team,
    channel: u32,
}

impl Team {
    /// This team, whose collective operations go by another of its 4 channels; 0 is where a `&Team` goes. Those of different
    /// channels may be under way at once: from two streams, or from a stream and a kernel beside it
    /// ([`OnTeam::channel`](oxshmem_device::OnTeam::channel)). All PEs of the team name the same channel.
    ///
    /// ```
    /// # use oxshmem_device::{Max, Sum};
    /// # fn main() -> oxshmem::Result<()> {
    /// oxshmem::run_local(2, |shmem| {
    ///     let (team, a, b) = (shmem.team_world(), shmem.stream()?, shmem.stream()?);
    ///     let x = shmem.alloc_from_fn(1000, |i| i as f32)?;
    ///     let y = shmem.alloc_from_fn(1000, |i| i as u32)?;
    ///     shmem.reduce_on(&a, &team, Sum, &x, &x)?;
    ///     shmem.reduce_on(&b, team.channel(1), Max, &y, &y)?;
    ///     a.synchronize()?;
    ///     b.synchronize()?;
    ///     assert_eq!((x.read()?[7], y.read()?[7]), (14.0, 7));
    ///     shmem.barrier_all()
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A channel that a team has not got is an error of the operation, [`BadCollective::Channel`].
    pub fn channel(&self, channel: u32) -> TeamChannel<'_> {
        TeamChannel { team: self, channel }
    }
}

impl<'a> From<&'a Team> for TeamChannel<'a> {
    fn from(team: &'a Team) -> Self {
        team.channel(0)
    }
}

impl Shmem {
    /// The operation `by`, on a stream, or, without one, blocking and behind all that this PE has launched.
    #[track_caller]
    fn asked<'a>(
        &'a self,
        stream: Option<&Stream>,
        by: &'static str,
        on: TeamChannel<'a>,
        target: Range<'a>,
        source: Range<'a>,
    ) -> Result<Asked<'a>> {
        driver::here();
        let calls = match stream {
            Some(stream) => Calls::on(self.pe(), stream)?,
            None => {
                self.pe().settle()?;
                Calls::blocking(self.pe())?
            }
        };
        Asked::new(self, calls, by, on, target, source)
    }
}

/// How many blocks and threads move `bytes` of each PE: the same number of blocks on every PE, as they share the bytes, the
/// team and the numbers of PEs on each GPU.
fn blocks_for(pe: &Pe, team: &Team, bytes: u64) -> LaunchConfig {
    let sharers = pe.job.pes_on_device.iter().copied().max().unwrap_or(1).max(1);
    let most = (MOST_BLOCKS / sharers).clamp(1, area::lanes(team.handle().slot(), pe.job.n_pes));
    let blocks = (bytes / BYTES_PER_BLOCK).clamp(1, most.into()) as u32;
    let shape = block_for(bytes.div_ceil(blocks.into()), BYTES_PER_THREAD);
    let most = if pe.device.info().emulated { EMULATED_THREADS } else { u32::MAX };
    LaunchConfig { grid: [blocks, 1, 1], ..shape.threads(shape.block[0].min(most)) }
}

type TargetAndSource<T> = (Sym<[T]>, Sym<[T]>);

/// An operation, whose team and ranges were checked.
#[derive(Debug)]
pub struct Asked<'a> {
    by: &'static str,
    calls: Calls<'a>,
    team: &'a Team,
    channel: u32,
    target: Range<'a>,
    source: Range<'a>,
    /// Addresses here.
    to: u64,
    from: u64,
}

impl<'a> Asked<'a> {
    fn new(
        shmem: &'a Shmem,
        calls: Calls<'a>,
        by: &'static str,
        TeamChannel { team, channel }: TeamChannel<'a>,
        target: Range<'a>,
        source: Range<'a>,
    ) -> Result<Self> {
        team.check_owner(shmem, by)?;
        let channels = control::TEAM_CHANNELS;
        if channel >= channels {
            return Err(BadCollective::Channel { by, channel, channels }.into());
        }
        let (pe, me) = (shmem.pe(), shmem.my_pe());
        let (to, from) = (pe.address(by, 0, &target, me)?, pe.address(by, 1, &source, me)?);
        Ok(Self { by, calls, team, channel, target, source, to, from })
    }

    /// Target and source as words of no higher alignment than their elements.
    fn words<U: bytemuck::Pod>(&self) -> Result<TargetAndSource<U>> {
        match (self.target.heap_words(0), self.source.heap_words(0)) {
            (Some(target), Some(source)) => Ok((target, source)),
            _ => Err(nowhere()),
        }
    }

    fn shape(&self, bytes: u64) -> LaunchConfig {
        blocks_for(self.calls.pe, self.team, bytes)
    }

    /// Refuses a PE that the team has not got.
    fn has_root(&self, root: u32) -> Result<()> {
        let n_pes = self.team.n_pes();
        let by = self.by;
        if root < n_pes { Ok(()) } else { Err(BadCollective::Root { by, root, n_pes }.into()) }
    }

    /// Refuses a `longer` range that has not a part for each PE, as long as the other range.
    fn has_parts(&self, longer: &'static str, len: u64, part: u64) -> Result<()> {
        let (by, n_pes) = (self.by, self.team.n_pes());
        match part.checked_mul(n_pes.into()) == Some(len) {
            true => Ok(()),
            false => Err(BadCollective::Lengths { by, longer, len, part, n_pes }.into()),
        }
    }

    /// Refuses ranges that overlap and are not the same.
    fn same_or_apart(&self) -> Result<()> {
        moves(self.by, self.to, self.from, self.target.bytes()).map(drop)
    }

    /// Refuses ranges that overlap, but if the shorter begins at `own` in the longer.
    fn apart_or(&self, own: Option<u64>, or: &'static str) -> Result<()> {
        let (target, source) = (self.target.bytes(), self.source.bytes());
        let apart = self.to >= self.from + source || self.from >= self.to + target;
        let in_place = own == Some(self.to.abs_diff(self.from));
        match apart || target == 0 || source == 0 || in_place {
            true => Ok(()),
            false => Err(Error::from(BadCollective::InPlace { by: self.by, or })),
        }
    }

    /// The end of an operation: of a blocking one, when it is over.
    fn queued(&self, launched: Result<()>) -> Result<()> {
        launched?;
        self.calls.wait()
    }

    /// Of nothing: looks whether anything stands against work.
    fn nothing(&self) -> Result<()> {
        self.calls.look()
    }
}
