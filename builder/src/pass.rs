//! The text pass: what rustc cannot say is written into the PTX, as the markers ask.
//!
//! Launch bounds and cluster shapes go between an entry's parameters and its body; a by-value parameter may be raised to
//! 64-byte alignment (a tensor map needs it; rustc stops at 16); a kernel that needs a newer architecture than the
//! image's is taken out of it, with the functions that only it used. Every marker must find its entry. An array in shared
//! memory, which rustc cannot declare, is declared where code names it (`// @shared <symbol> <bytes> <alignment>`).

use std::collections::BTreeMap;

use crate::arch::Arch;
use crate::error::Error;
use crate::marker::Marker;
use crate::ptx::{self, Module};

/// Applies the markers in `ptx` and returns the new text with the markers of the kernels that stand in it.
///
/// # Errors
/// [`Error::Marker`] if a marker is bad, names no entry, or asks to align a parameter that does not exist; if an array in
/// shared memory has two sizes.
pub fn apply(ptx: &str, arch: &Arch) -> Result<(String, Vec<Marker>), Error> {
    let markers = Marker::parse_all(ptx)?;
    let text = leave_out(ptx, &markers, arch);
    let module = Module::parse(&text);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut kept = Vec::new();
    // From the last entry to the first, so that insertions do not move what is still to be edited.
    for entry in module.entries().collect::<Vec<_>>().into_iter().rev() {
        let Some(marker) = markers.iter().find(|m| m.kernel == entry.name) else { continue };
        let Some(body) = &entry.body else { continue };
        for index in &marker.param64 {
            let name = format!("{}_param_{index}", entry.name);
            let parameter = lines[entry.header.start..body.start]
                .iter_mut()
                .find(|line| ptx::names(line).any(|word| word == name))
                .filter(|line| line.contains(".b8"));
            let Some(parameter) = parameter else {
                let why = format!("`param64={index}`: the entry has no by-value parameter {index}");
                return Err(Error::Marker { kernel: entry.name.clone(), why });
            };
            *parameter = raise_alignment(parameter);
        }
        let open = body.start - 1;
        let directives = directives(marker);
        if !directives.is_empty() {
            // LLVM prints the brace on a line of its own; a brace behind the parenthesis is split off.
            if let Some(before) = lines[open].trim_end().strip_suffix('{').map(str::to_owned)
                && !before.trim().is_empty()
            {
                lines[open] = before;
                lines.insert(open + 1, "{".to_owned());
                lines.splice(open + 1..open + 1, directives);
            } else {
                lines.splice(open..open, directives);
            }
        }
        kept.push(marker.clone());
    }
    kept.reverse();
    if let Some(lost) = markers.iter().find(|m| m.fits(arch) && !kept.iter().any(|k| k.kernel == m.kernel)) {
        let why =
            format!("the PTX for {arch} has no entry of that name; was its function left out by a cfg?");
        return Err(Error::Marker { kernel: lost.kernel.clone(), why });
    }
    declare_shared(&mut lines)?;
    // A fifth of the text, of no use to anybody.
    lines.retain(|line| !matches!(line.trim(), "// begin inline asm" | "// end inline asm"));
    let mut text = lines.join("\n");
    text.push('\n');
    Ok((text, kept))
}

/// What marks code that names an array in shared memory.
const SHARED: &str = "// @shared ";

/// Declares the arrays in shared memory that the text names. The compiler may have copied the code, so that a symbol is
/// named several times; it is one array.
fn declare_shared(lines: &mut Vec<String>) -> Result<(), Error> {
    let mut arrays: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for line in lines.iter() {
        let Some((_, said)) = line.split_once(SHARED) else { continue };
        let words: Vec<&str> = said.split_whitespace().collect();
        let wrong = |why: &str| Error::Marker { kernel: said.trim().to_owned(), why: why.to_owned() };
        let &[symbol, bytes, align] = words.as_slice() else {
            return Err(wrong("an array in shared memory has a symbol, a size and an alignment"));
        };
        let number = |word: &str| word.parse().map_err(|_| wrong("size and alignment are numbers"));
        let (bytes, align) = (number(bytes)?, number(align)?);
        if *arrays.entry(symbol).or_insert((bytes, align)) != (bytes, align) {
            return Err(wrong(
                "it has another size elsewhere: `shared_array!` in a generic function cannot depend on its parameters",
            ));
        }
    }
    let declarations: Vec<String> = arrays
        .iter()
        .map(|(symbol, (bytes, align))| format!(".shared .align {align} .b8 {symbol}[{bytes}];"))
        .collect();
    // Behind the module's own directives (PTX ISA, PTX module directives), the last of which LLVM always writes.
    let at = lines.iter().position(|line| line.starts_with(".address_size")).map_or(0, |at| at + 1);
    lines.splice(at..at, declarations);
    Ok(())
}

fn directives(marker: &Marker) -> Vec<String> {
    let join = |sizes: &[u32]| sizes.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let mut all = Vec::new();
    if let Some(sizes) = &marker.maxntid {
        all.push(format!(".maxntid {}", join(sizes)));
    }
    if let Some(sizes) = &marker.reqntid {
        all.push(format!(".reqntid {}", join(sizes)));
    }
    if let Some(count) = marker.minnctapersm {
        all.push(format!(".minnctapersm {count}"));
    }
    if let Some(sizes) = &marker.cluster {
        all.push(".explicitcluster".to_owned());
        all.push(format!(".reqnctapercluster {}", join(sizes)));
    }
    all
}

fn raise_alignment(parameter: &str) -> String {
    let mut out = Vec::new();
    let mut words = parameter.split(' ');
    while let Some(word) = words.next() {
        out.push(word.to_owned());
        if word.trim() == ".align" && words.next().is_some() {
            out.push("64".to_owned());
        }
    }
    out.join(" ")
}

/// The text without the kernels that the image cannot hold, their markers, and the functions that only they used.
fn leave_out(text: &str, markers: &[Marker], arch: &Arch) -> String {
    let unfit: Vec<&str> = markers.iter().filter(|m| !m.fits(arch)).map(|m| m.kernel.as_str()).collect();
    if unfit.is_empty() {
        return text.to_owned();
    }
    let mut text = remove(text, |function| function.entry && unfit.contains(&function.name.as_str()));
    loop {
        let module = Module::parse(&text);
        let used = |name: &str| {
            let own = module.functions.iter().filter(|f| f.name == name).map(|f| {
                let end = f.body.as_ref().map_or(f.header.end, |body| body.end + 1);
                f.header.start..end
            });
            let own: Vec<_> = own.collect();
            text.lines().enumerate().any(|(at, line)| {
                !own.iter().any(|range| range.contains(&at))
                    && ptx::names(ptx::code_of(line)).any(|word| word == name)
            })
        };
        let idle: Vec<String> =
            module.functions.iter().filter(|f| !f.entry && !used(&f.name)).map(|f| f.name.clone()).collect();
        if idle.is_empty() {
            return text;
        }
        text = remove(&text, |function| !function.entry && idle.contains(&function.name));
    }
}

fn remove(text: &str, doomed: impl Fn(&ptx::Function) -> bool) -> String {
    let module = Module::parse(text);
    let ranges: Vec<_> = module
        .functions
        .iter()
        .filter(|f| doomed(f))
        .map(|f| f.header.start..f.body.as_ref().map_or(f.header.end, |body| body.end + 1))
        .collect();
    let kept = text.lines().enumerate().filter(|(at, _)| !ranges.iter().any(|range| range.contains(at)));
    let mut out = String::with_capacity(text.len());
    for (_, line) in kept {
        out.push_str(line);
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sm(name: &str) -> Arch {
        Arch::parse(name).expect(name)
    }

    const TWO: &str = "// @oxshmem kernel=a maxntid=256 minnctapersm=2\n// @oxshmem kernel=b arch=sm_90a\n\
        .func only_b(\n)\n{\n\twgmma.fence;\n\tret;\n}\n\
        .visible .entry a(\n\t.param .align 16 .b8 a_param_0[128],\n\t.param .u32 a_param_1\n)\n{\n\tret;\n}\n\
        .visible .entry b()\n{\n\tcall.uni only_b, ();\n\tret;\n}\n";

    #[test]
    fn launch_bounds_stand_between_parameters_and_body() {
        let (text, markers) = apply(TWO, &sm("sm_80")).expect("the pass");
        assert!(text.contains(")\n.maxntid 256\n.minnctapersm 2\n{\n\tret;"), "{text}");
        assert_eq!(markers.len(), 1);
    }

    #[test]
    fn a_kernel_for_a_newer_chip_is_left_out_with_its_functions() {
        let (text, _) = apply(TWO, &sm("sm_90")).expect("the pass");
        assert!(!text.contains("wgmma") && !text.contains(".entry b"), "{text}");
        let (text, markers) = apply(TWO, &sm("sm_90a")).expect("the pass");
        assert!(text.contains("wgmma") && text.contains(".entry b"), "{text}");
        assert_eq!(markers.len(), 2);
    }

    #[test]
    fn a_cluster_shape_is_written() {
        let ptx = "// @oxshmem kernel=c reqntid=8,8 cluster=2,1,1\n.visible .entry c() {\n\tret;\n}\n";
        let (text, _) = apply(ptx, &sm("sm_90")).expect("the pass");
        let want = ".visible .entry c() \n.reqntid 8, 8\n.explicitcluster\n.reqnctapercluster 2, 1, 1\n{\n";
        assert!(text.contains(want), "{text}");
    }

    #[test]
    fn a_parameter_is_raised_to_64_bytes() {
        let ptx = TWO.replace("minnctapersm=2", "param64=0");
        let (text, _) = apply(&ptx, &sm("sm_80")).expect("the pass");
        assert!(text.contains("\t.param .align 64 .b8 a_param_0[128],"), "{text}");
        for wrong in ["param64=1", "param64=7"] {
            let ptx = TWO.replace("minnctapersm=2", wrong);
            assert!(matches!(apply(&ptx, &sm("sm_80")), Err(Error::Marker { .. })), "{wrong}");
        }
    }

    #[test]
    fn a_marker_without_its_entry_is_an_error() {
        let ptx = "// @oxshmem kernel=gone maxntid=1\n";
        assert!(matches!(apply(ptx, &sm("sm_80")), Err(Error::Marker { .. })));
        let ptx = "// @oxshmem kernel=gone arch=sm_90\n";
        assert!(apply(ptx, &sm("sm_80")).is_ok());
    }

    #[test]
    fn an_array_in_shared_memory_is_declared_once() {
        let place = "\t{ .reg .b64 t; mov.b64 t, k__shared_0; } // @shared k__shared_0 1024 16\n";
        let ptx = |inside: &str| {
            format!(".version 8.4\n.address_size 64\n.visible .entry a()\n{{\n{inside}\tret;\n}}\n")
        };
        let (text, _) = apply(&ptx(&place.repeat(2)), &sm("sm_80")).expect("the pass");
        let want = ".address_size 64\n.shared .align 16 .b8 k__shared_0[1024];\n.visible .entry a()";
        assert!(text.contains(want) && text.matches(".shared").count() == 1, "{text}");
        for wrong in
            [place.replace("1024", "512"), place.replace("1024 16", "1024"), place.replace("1024", "many")]
        {
            let both = apply(&ptx(&format!("{place}{wrong}")), &sm("sm_80"));
            assert!(matches!(both, Err(Error::Marker { .. })), "{wrong}");
        }
    }

    #[test]
    fn text_without_markers_is_unchanged() {
        let ptx = ".version 8.4\n.visible .entry a()\n{\n\tret;\n}\n";
        assert_eq!(apply(ptx, &sm("sm_80")).expect("the pass").0, ptx);
    }
}
