//! The NICs of this process, each with its thread, which are made when they are first opened.

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use oxshmem_emulator::nic::command::Created;
use oxshmem_emulator::nic::{Adversary, Event, Fabric, Nic as Model, NicConfig, NicThread};

use crate::object::Object;
use crate::table;

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
    ethernet: bool,
    _thread: NicThread,
}

/// How its port is addressed.
pub(crate) struct Identity {
    pub(crate) lid: u16,
    pub(crate) gid: [u8; 16],
    pub(crate) ethernet: bool,
}

static NICS: [OnceLock<Nic>; MAXIMUM] = [const { OnceLock::new() }; MAXIMUM];
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
        Identity { lid, gid: self.model.gid(), ethernet: self.ethernet }
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
    let _ = NICS[index].set(Nic { model, config, ethernet, _thread: thread });
    Ok(())
}

/// Hands the NIC's events on to those who have the device open, as `struct ib_uverbs_async_event_desc`.
fn hand_on(index: usize, model: &Model) {
    loop {
        thread::sleep(EVENT_PERIOD);
        for event in model.events() {
            let (number, kind) = match event {
                Event::CompletionQueueError { cqn } => (Some(Created::Cq(cqn)), 0),
                Event::QueuePairFatal { qpn } => (Some(Created::Qp(qpn)), 1),
                Event::QueuePairRequest { qpn } => (Some(Created::Qp(qpn)), 2),
                Event::QueuePairAccess { qpn } => (Some(Created::Qp(qpn)), 3),
                Event::PortUp => (None, 9),
                Event::PortDown => (None, 10),
                _ => continue,
            };
            for file in table::of_nic(index) {
                // Queues of DEVX have events of their own, which are not offered.
                let element = match number {
                    None => Some(1),
                    Some(wanted) => file.user_handle(|object| match object {
                        Object::Queue { created, user, .. } if *created == wanted => Some(*user),
                        _ => None,
                    }),
                };
                if let Some(element) = element {
                    let mut bytes = [0; 16];
                    bytes[..8].copy_from_slice(&element.to_ne_bytes());
                    bytes[8..12].copy_from_slice(&u32::to_ne_bytes(kind));
                    file.report(&bytes);
                }
            }
        }
    }
}

/// How the NICs' rules were broken, a line each.
pub(crate) fn violations() -> String {
    let all = NICS.iter().filter_map(OnceLock::get).flat_map(|nic| nic.model.violations());
    all.fold(String::new(), |text, violation| text + &violation.to_string() + "\n")
}
