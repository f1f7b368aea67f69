//! Loads and stores. State spaces are always named: a generic access to memory known to be global costs an
//! address-space test in the load-store unit.

use crate::arch::{V16, Word};
use core::arch::asm;

macro_rules! word {
    ($ty:ty, $reg:ident, $weak:literal, $strong:literal, $mark:literal) => {
        impl Word for $ty {
            #[inline(always)]
            unsafe fn load_global(address: u64) -> Self {
                let value: $ty;
                // SAFETY: the caller vouches for the address; the asm only reads it.
                unsafe { asm!(concat!("ld.global.", $weak, " {}, [{}];", $mark), out($reg) value, in(reg64) address, options(nostack)) };
                value
            }
            #[inline(always)]
            unsafe fn store_global(address: u64, value: Self) {
                // SAFETY: the caller vouches for the address.
                unsafe { asm!(concat!("st.global.", $weak, " [{}], {};", $mark), in(reg64) address, in($reg) value, options(nostack)) };
            }
            #[inline(always)]
            unsafe fn store_relaxed(address: u64, value: Self) {
                // SAFETY: the caller vouches for the address.
                unsafe { asm!(concat!("st.relaxed.sys.global.", $strong, " [{}], {};", $mark), in(reg64) address, in($reg) value, options(nostack)) };
            }
            #[inline(always)]
            unsafe fn load_relaxed(address: u64) -> Self {
                let value: $ty;
                // SAFETY: the caller vouches for the address.
                unsafe { asm!(concat!("ld.relaxed.sys.global.", $strong, " {}, [{}];", $mark), out($reg) value, in(reg64) address, options(nostack)) };
                value
            }
            #[inline(always)]
            unsafe fn load_acquire(address: u64) -> Self {
                let value: $ty;
                // SAFETY: the caller vouches for the address.
                unsafe { asm!(concat!("ld.acquire.sys.global.", $strong, " {}, [{}];", $mark), out($reg) value, in(reg64) address, options(nostack)) };
                value
            }
            #[inline(always)]
            unsafe fn store_release(address: u64, value: Self) {
                // SAFETY: the caller vouches for the address.
                unsafe { asm!(concat!("st.release.sys.global.", $strong, " [{}], {};", $mark), in(reg64) address, in($reg) value, options(nostack)) };
            }
            #[inline(always)]
            unsafe fn load_volatile(address: u64) -> Self {
                let value: $ty;
                // SAFETY: the caller vouches for the address.
                unsafe { asm!(concat!("ld.volatile.global.", $strong, " {}, [{}];", $mark), out($reg) value, in(reg64) address, options(nostack)) };
                value
            }
            #[inline(always)]
            unsafe fn store_volatile(address: u64, value: Self) {
                // SAFETY: the caller vouches for the address.
                unsafe { asm!(concat!("st.volatile.global.", $strong, " [{}], {};", $mark), in(reg64) address, in($reg) value, options(nostack)) };
            }
            #[inline(always)]
            unsafe fn load_shared(address: u64) -> Self {
                let value: $ty;
                // SAFETY: the caller vouches for the address; shared addresses are 32 bits wide.
                unsafe { asm!(concat!("ld.shared.", $weak, " {}, [{}];", $mark), out($reg) value, in(reg32) address as u32, options(nostack)) };
                value
            }
            #[inline(always)]
            unsafe fn store_shared(address: u64, value: Self) {
                // SAFETY: as above.
                unsafe { asm!(concat!("st.shared.", $weak, " [{}], {};", $mark), in(reg32) address as u32, in($reg) value, options(nostack)) };
            }
            #[inline(always)]
            unsafe fn load_generic(address: u64) -> Self {
                let value: $ty;
                // SAFETY: the caller vouches for the address.
                unsafe { asm!(concat!("ld.", $weak, " {}, [{}];", $mark), out($reg) value, in(reg64) address, options(nostack)) };
                value
            }
            #[inline(always)]
            unsafe fn store_generic(address: u64, value: Self) {
                // SAFETY: the caller vouches for the address.
                unsafe { asm!(concat!("st.", $weak, " [{}], {};", $mark), in(reg64) address, in($reg) value, options(nostack)) };
            }
        }
    };
}

word!(u16, reg16, "b16", "b16", "");
word!(u32, reg32, "b32", "b32", "");
word!(u64, reg64, "b64", "b64", "");

// PTX has no 8-bit registers: an 8-bit access goes through a 16-bit one.
macro_rules! byte {
    ($($load:ident $store:ident $ld:literal $st:literal $reg:ident $ty:ty;)*) => {
        impl Word for u8 {
            $(
                #[inline(always)]
                unsafe fn $load(address: u64) -> Self {
                    let value: u16;
                    // SAFETY: the caller vouches for the address.
                    unsafe { asm!(concat!("ld", $ld, ".b8 {}, [{}]; // @byte"), out(reg16) value, in($reg) address as $ty, options(nostack)) };
                    value as u8
                }
                #[inline(always)]
                unsafe fn $store(address: u64, value: Self) {
                    // SAFETY: the caller vouches for the address.
                    unsafe { asm!(concat!("st", $st, ".b8 [{}], {}; // @byte"), in($reg) address as $ty, in(reg16) u16::from(value), options(nostack)) };
                }
            )*
        }
    };
}
byte! {
    load_global store_global ".global" ".global" reg64 u64;
    load_relaxed store_relaxed ".relaxed.sys.global" ".relaxed.sys.global" reg64 u64;
    load_acquire store_release ".acquire.sys.global" ".release.sys.global" reg64 u64;
    load_volatile store_volatile ".volatile.global" ".volatile.global" reg64 u64;
    load_shared store_shared ".shared" ".shared" reg32 u32;
    load_generic store_generic "" "" reg64 u64;
}

macro_rules! vector {
    (
        $($load:ident $store:ident $inst:literal $reg:ident $ty:ty;)*
        => $($whole_load:ident $whole_store:ident $ld:literal $st:literal;)*
    ) => {
        impl Word for V16 {
            $(
                #[inline(always)]
                unsafe fn $load(address: u64) -> Self {
                    let (a, b): (u64, u64);
                    // SAFETY: the caller vouches for the address.
                    unsafe { asm!(concat!("ld", $inst, ".v2.b64 {{{}, {}}}, [{}];"), out(reg64) a, out(reg64) b, in($reg) address as $ty, options(nostack)) };
                    V16(a, b)
                }
                #[inline(always)]
                unsafe fn $store(address: u64, value: Self) {
                    // SAFETY: the caller vouches for the address.
                    unsafe { asm!(concat!("st", $inst, ".v2.b64 [{}], {{{}, {}}};"), in($reg) address as $ty, in(reg64) value.0, in(reg64) value.1, options(nostack)) };
                }
            )*
            // One scalar access of 128 bits: both halves are seen together (PTX ISA 8.2.4; a vector is not one).
            $(
                #[inline(always)]
                unsafe fn $whole_store(address: u64, value: Self) {
                    // SAFETY: the caller vouches for the address.
                    unsafe {
                        asm!(concat!("{{ .reg .b128 v; mov.b128 v, {{{}, {}}}; st", $st, ".b128 [{}], v; }}"),
                            in(reg64) value.0, in(reg64) value.1, in(reg64) address, options(nostack));
                    }
                }
                #[inline(always)]
                unsafe fn $whole_load(address: u64) -> Self {
                    let (a, b): (u64, u64);
                    // SAFETY: the caller vouches for the address.
                    unsafe {
                        asm!(concat!("{{ .reg .b128 v; ld", $ld, ".b128 v, [{}]; mov.b128 {{{}, {}}}, v; }}"),
                            in(reg64) address, out(reg64) a, out(reg64) b, options(nostack));
                    }
                    V16(a, b)
                }
            )*
        }
    };
}
vector! {
    load_global store_global ".global" reg64 u64;
    load_shared store_shared ".shared" reg32 u32;
    load_generic store_generic "" reg64 u64;
    =>
    load_relaxed store_relaxed ".relaxed.sys.global" ".relaxed.sys.global";
    load_acquire store_release ".acquire.sys.global" ".release.sys.global";
    load_volatile store_volatile ".volatile.global" ".volatile.global";
}
