//! The checker: runs kernels under the weakest memory that the specification allows, and says what they rely on that
//! nothing promises.
//!
//! A checked machine has all its devices on one operating-system thread, and runs one GPU thread at a time. What a thread
//! does to another PE's memory becomes an update under way, an agent of the schedule like the threads; reads of
//! words that threads synchronise by may return older values. Which event comes before which is kept by vector clocks.
//!
//! | file | what it holds |
//! |---|---|
//! | `options` | [`CheckOptions`], [`Profile`], [`Schedule`] |
//! | `finding` | [`Finding`], [`Kind`] |
//! | `report` | [`Report`]: text and JSON |
//! | `hash` | hashes |
//! | `choose` | every choice of a run: by seed, by a list, or all of them |
//! | `clock`, `know` | what is known to come before, and which updates to be over |
//! | `event`, `shadow` | who did what, and who has written and read each byte last |
//! | `places` | whose an address is, and how it is called |
//! | `words` | the values of a word that can still be read |
//! | `updates`, `carry` | updates under way, and carrying them out |
//! | `early` | relaxed reads that come after the update behind them |
//! | `sort`, `access`, `message` | what sort of operation it is; what an access does; what an update knows and tells |
//! | `order` | what fences and barriers order |
//! | `judge` | whether two events conflict, and what that means |
//! | `calls` | what the PEs of a team do together |
//! | `liveness`, `stuck` | who waits for what |
//! | `actor`, `run` | threads and blocks; all of it together |
//! | `hooks`, `engine`, `search` | the seam to the kernel; the loop; what a search does besides |
//! | `minimise` | a failing schedule made smaller |
//! | `machine`, `desk`, `baton` | checked machines for host programs, whose threads run one at a time |
//! | `world`, `outcome` | [`World`]: checked runs without a host program |

mod access;
mod actor;
pub(crate) mod baton;
mod calls;
mod carry;
mod choose;
mod clock;
pub(crate) mod desk;
mod early;
pub(crate) mod engine;
mod event;
mod finding;
mod hash;
mod hooks;
mod judge;
mod know;
mod liveness;
pub(crate) mod machine;
mod message;
mod minimise;
mod options;
mod order;
mod outcome;
mod places;
mod report;
pub(crate) mod run;
mod search;
mod shadow;
mod sort;
mod stuck;
mod updates;
mod words;
mod world;

pub use desk::{Checked, Checking, Heaps};
pub use finding::{Finding, Kind, Place, Waiter};
pub use minimise::minimise;
pub use options::{CheckOptions, Choice, Profile, Schedule};
pub use outcome::{Outcomes, Registers, Search, WorldGrid};
pub use report::Report;
pub use world::World;
