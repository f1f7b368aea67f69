//! Starts oxshmem in a program that uses MPI: each process of a communicator is one PE, with its rank as its number.
//!
//! PE 0 makes a unique id and MPI broadcasts it; from then on oxshmem meets over connections of its own, and neither needs
//! the other. All processes must be on one host, as no path to other hosts is built yet.
//!
//! ```no_run
//! use mpi::traits::Communicator;
//!
//! fn main() -> oxshmem::Result<()> {
//!     let universe = mpi::initialize().ok_or_else(|| oxshmem::Error::other("MPI runs already"))?;
//!     let session = oxshmem_mpi::init(&universe.world())?;
//!     assert_eq!(session.my_pe(), universe.world().rank() as u32);
//!     // Allocate, launch, …
//!     session.end()
//! }
//! ```
//!
//! The MPI library is the one whose `mpicc` is found when this is built (`MPICC` names another): Open MPI and MPICH both
//! work. A program that does not use MPI itself needs nothing of this, also under `mpirun`.

use mpi::Count;
use mpi::collective::SystemOperation;
use mpi::traits::{Communicator, CommunicatorCollectives, Root};
use oxshmem::{Config, Error, Result, Session, UniqueId};

/// Bytes of what is broadcast: whether there is an id, and the id, or why there is none.
const MESSAGE: usize = 1 + 1024;
const MADE: u8 = 1;

/// Makes this process one PE: as [`oxshmem::init`] does, but of a job of the communicator's processes. What a launcher says
/// in the environment is disregarded; everything else is as the environment asks.
///
/// Collective: every process of the communicator calls it. [`Session::end`] comes before MPI is finalized.
///
/// # Errors
/// [`Error::OtherHosts`] on all if the processes are not on one host; [`Error::PeFailed`] if PE 0 cannot make an id; those of
/// [`oxshmem::init_with_unique_id`].
pub fn init<C: Communicator>(world: &C) -> Result<Session> {
    let (rank, n_pes) = place(world)?;
    let id = unique_id(world)?;
    oxshmem::init_with_unique_id(rank, n_pes, &id)
}

/// The same as a set-up that may be changed and then run, by [`Config::run`] or [`Config::init`].
///
/// # Errors
/// Those of [`init`], but for those of joining.
pub fn config<C: Communicator>(world: &C, config: Config) -> Result<Config> {
    let (rank, n_pes) = place(world)?;
    Ok(config.unique_id(rank, n_pes, &unique_id(world)?))
}

/// A new unique id on all processes of the communicator, made by its process 0.
///
/// Collective: every process of the communicator calls it.
///
/// # Errors
/// [`Error::OtherHosts`] on all if the processes are not on one host; on process 0 those of [`UniqueId::new`], on the others
/// [`Error::PeFailed`] then.
pub fn unique_id<C: Communicator>(world: &C) -> Result<UniqueId> {
    let (rank, n_pes) = place(world)?;
    on_one_host(world, n_pes)?;
    let made = (rank == 0).then(UniqueId::new);
    let mut message = made.as_ref().map_or([0; MESSAGE], pack);
    world.process_at_rank(0).broadcast_into(&mut message[..]);
    match made {
        Some(made) => made,
        None => unpack(&message),
    }
}

fn place<C: Communicator>(world: &C) -> Result<(u32, u32)> {
    let number = |of: Count| u32::try_from(of).map_err(Error::other);
    Ok((number(world.rank())?, number(world.size())?))
}

/// Whether the communicator's processes share memory. All learn the same.
fn on_one_host<C: Communicator>(world: &C, n_pes: u32) -> Result<()> {
    let here = world.split_shared(world.rank()).size();
    let mut least = here;
    world.all_reduce_into(&here, &mut least, SystemOperation::min());
    if u32::try_from(least) == Ok(n_pes) {
        return Ok(());
    }
    let what = format!("a host of the communicator has {least} of its {n_pes} processes");
    Err(Error::OtherHosts { what })
}

fn pack(made: &Result<UniqueId>) -> [u8; MESSAGE] {
    let (first, rest) = match made {
        Ok(id) => (MADE, id.to_bytes().to_vec()),
        Err(error) => (0, error.to_string().into_bytes()),
    };
    let mut message = [0; MESSAGE];
    message[0] = first;
    for (byte, of) in message[1..].iter_mut().zip(rest) {
        *byte = of;
    }
    message
}

fn unpack(message: &[u8; MESSAGE]) -> Result<UniqueId> {
    let (first, rest) = (message[0], &message[1..]);
    if first == MADE {
        return UniqueId::from_bytes(&rest[..UniqueId::BYTES]).map_err(Error::other);
    }
    let text = rest.split(|&byte| byte == 0).next().unwrap_or_default();
    let cause = Error::other(format!("it made no unique id: {}", String::from_utf8_lossy(text)));
    Err(Error::PeFailed { pe: 0, cause: Box::new(cause) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_or_the_reason_why_there_is_none_reaches_the_others() {
        let id = UniqueId::new().expect("a socket");
        assert_eq!(unpack(&pack(&Ok(id.clone()))).expect("an id"), id);
        for why in ["no socket".to_owned(), "x".repeat(2 * MESSAGE)] {
            let error = unpack(&pack(&Err(Error::other(why.clone())))).expect_err("there is none");
            assert!(matches!(error, Error::PeFailed { pe: 0, .. }), "{error}");
            assert!(error.to_string().contains(&why[..9]), "{error}");
        }
        let mut broken = pack(&Ok(id));
        broken[UniqueId::BYTES] = b'x';
        assert!(unpack(&broken).is_err());
    }
}
