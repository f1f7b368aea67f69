//! What a NIC must be able to do so that GPUs can post to it, and a sentence for each thing that it cannot.

use super::context::Context;
use super::devx::encoded;
use super::error::{Result, VerbsError};
use super::mailbox::{AtomicCapabilities, GeneralCapabilities, query_hca_cap};

/// The smallest queue that a PE may be given, in 64-byte blocks, as a power of two.
const LOG_SMALLEST_QUEUE: u32 = 7;
/// The longest message that oxshmem posts, as a power of two.
const LOG_MESSAGE: u32 = 30;
/// 4 and 8 bytes.
const ATOMIC_SIZES: u32 = 4 | 8;

/// What a NIC can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// In general.
    pub general: GeneralCapabilities,
    /// Atomics.
    pub atomic: AtomicCapabilities,
}

impl Context {
    /// What the NIC can do, as its firmware says.
    ///
    /// # Errors
    /// [`Firmware`](VerbsError::Firmware).
    pub fn capabilities(&self) -> Result<Capabilities> {
        const COMMAND: &str = "QUERY_HCA_CAP";
        let mut answer = vec![0; query_hca_cap::ANSWER];
        self.command(COMMAND, &encoded(COMMAND, GeneralCapabilities::ask())?, &mut answer)?;
        let general = GeneralCapabilities::read(&answer);
        answer.fill(0);
        self.command(COMMAND, &encoded(COMMAND, AtomicCapabilities::ask())?, &mut answer)?;
        Ok(Capabilities { general, atomic: AtomicCapabilities::read(&answer) })
    }

    /// The NIC's capabilities, which are enough.
    ///
    /// # Errors
    /// [`Missing`](VerbsError::Missing) with the first that is not there, and those of
    /// [`capabilities`](Self::capabilities).
    pub fn sufficient(&self) -> Result<Capabilities> {
        let capabilities = self.capabilities()?;
        match capabilities.missing().into_iter().next() {
            None => Ok(capabilities),
            Some(Lack { missing, remedy }) => {
                Err(VerbsError::Missing { device: self.name().into(), missing, remedy })
            }
        }
    }
}

/// Something that a NIC cannot do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// What.
    pub missing: String,
    /// What to change.
    pub remedy: &'static str,
}

const NEWER_NIC: &str = "use a ConnectX-5 or newer";
const PCI_ATOMICS: &str = "set the firmware option PCI_ATOMIC_MODE to PCI_ATOMIC_DISABLED_EXT_ATOMIC_ENABLED (mlxconfig), then restart the machine";

impl Capabilities {
    /// All that is missing.
    pub fn missing(&self) -> Vec<Lack> {
        let Capabilities { general, atomic } = self;
        let mut all = Vec::new();
        let mut need = |there: bool, missing: String, remedy| {
            if !there {
                all.push(Lack { missing, remedy });
            }
        };
        need(
            general.cqe_version == 1,
            format!("its completion entries have version {}, not 1", general.cqe_version),
            NEWER_NIC,
        );
        need(general.atomic, "it has no atomics".into(), PCI_ATOMICS);
        need(
            general.log_message >= LOG_MESSAGE,
            format!("its longest message has 2^{} bytes, not 2^{LOG_MESSAGE}", general.log_message),
            NEWER_NIC,
        );
        need(
            general.log_qp_size >= LOG_SMALLEST_QUEUE,
            format!("its deepest queue has 2^{} blocks, not 2^{LOG_SMALLEST_QUEUE}", general.log_qp_size),
            NEWER_NIC,
        );
        if general.atomic {
            let lacking = AtomicCapabilities::ALL_OPERATIONS & !atomic.operations;
            let names =
                ["compare-and-swap", "fetch-and-add", "masked compare-and-swap", "masked fetch-and-add"];
            let names: Vec<&str> = names
                .iter()
                .enumerate()
                .filter(|(bit, _)| lacking >> bit & 1 == 1)
                .map(|(_, n)| *n)
                .collect();
            need(lacking == 0, format!("it has no {}", names.join(", ")), PCI_ATOMICS);
            need(
                atomic.sizes & ATOMIC_SIZES == ATOMIC_SIZES,
                format!("its atomics have sizes {:#x}, which lacks 4 or 8 bytes", atomic.sizes),
                PCI_ATOMICS,
            );
            need(
                atomic.host_order,
                "its 8-byte atomics are in big-endian order".into(),
                "update the kernel's mlx5 driver, which switches them to the host's order",
            );
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENOUGH: Capabilities = Capabilities {
        general: GeneralCapabilities {
            log_qp_size: 15,
            log_qps: 18,
            log_cq_size: 22,
            log_reads_out: 4,
            log_reads_in: 4,
            log_message: 30,
            cqe_version: 1,
            atomic: true,
            log_doorbell: 9,
        },
        atomic: AtomicCapabilities { host_order: true, operations: 0xf, sizes: 12 },
    };

    #[test]
    fn each_lack_has_its_sentence() {
        assert_eq!(ENOUGH.missing(), []);
        let general = |change: fn(&mut GeneralCapabilities)| {
            let mut made = ENOUGH;
            change(&mut made.general);
            made.missing()
        };
        let atomic = |change: fn(&mut AtomicCapabilities)| {
            let mut made = ENOUGH;
            change(&mut made.atomic);
            made.missing()
        };
        let cases = [
            (general(|g| g.cqe_version = 0), "version 0"),
            (general(|g| g.atomic = false), "no atomics"),
            (general(|g| g.log_message = 29), "2^29 bytes"),
            (general(|g| g.log_qp_size = 6), "2^6 blocks"),
            (atomic(|a| a.operations = 0b0111), "no masked fetch-and-add"),
            (atomic(|a| a.operations = 0b1010), "no compare-and-swap, masked compare-and-swap"),
            (atomic(|a| a.sizes = 8), "lacks 4 or 8"),
            (atomic(|a| a.host_order = false), "big-endian"),
        ];
        for (missing, sentence) in cases {
            assert_eq!(missing.len(), 1, "{missing:?}");
            assert!(missing[0].missing.contains(sentence), "{missing:?}");
        }
    }
}
