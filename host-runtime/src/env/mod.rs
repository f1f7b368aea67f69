//! The environment: every variable that oxshmem reads stands in [`VARIABLES`], which the guide prints. A value
//! that does not parse is an error that names the variable and what is valid; an unknown `OXSHMEM_…` variable
//! is a warning on stderr, once.

mod check;
pub(crate) mod variables;

pub use variables::{VARIABLES, Variable};

use crate::collective::Tuning;
use crate::config::{Config, DeviceChoice, Family, Handles, Loading, Path, Rendezvous};
use crate::debug;
use crate::error::{Error, Result};
use crate::launched::{self, Choice, Found};
use crate::say::say;
use crate::trace;
use std::ffi::OsString;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Once;
use std::time::Duration;
use tracing_subscriber::filter::Targets;
use variables::{
    BOOTSTRAP, CHECK, CHECK_CHOICES, CHECK_JSON, CHECK_PATIENCE, CHECK_PROFILE, CHECK_SEED, CHECK_SEEDS,
    COLLECTIVES, DEADLINE, DEBUG, DEVICE, ELSEWHERE, EMULATED_DEVICES, EMULATED_MEMORY, EMULATED_SEED,
    HANDLES, HEAP, INTERFACE, JOIN_DEADLINE, KERNEL_LIMIT, LOADING, MAX_PES, PATH, PES, RENDEZVOUS, TRACE,
    TRACE_EVENTS,
};

/// Most operations of a PE in a timeline: 768 MiB of its device.
const MOST_TRACE_EVENTS: u32 = 1 << 24;

impl Config {
    /// The set-up that the environment asks for: see [`VARIABLES`].
    ///
    /// # Errors
    /// [`Error::Environment`] if a variable's value means nothing; [`Error::Contradiction`],
    /// [`Error::MissingVariable`], [`Error::OtherHosts`], [`Error::NoBootstrap`] for what launchers have set; those of
    /// joining where only the launcher's server knows how many PEs there are, which is asked then.
    pub fn from_env() -> Result<Self> {
        let environment = Environment::read(None)?;
        let found = environment.launched.clone();
        let mut config = Self::of(environment)?;
        if let Some(found) = found {
            config.join(found)?;
        }
        Ok(config)
    }

    /// The same without what a launcher says.
    pub(crate) fn from_env_without_launcher() -> Result<Self> {
        Self::of(Environment::read(Some(Choice::Nothing))?)
    }

    fn of(environment: Environment) -> Result<Self> {
        let mut config = Self::default();
        config.pes = environment.pes.unwrap_or(config.pes);
        environment.meet(&mut config)?;
        config.join_deadline = environment.join_deadline.unwrap_or(config.join_deadline);
        config.handles = environment.handles.unwrap_or(config.handles);
        config.loading = environment.loading.unwrap_or(config.loading);
        config.device = environment.device.unwrap_or(config.device);
        if environment.check.asks {
            environment.check.clone().apply(&mut config)?;
        }
        config.path = environment.path.unwrap_or(config.path);
        config.deadline = environment.deadline.unwrap_or(config.deadline);
        config.kernel_limit = environment.kernel_limit;
        config.heap_limit = environment.heap;
        if let Some(asked) = &environment.collectives {
            config.collectives = tuning(asked)?;
        }
        config.trace = environment.trace();
        config.emulated_devices = environment.emulated_devices;
        if let Some(bytes) = environment.emulated_memory {
            config = config.emulated_memory(bytes);
        }
        if let Some(seed) = environment.emulated_seed {
            config = config.emulated_seed(seed);
        }
        Ok(config)
    }
}

/// What the environment asks for; `None` where it says nothing.
#[derive(Debug, Default)]
pub(crate) struct Environment {
    pub(crate) pes: Option<u32>,
    pub(crate) launched: Option<Found>,
    /// Over what, and for an interface of which family.
    pub(crate) rendezvous: Option<(Rendezvous, Family)>,
    pub(crate) interface: Option<String>,
    pub(crate) join_deadline: Option<Duration>,
    pub(crate) handles: Option<Handles>,
    pub(crate) loading: Option<Loading>,
    pub(crate) device: Option<DeviceChoice>,
    pub(crate) path: Option<Path>,
    pub(crate) deadline: Option<Duration>,
    pub(crate) kernel_limit: Option<Duration>,
    pub(crate) heap: Option<u64>,
    /// The file of the timeline, and how many operations it has room for.
    pub(crate) trace: (Option<OsString>, Option<u32>),
    pub(crate) emulated_devices: Option<u32>,
    pub(crate) emulated_memory: Option<u64>,
    pub(crate) emulated_seed: Option<u64>,
    /// What is printed of what the runtime does.
    pub(crate) debug: Option<Targets>,
    pub(crate) collectives: Option<OsString>,
    pub(crate) check: check::Asked,
}

impl Environment {
    /// Reads this process's environment.
    pub(crate) fn read(choice: Option<Choice>) -> Result<Self> {
        static WARNED: Once = Once::new();
        WARNED.call_once(|| {
            for name in unknown(std::env::vars_os().map(|(name, _)| name)) {
                say(format_args!("the environment variable {name} is not known and has no effect"));
            }
        });
        let environment = Self::from(|name| std::env::var_os(name), choice)?;
        environment.debug.iter().for_each(debug::print);
        Ok(environment)
    }

    /// Reads an environment given as a function; by what the processes come together may be given.
    fn from(get: impl Fn(&str) -> Option<OsString>, given: Option<Choice>) -> Result<Self> {
        let of = |variable: &Variable| get(variable.name).filter(|value| !value.is_empty());
        let pes = parse(&PES, of(&PES), count)?;
        let choice = parse(&BOOTSTRAP, of(&BOOTSTRAP), Choice::from_name)?;
        Ok(Self {
            pes,
            launched: launched::read(&get, given.or(choice).unwrap_or_default(), pes)?,
            rendezvous: parse(&RENDEZVOUS, of(&RENDEZVOUS), rendezvous)?,
            interface: parse(&INTERFACE, of(&INTERFACE), |value| Some(value.to_owned()))?,
            join_deadline: parse(&JOIN_DEADLINE, of(&JOIN_DEADLINE), duration)?,
            handles: parse(&HANDLES, of(&HANDLES), |value| match value {
                "descriptors" => Some(Handles::Descriptors),
                "fabric" => Some(Handles::Fabric),
                _ => None,
            })?,
            loading: parse(&LOADING, of(&LOADING), |value| match value {
                "on-demand" => Some(Loading::OnDemand),
                "at-start" => Some(Loading::AtStart),
                _ => None,
            })?,
            device: parse(&DEVICE, of(&DEVICE), |value| match value {
                "cuda" => Some(DeviceChoice::Cuda),
                "emulated" => Some(DeviceChoice::Emulated),
                "auto" => Some(DeviceChoice::Auto),
                _ => None,
            })?,
            path: parse(&PATH, of(&PATH), |value| match value {
                "p2p" => Some(Path::P2p),
                "ibgda" => Some(Path::Ibgda),
                "proxy" => Some(Path::Proxy),
                _ => None,
            })?,
            deadline: parse(&DEADLINE, of(&DEADLINE), duration)?,
            kernel_limit: parse(&KERNEL_LIMIT, of(&KERNEL_LIMIT), duration)?,
            heap: parse(&HEAP, of(&HEAP), bytes)?,
            collectives: of(&COLLECTIVES),
            trace: (
                of(&TRACE),
                parse(&TRACE_EVENTS, of(&TRACE_EVENTS), |value| {
                    value.parse().ok().filter(|events| (1..=MOST_TRACE_EVENTS).contains(events))
                })?,
            ),
            emulated_devices: parse(&EMULATED_DEVICES, of(&EMULATED_DEVICES), count)?,
            emulated_memory: parse(&EMULATED_MEMORY, of(&EMULATED_MEMORY), bytes)?,
            emulated_seed: parse(&EMULATED_SEED, of(&EMULATED_SEED), |value| value.parse().ok())?,
            debug: parse(&DEBUG, of(&DEBUG), debug::filter)?,
            check: check::Asked {
                asks: parse(&CHECK, of(&CHECK), |value| match value {
                    "0" => Some(false),
                    "1" => Some(true),
                    _ => None,
                })?
                .unwrap_or(false),
                seed: parse(&CHECK_SEED, of(&CHECK_SEED), |value| value.parse().ok())?,
                seeds: parse(&CHECK_SEEDS, of(&CHECK_SEEDS), |value| {
                    value.parse().ok().filter(|&seeds: &u32| seeds > 0)
                })?,
                choices: parse(&CHECK_CHOICES, of(&CHECK_CHOICES), check::choices)?,
                profile: parse(&CHECK_PROFILE, of(&CHECK_PROFILE), check::profile)?,
                patience: parse(&CHECK_PATIENCE, of(&CHECK_PATIENCE), duration)?,
                json: of(&CHECK_JSON),
            },
        })
    }
}

impl Environment {
    /// Where the timeline goes.
    fn trace(&self) -> Option<trace::Asked> {
        let (path, events) = &self.trace;
        path.as_ref().map(|path| trace::Asked { path: path.into(), events: events.unwrap_or(trace::EVENTS) })
    }

    /// Sets over what the processes meet.
    fn meet(&self, config: &mut Config) -> Result<()> {
        let Some(interface) = &self.interface else {
            config.rendezvous = self.rendezvous.map_or(config.rendezvous, |(over, _)| over);
            return Ok(());
        };
        let (over, family) =
            self.rendezvous.unwrap_or((Rendezvous::Tcp(Ipv4Addr::LOCALHOST.into()), Family::Any));
        let contradicts = |rendezvous: String| Error::Contradiction {
            one: format!("{}={interface}", INTERFACE.name),
            other: format!("{}={rendezvous}", RENDEZVOUS.name),
            why: "an interface is where TCP listens: set the latter to tcp, tcp4 or tcp6, or unset one of them",
        };
        match over {
            Rendezvous::Unix => return Err(contradicts("unix".into())),
            Rendezvous::Tcp(address) if !address.is_loopback() => {
                return Err(contradicts(format!("tcp:{address}")));
            }
            Rendezvous::Tcp(_) => config.interface = Some((interface.clone(), family)),
        }
        Ok(())
    }
}

/// Names that look like oxshmem's and are not.
fn unknown(names: impl Iterator<Item = OsString>) -> Vec<String> {
    names
        .filter_map(|name| name.into_string().ok())
        .filter(|name| name.starts_with("OXSHMEM_"))
        .filter(|name| !VARIABLES.iter().any(|v| v.name == name) && !ELSEWHERE.contains(&name.as_str()))
        .collect()
}

fn parse<T>(
    variable: &Variable,
    value: Option<OsString>,
    read: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>> {
    let Some(value) = value else { return Ok(None) };
    match value.to_str().and_then(|value| read(value.trim())) {
        Some(read) => Ok(Some(read)),
        None => Err(Error::Environment {
            variable: variable.name,
            value: value.to_string_lossy().into_owned(),
            valid: variable.values,
        }),
    }
}

fn rendezvous(value: &str) -> Option<(Rendezvous, Family)> {
    let (v4, v6) = (Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into());
    Some(match value {
        "unix" => (Rendezvous::Unix, Family::Any),
        "tcp" => (Rendezvous::Tcp(v4), Family::Any),
        "tcp4" => (Rendezvous::Tcp(v4), Family::V4),
        "tcp6" => (Rendezvous::Tcp(v6), Family::V6),
        _ => (Rendezvous::Tcp(value.strip_prefix("tcp:")?.parse().ok()?), Family::Any),
    })
}

fn count(value: &str) -> Option<u32> {
    value.parse().ok().filter(|count| (1..=MAX_PES).contains(count))
}

fn duration(value: &str) -> Option<Duration> {
    let (number, unit) = if let Some(number) = value.strip_suffix("ms") {
        (number, 1e-3)
    } else {
        (value.strip_suffix('s').unwrap_or(value), 1.0)
    };
    let seconds: f64 = number.trim().parse::<f64>().ok()? * unit;
    // The upper end keeps every later sum of durations far from overflow.
    if seconds.is_finite() && (1e-6..=1e8).contains(&seconds) {
        Some(Duration::from_secs_f64(seconds))
    } else {
        None
    }
}

fn bytes(value: &str) -> Option<u64> {
    let value = value.strip_suffix(['B', 'b']).unwrap_or(value);
    let value = value.strip_suffix('i').unwrap_or(value);
    let (number, shift) = match value.chars().last()?.to_ascii_uppercase() {
        'K' => (&value[..value.len() - 1], 10),
        'M' => (&value[..value.len() - 1], 20),
        'G' => (&value[..value.len() - 1], 30),
        'T' => (&value[..value.len() - 1], 40),
        _ => (value, 0),
    };
    let number: u64 = number.trim().parse().ok().filter(|&number| number > 0)?;
    number.checked_mul(1 << shift).filter(|&bytes| bytes < 1 << 62)
}

/// The table of collective operations that `OXSHMEM_COLLECTIVES` asks for.
fn tuning(asked: &OsString) -> Result<Tuning> {
    match asked.to_str() {
        Some("packets") => Ok(Tuning::packets()),
        Some("stores") => Ok(Tuning::stores()),
        _ => Tuning::read(asked),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_collective_operations_is_forced_or_read() {
        let of = |asked: &str| tuning(&asked.into());
        assert_eq!((of("packets").unwrap(), of("stores").unwrap()), (Tuning::packets(), Tuning::stores()));
        let path = std::env::temp_dir().join(format!("oxshmem-table-{}", std::process::id()));
        let text = path.to_str().expect("a path of text");
        std::fs::write(&path, "pes 2 reduce 64\n").unwrap();
        assert_eq!(of(text).unwrap(), "pes 2 reduce 64".parse().unwrap());
        std::fs::write(&path, "pes 2 reduce 65\n").unwrap();
        let error = of(text).unwrap_err().to_string();
        assert!(error.contains(text) && error.contains("line 1: reduce is 0 or a power of two"), "{error}");
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(of(text), Err(Error::Config { what }) if what.contains(text)));
    }

    fn read(name: &'static str, value: &'static str) -> Result<Environment> {
        Environment::from(|asked| (asked == name).then(|| value.into()), None)
    }

    #[test]
    fn an_empty_environment_says_nothing() {
        let shown = |environment: Result<Environment>| format!("{:?}", environment.unwrap());
        let nothing = shown(Ok(Environment::default()));
        assert_eq!(shown(Environment::from(|_| None, None)), nothing);
        assert_eq!(shown(read("OXSHMEM_PES", "")), nothing);
    }

    #[test]
    fn durations_and_sizes_have_units() {
        for (value, millis) in [("2", 2000), ("0.25", 250), ("30s", 30_000), ("500ms", 500), (" 1.5 s", 1500)]
        {
            let read = read("OXSHMEM_DEADLINE", value).unwrap().deadline;
            assert_eq!(read, Some(Duration::from_millis(millis)), "{value}");
        }
        for (value, bytes) in [("4096", 4096), ("64K", 1 << 16), ("512M", 1 << 29), ("2GiB", 1 << 31)] {
            assert_eq!(read("OXSHMEM_HEAP", value).unwrap().heap, Some(bytes), "{value}");
        }
    }

    #[test]
    fn a_value_that_means_nothing_is_an_error_that_says_what_is_valid() {
        for (name, value) in [
            ("OXSHMEM_PES", "0"),
            ("OXSHMEM_PES", "1025"),
            ("OXSHMEM_PES", "many"),
            ("OXSHMEM_DEVICE", "gpu"),
            ("OXSHMEM_PATH", "tcp"),
            ("OXSHMEM_BOOTSTRAP", "mpi"),
            ("OXSHMEM_RENDEZVOUS", "tcp:localhost"),
            ("OXSHMEM_HANDLES", "both"),
            ("OXSHMEM_LOADING", "lazy"),
            ("OXSHMEM_JOIN_DEADLINE", "0"),
            ("OXSHMEM_DEADLINE", "-1"),
            ("OXSHMEM_DEADLINE", "0"),
            ("OXSHMEM_DEADLINE", "inf"),
            ("OXSHMEM_DEADLINE", "soon"),
            ("OXSHMEM_KERNEL_LIMIT", "0s"),
            ("OXSHMEM_HEAP", "0"),
            ("OXSHMEM_HEAP", "G"),
            ("OXSHMEM_HEAP", "99999999T"),
            ("OXSHMEM_EMULATED_MEMORY", "1.5G"),
            ("OXSHMEM_TRACE_EVENTS", "0"),
            ("OXSHMEM_DEBUG", "verbose"),
            ("OXSHMEM_DEBUG", "oxshmem::nothing=debug"),
            ("OXSHMEM_CHECK", "yes"),
            ("OXSHMEM_CHECK_SEEDS", "0"),
            ("OXSHMEM_CHECK_CHOICES", "1:2,3"),
            ("OXSHMEM_CHECK_PROFILE", "weak"),
            ("OXSHMEM_CHECK_PATIENCE", "0"),
        ] {
            let message = read(name, value).unwrap_err().to_string();
            let variable = VARIABLES.iter().find(|v| v.name == name).unwrap();
            assert!(message.contains(name) && message.contains(variable.values), "{message}");
        }
    }

    #[test]
    fn only_unknown_names_of_ours_are_warned_about() {
        let names = ["OXSHMEM_PES", "OXSHMEM_PSE", "PATH", "OXSHMEM_RUSTC"].map(OsString::from);
        assert_eq!(unknown(names.into_iter()), ["OXSHMEM_PSE"]);
    }

    #[test]
    fn an_interface_is_where_tcp_listens() {
        let set = |rendezvous: &'static str| {
            let get = |name: &str| match name {
                "OXSHMEM_INTERFACE" => Some("eth7".into()),
                "OXSHMEM_RENDEZVOUS" => Some(rendezvous.into()),
                _ => None,
            };
            Config::of(Environment::from(get, None)?)
        };
        for (rendezvous, family) in
            [("", Family::Any), ("tcp", Family::Any), ("tcp4", Family::V4), ("tcp6", Family::V6)]
        {
            let config = set(rendezvous).unwrap();
            assert_eq!(config.interface, Some(("eth7".into(), family)), "{rendezvous}");
        }
        for rendezvous in ["unix", "tcp:10.0.0.1"] {
            let message = set(rendezvous).unwrap_err().to_string();
            assert!(message.contains("OXSHMEM_INTERFACE=eth7") && message.contains(rendezvous), "{message}");
        }
    }
}
