//! PTX as it is embedded: a line that stays readable, `oxshmem PTX <arch> <bytes of the text>`, and behind it the text as a
//! zlib stream. `oxshmem_device::launch::Image::text` is the other direction; a program's architectures can be read off its
//! file by the line alone.

use crate::arch::Arch;

/// What every packed text begins with.
pub const START: &str = "oxshmem PTX ";

/// PTX shrinks to a fifth or less. The next levels gain one part in twenty and take twice as long, which counts in build
/// scripts: they are not optimised.
const LEVEL: u8 = 4;

/// Packs the PTX of an architecture.
pub(crate) fn pack(arch: &Arch, ptx: &str) -> Vec<u8> {
    let mut packed = format!("{START}{arch} {}\n", ptx.len()).into_bytes();
    packed.extend(miniz_oxide::deflate::compress_to_vec_zlib(ptx.as_bytes(), LEVEL));
    packed
}

/// The architectures of the packed texts in a file, each once and in their order by name.
pub fn archs_in(bytes: &[u8]) -> Vec<String> {
    let mut archs = Vec::new();
    let starts = bytes.windows(START.len()).enumerate().filter(|(_, window)| *window == START.as_bytes());
    for (at, _) in starts {
        let line = bytes[at + START.len()..].iter().take(64).take_while(|&&byte| byte != b'\n');
        let line: String = line.map(|&byte| char::from(byte)).collect();
        // The words alone are in the programs that read and write them.
        let Some((arch, length)) = line.split_once(' ') else { continue };
        let arch = Arch::parse(arch).ok().filter(|_| length.parse::<u64>().is_ok());
        archs.extend(arch.map(|arch| arch.name().to_owned()));
    }
    archs.sort();
    archs.dedup();
    archs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arch(name: &str) -> Arch {
        Arch::parse(name).expect(name)
    }

    #[test]
    fn packed_text_is_small_and_comes_back() {
        let text = "\tld.global.v2.b64 \t{%rd1, %rd2}, [%rd3];\n".repeat(1000);
        let packed = pack(&arch("sm_90a"), &text);
        assert!(packed.len() < text.len() / 10, "{} of {}", packed.len(), text.len());
        let line = format!("oxshmem PTX sm_90a {}\n", text.len());
        let stream = packed.strip_prefix(line.as_bytes()).expect("the line");
        let back = miniz_oxide::inflate::decompress_to_vec_zlib(stream).expect("a zlib stream");
        assert_eq!(back, text.as_bytes());
    }

    #[test]
    fn architectures_are_read_off_what_is_packed_in_a_file() {
        let texts = ["sm_90a", "sm_80", "sm_80"].map(|name| pack(&arch(name), "text"));
        let program = [b"\x00//\n", texts.concat().as_slice(), b"oxshmem PTX \x00oxshmem PTX sm_75"].concat();
        assert_eq!(archs_in(&program), ["sm_80", "sm_90a"]);
        for none in ["none", "oxshmem PTX sm_90", "oxshmem PTX sm_90 many\n", "oxshmem PTX sm_90s 1\n"] {
            assert!(archs_in(none.as_bytes()).is_empty(), "{none}");
        }
    }
}
