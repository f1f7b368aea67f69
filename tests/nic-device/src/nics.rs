//! The NICs of this process, each with its thread, which are made when they are first opened.

use crate::{event, table};
use oxshmem_emulator::nic::{Adversary, Event, Fabric, Fault, Nic as Model, NicConfig, NicThread};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

/// How many there can be.
pub(crate) const MAXIMUM: usize = 8;
/// The firmware's version, as queries spell it.
pub(crate) const FIRMWARE: &str = "28.38.1002";
/// NICs that a fabric has room for.
const FABRIC: u32 = 16;
/// How long an event waits to be handed on.
const EVENT_PERIOD: Duration = Duration::from_millis(2);

/// A NIC.
pub(crate) struct Nic {
    model: Arc<Model>,
    config: NicConfig,
    index: usize,
    ethernet: bool,
    _thread: NicThread,
}

/// How its port is addressed.
pub(crate) struct Identity {
    pub(crate) lid: u16,
    pub(crate) gid: [u8; 16],
    pub(crate) ethernet: bool,
    pub(crate) up: bool,
}

static NICS: [OnceLock<Nic>; MAXIMUM] = [const { OnceLock::new() }; MAXIMUM];
/// Whether each has its link.
static UP: [AtomicBool; MAXIMUM] = [const { AtomicBool::new(true) }; MAXIMUM];
static MAKING: Mutex<Option<Arc<Fabric>>> = Mutex::new(None);

impl Nic {
    /// The emulated NIC.
    pub(crate) fn model(&self) -> &Model {
        &self.model
    }

    /// How it was set up.
    pub(crate) fn config(&self) -> &NicConfig {
        &self.config
    }

    /// How its port is addressed. On Ethernet there is no local identifier.
    pub(crate) fn identity(&self) -> Identity {
        let lid = if self.ethernet { 0 } else { self.model.lid() };
        Identity {
            lid,
            gid: self.model.gid(),
            ethernet: self.ethernet,
            up: UP[self.index].load(Ordering::Relaxed),
        }
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The globally unique identifier of NIC `index`, below Mellanox's prefix.
pub(crate) fn guid(index: usize) -> u64 {
    0xb8ce_f603_0000_0000 + index as u64
}

/// How many there are.
pub(crate) fn count() -> usize {
    let asked = variable("OXSHMEM_NIC_DEVICES").and_then(|count| count.parse().ok());
    asked.unwrap_or(1).clamp(1, MAXIMUM)
}

/// Whether a test wants devices without something: `devx` or `atomics`.
pub(crate) fn lacks(what: &str) -> bool {
    variable("OXSHMEM_NIC_WITHOUT").is_some_and(|value| value == what)
}

/// NIC `index`, which was started.
pub(crate) fn nic(index: usize) -> &'static Nic {
    NICS[index].get().expect("a device is open only after its NIC was started")
}

/// Starts NIC `index` if it does not run yet.
pub(crate) fn start(index: usize) -> Result<(), String> {
    let mut fabric = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    if NICS[index].get().is_some() {
        return Ok(());
    }
    let fabric = match &*fabric {
        Some(fabric) => Arc::clone(fabric),
        None => {
            let made = match variable("OXSHMEM_NIC_FABRIC") {
                Some(path) => Fabric::file(Path::new(&path), FABRIC),
                None => Fabric::local(FABRIC),
            };
            Arc::clone(fabric.insert(made.map_err(|refused| refused.to_string())?))
        }
    };
    let mut config = NicConfig::default();
    if let Some(seed) = variable("OXSHMEM_NIC_SEED") {
        let seed = seed.parse().map_err(|_| format!("OXSHMEM_NIC_SEED={seed:?} is no number"))?;
        config.adversary = Some(Adversary { seed });
    }
    config.poison = variable("OXSHMEM_NIC_POISON").is_none_or(|value| value != "off");
    let ethernet = variable("OXSHMEM_NIC_LINK").is_some_and(|value| value == "ethernet");
    let model = Model::new(config.clone(), &fabric).map_err(|refused| refused.to_string())?;
    let thread = NicThread::start(vec![Arc::clone(&model)]).map_err(|error| error.to_string())?;
    let events = thread::Builder::new().name("oxshmem-nic-events".into());
    let watched = Arc::clone(&model);
    events.spawn(move || hand_on(index, &watched)).map_err(|error| error.to_string())?;
    // The lock is held, so nobody else has made it.
    let _ = NICS[index].set(Nic { model, config, index, ethernet, _thread: thread });
    Ok(())
}

/// Hands the NIC's events on to those who have the device open.
fn hand_on(index: usize, model: &Model) {
    loop {
        thread::sleep(EVENT_PERIOD);
        for event in model.events() {
            if let Event::PortUp | Event::PortDown = event {
                UP[index].store(event == Event::PortUp, Ordering::Relaxed);
            }
            for file in table::of_nic(index) {
                event::hand_on(&file, event);
            }
        }
    }
}

/// Takes the link of NIC `index` away, or gives it back; false if the NIC does not run.
pub(crate) fn link(index: usize, up: bool) -> bool {
    let nic = NICS.get(index).and_then(OnceLock::get);
    nic.is_some_and(|nic| nic.model.inject(Fault::Port { up }).is_ok())
}

/// How the NICs' rules were broken, a line each.
pub(crate) fn violations() -> String {
    let all = NICS.iter().filter_map(OnceLock::get).flat_map(|nic| nic.model.violations());
    all.fold(String::new(), |text, violation| text + &violation.to_string() + "\n")
}
