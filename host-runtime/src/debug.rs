//! What the runtime tells of what it does, as events and spans of the `tracing` crate, and `OXSHMEM_DEBUG`, which prints them
//! on stderr where the program has no subscriber of its own. Without either an event costs one load and one comparison.
//! Nothing secret is ever a field: no job's key, no unique id. Events may come under the runtime's locks.
//!
//! | level | what comes there |
//! |---|---|
//! | error | a PE of this process has failed |
//! | warn | another PE or a kernel has failed, as noticed here |
//! | info | a job's start and end |
//! | debug | the steps of the start, growth, teams, recordings |
//! | trace | each launch, operation and collective call |

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;

/// A job's start and end.
pub(crate) const INIT: &str = "oxshmem::init";
/// How its processes find each other.
pub(crate) const BOOTSTRAP: &str = "oxshmem::bootstrap";
/// Devices that are opened.
pub(crate) const DEVICE: &str = "oxshmem::device";
/// Addresses and memory of the heaps.
pub(crate) const HEAP: &str = "oxshmem::heap";
/// Launches of the program's kernels.
pub(crate) const LAUNCH: &str = "oxshmem::launch";
/// Operations of the host, blocking and on streams.
pub(crate) const OPERATION: &str = "oxshmem::operation";
/// Recordings, and their launches.
pub(crate) const GRAPH: &str = "oxshmem::graph";
/// Teams that are made and dissolved.
pub(crate) const TEAM: &str = "oxshmem::team";
/// Collective calls.
pub(crate) const GROUP: &str = "oxshmem::group";
/// Failures.
pub(crate) const FAILURE: &str = "oxshmem::failure";

/// What every target begins with.
const ALL: &str = "oxshmem";
const TARGETS: [&str; 10] = [INIT, BOOTSTRAP, DEVICE, HEAP, LAUNCH, OPERATION, GRAPH, TEAM, GROUP, FAILURE];

/// What `OXSHMEM_DEBUG` lets through, if it is right: levels, for all or by target, with commas between them.
pub(crate) fn filter(value: &str) -> Option<Targets> {
    value.split(',').try_fold(Targets::new(), |targets, part| {
        let (target, level) = part.split_once('=').unwrap_or((ALL, part));
        let (target, level) = (target.trim(), level.trim());
        let is_known = target == ALL || TARGETS.contains(&target);
        is_known.then(|| Some(targets.with_target(target, self::level(level)?))).flatten()
    })
}

fn level(name: &str) -> Option<LevelFilter> {
    Some(match name {
        "off" => LevelFilter::OFF,
        "error" => LevelFilter::ERROR,
        "warn" => LevelFilter::WARN,
        "info" => LevelFilter::INFO,
        "debug" => LevelFilter::DEBUG,
        "trace" => LevelFilter::TRACE,
        _ => return None,
    })
}

/// Prints what the filter lets through on stderr, from the first call on, unless the program has set a subscriber: the
/// program's own goes first.
pub(crate) fn print(filter: &Targets) {
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        // Lines are read in files, too, and the program may have asked for colours elsewhere.
        .with_ansi(false)
        // Nobody may be reading stderr any more, which is no reason to panic.
        .log_internal_errors(false);
    let printer = tracing_subscriber::registry().with(lines).with(filter.clone());
    // It is refused where one is set already: the program's, or this one by an earlier run.
    let _ = tracing::subscriber::set_global_default(printer);
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing::Level;

    #[test]
    fn levels_are_for_all_or_by_target() {
        let all = filter("debug").unwrap();
        assert!(all.would_enable(HEAP, &Level::DEBUG) && !all.would_enable(HEAP, &Level::TRACE));
        assert!(!all.would_enable("another_crate", &Level::ERROR));
        let one = filter("info, oxshmem::bootstrap=trace").unwrap();
        assert!(one.would_enable(BOOTSTRAP, &Level::TRACE) && !one.would_enable(HEAP, &Level::DEBUG));
        assert!(!filter("oxshmem=off").unwrap().would_enable(FAILURE, &Level::ERROR));
    }

    #[test]
    fn what_is_no_level_or_no_target_is_refused() {
        for wrong in
            ["", "1", "yes", "DEBUG", "debug,", "oxshmem::heap", "oxshmem::heaps=debug", "heap=debug"]
        {
            assert!(filter(wrong).is_none(), "{wrong:?}");
        }
    }
}
