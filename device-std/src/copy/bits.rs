//! Elements of at most 8 bytes as words.

use bytemuck::Pod;

/// `value`, of at most 8 bytes, in the lower bytes of a word. Of more it is 0: no packet carries them, and code that
/// never runs is compiled for them.
#[inline(always)]
pub(crate) fn bits<T: Pod>(value: T) -> u64 {
    let mut bits = 0u64;
    if size_of::<T>() <= 8 {
        // SAFETY: no type of at most 8 bytes needs more than 8 bytes' alignment; `T: Pod` has no padding.
        unsafe { (&raw mut bits).cast::<T>().write(value) };
    }
    bits
}

/// What [`bits`] was made of.
#[inline(always)]
pub(crate) fn value<T: Pod>(bits: u64) -> T {
    if size_of::<T>() <= 8 {
        // SAFETY: as in `bits`; any bytes are a `T: Pod`.
        unsafe { (&raw const bits).cast::<T>().read() }
    } else {
        T::zeroed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_comes_out_of_its_bits() {
        assert_eq!(value::<f32>(bits(-1.5f32)), -1.5);
        assert_eq!(value::<[u8; 3]>(bits([1u8, 2, 3])), [1, 2, 3]);
        assert_eq!(value::<[f32; 2]>(bits([0.5f32, -0.0])), [0.5, -0.0]);
        assert_eq!(bits([1u8, 2, 3]), 0x03_0201);
        assert_eq!(value::<u64>(bits(u64::MAX)), u64::MAX);
    }
}
