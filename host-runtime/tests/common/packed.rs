//! Images for modules that are written by hand: text as the builder packs it, but not made smaller.

/// An image whose text is `$text`.
#[macro_export]
macro_rules! image {
    ($arch:literal, $version:expr, $text:literal) => {{
        const PACKED: &[u8] = &$crate::common::packed::pack::<
            { $crate::common::packed::packed_bytes($arch.as_bytes(), $text.as_bytes()) },
        >($arch.as_bytes(), $text.as_bytes());
        oxshmem_device::launch::Image { arch: $arch, ptx_version: $version, ptx: PACKED }
    }};
}

const START: &[u8] = b"oxshmem PTX ";
/// A zlib stream with the default window (RFC 1950), and the head of a last block that is stored (RFC 1951).
const STREAM: [u8; 3] = [0x78, 0x01, 0x01];

/// How much room [`pack`] needs.
pub const fn packed_bytes(arch: &[u8], text: &[u8]) -> usize {
    START.len() + arch.len() + 1 + 5 + 1 + STREAM.len() + 4 + text.len() + 4
}

/// Packs fewer than 64 KiB of text.
pub const fn pack<const N: usize>(arch: &[u8], text: &[u8]) -> [u8; N] {
    let length = text.len() as u16;
    let digits = [
        b'0' + (length / 10_000) as u8,
        b'0' + (length / 1000 % 10) as u8,
        b'0' + (length / 100 % 10) as u8,
        b'0' + (length / 10 % 10) as u8,
        b'0' + (length % 10) as u8,
    ];
    let (low, high) = (length.to_le_bytes(), (!length).to_le_bytes());
    let lengths = [low[0], low[1], high[0], high[1]];
    let sum = adler32(text).to_be_bytes();
    let parts: [&[u8]; 9] = [START, arch, b" ", &digits, b"\n", &STREAM, &lengths, text, &sum];
    let (mut packed, mut at, mut part) = ([0; N], 0, 0);
    while part < parts.len() {
        let mut i = 0;
        while i < parts[part].len() {
            packed[at] = parts[part][i];
            (at, i) = (at + 1, i + 1);
        }
        part += 1;
    }
    packed
}

/// RFC 1950, 8.2.
const fn adler32(text: &[u8]) -> u32 {
    let (mut a, mut b, mut i) = (1u32, 0u32, 0);
    while i < text.len() {
        a = (a + text[i] as u32) % 65521;
        b = (b + a) % 65521;
        i += 1;
    }
    b << 16 | a
}
