//! Words that the threads of one device share about an RDMA NIC, at gpu scope, and the NIC's registers.

use core::arch::asm;

macro_rules! read_modify_write {
    ($($(#[$doc:meta])* $name:ident($($operand:ident),*) $inst:literal;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// `address` is that of a word of 8 bytes, aligned and mapped for this device.
            #[inline(always)]
            pub(crate) unsafe fn $name(address: u64, $($operand: u64),*) -> u64 {
                let old: u64;
                // SAFETY: the caller vouches for the address.
                unsafe { asm!($inst, out(reg64) old, in(reg64) address, $(in(reg64) $operand,)* options(nostack)) };
                old
            }
        )*
    };
}
read_modify_write! {
    /// `ld.relaxed.gpu`.
    load_relaxed_gpu() "ld.relaxed.gpu.global.b64 {}, [{}];";
    /// `ld.acquire.gpu`.
    load_acquire_gpu() "ld.acquire.gpu.global.b64 {}, [{}];";
    /// `atom.relaxed.gpu.add`.
    fetch_add_relaxed_gpu(value) "atom.relaxed.gpu.global.add.u64 {}, [{}], {};";
    /// `atom.release.gpu.add`.
    fetch_add_release_gpu(value) "atom.release.gpu.global.add.u64 {}, [{}], {};";
    /// `atom.acquire.gpu.cas`.
    compare_swap_acquire_gpu(expected, new) "atom.acquire.gpu.global.cas.b64 {}, [{}], {}, {};";
    /// `atom.acq_rel.gpu.cas`.
    compare_swap_acq_rel_gpu(expected, new) "atom.acq_rel.gpu.global.cas.b64 {}, [{}], {}, {};";
}

macro_rules! write {
    ($($(#[$doc:meta])* $name:ident $inst:literal;)*) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// `address` is that of a word of 8 bytes, aligned and mapped for this device.
            #[inline(always)]
            pub(crate) unsafe fn $name(address: u64, value: u64) {
                // SAFETY: the caller vouches for the address.
                unsafe { asm!($inst, in(reg64) address, in(reg64) value, options(nostack)) };
            }
        )*
    };
}
write! {
    /// `st.relaxed.gpu`.
    store_relaxed_gpu "st.relaxed.gpu.global.b64 [{}], {};";
    /// `red.relaxed.gpu.or`.
    or_relaxed_gpu "red.relaxed.gpu.global.or.b64 [{}], {};";
    /// `red.release.gpu.and`.
    and_release_gpu "red.release.gpu.global.and.b64 [{}], {};";
    /// `st.mmio`: a register of a device on the bus. It is carried out once, as wide as it is (PTX ISA 8.2).
    store_mmio "st.mmio.relaxed.sys.global.b64 [{}], {};";
}
