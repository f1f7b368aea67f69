//! Which public functions `device-std` has, by its sources, and which of them the test kernels call.
//!
//! A function counts as called if its name stands before parentheses in a kernel's source: `.put(…)`, `warp::all(…)`,
//! `.load::<T>(…)`. Functions of the same name in one file are one.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{env, fs};
use syn::{Attribute, ImplItem, Item, TraitItem, Visibility};

/// Files whose public functions are no device API: the layouts and traits that the host shares, the emulator's side, what
/// no other crate can name, the names of rust-cuda, which have kernels of their own, the schedules, which are arguments, and
/// what lies beneath the operations on the network.
const OTHER: &[&str] =
    &["abi.rs", "abi", "launch.rs", "arch", "cuda_std", "fault.rs", "collective/schedule", "net"];
/// Constructors by which the host makes handles.
const HOSTS: &[&str] = &["from_parts", "tagged"];

/// Writes `coverage.rs` into the build's folder: the number of public functions, and those that are not called.
pub(crate) fn write() {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo names the package's folder"));
    let (api, kernels) = (root.join("../device-std/src"), root.join("src/kernels"));
    let mut public = BTreeMap::new();
    for file in sources(&api) {
        let name = file.strip_prefix(&api).expect("a source of that folder").to_path_buf();
        if !OTHER.iter().any(|other| name.starts_with(other)) {
            let place = name.with_extension("").to_string_lossy().replace('/', "::");
            functions(&parse(&file).items, &place, &mut public);
        }
    }
    let mut called = BTreeSet::new();
    // Those of collective operations have a package of their own.
    let collective = root.join("collectives/src");
    let theirs = ["kernels.rs", "follow.rs", "sample.rs"].map(|name| collective.join(name));
    for file in sources(&kernels).into_iter().chain(theirs) {
        let text = fs::read_to_string(&file).expect("a kernel's source can be read");
        calls(text.parse().expect("a kernel's source is Rust"), &mut called);
    }
    let missing: Vec<&String> =
        public.iter().filter(|(_, name)| !called.contains(*name)).map(|(id, _)| id).collect();
    let text = format!("const PUBLIC: usize = {};\nconst MISSING: &[&str] = &{missing:?};\n", public.len());
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo names the build's folder"));
    fs::write(out.join("coverage.rs"), text).expect("the build's folder can be written");
    println!("cargo::rerun-if-changed={}", api.display());
    println!("cargo::rerun-if-changed={}", kernels.display());
    println!("cargo::rerun-if-changed={}", collective.display());
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder of sources").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn parse(file: &Path) -> syn::File {
    let text = fs::read_to_string(file).expect("a source can be read");
    syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Adds the public functions of these items; of a `macro_rules!` those that stand in its text.
fn functions(items: &[Item], place: &str, public: &mut BTreeMap<String, String>) {
    let mut add = |name: String| {
        if !HOSTS.contains(&name.as_str()) {
            public.insert(format!("{place}::{name}"), name);
        }
    };
    for item in items {
        match item {
            Item::Fn(function) if is_public(&function.vis) && !hidden(&function.attrs) => {
                add(function.sig.ident.to_string());
            }
            Item::Impl(block) if block.trait_.is_none() && !hidden(&block.attrs) => {
                for item in &block.items {
                    if let ImplItem::Fn(function) = item
                        && is_public(&function.vis)
                        && !hidden(&function.attrs)
                    {
                        add(function.sig.ident.to_string());
                    }
                }
            }
            Item::Trait(it) if is_public(&it.vis) && !hidden(&it.attrs) => {
                for item in &it.items {
                    if let TraitItem::Fn(function) = item
                        && !hidden(&function.attrs)
                    {
                        add(function.sig.ident.to_string());
                    }
                }
            }
            Item::Macro(it) if !hidden(&it.attrs) => in_macro(it.mac.tokens.clone(), &mut add),
            _ => {}
        }
    }
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Whether it is no part of the API: hidden from the docs, or for tests only.
fn hidden(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let text = match &attribute.meta {
            syn::Meta::List(list) => format!("{}({})", list.path.segments[0].ident, list.tokens),
            _ => String::new(),
        };
        text == "doc(hidden)" || text == "cfg(test)"
    })
}

/// `pub fn name` in a macro's text; a name that is a macro's variable is named where the macro is used.
fn in_macro(tokens: TokenStream, add: &mut impl FnMut(String)) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (i, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => in_macro(group.stream(), add),
            TokenTree::Ident(ident)
                if i > 1 && tokens[i - 1].to_string() == "fn" && tokens[i - 2].to_string() == "pub" =>
            {
                add(ident.to_string());
            }
            _ => {}
        }
    }
}

/// Adds every name that stands before parentheses, or before `::<…>` and parentheses.
fn calls(tokens: TokenStream, called: &mut BTreeSet<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (i, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => calls(group.stream(), called),
            TokenTree::Ident(ident) if is_called(&tokens[i + 1..]) => {
                called.insert(ident.to_string());
            }
            _ => {}
        }
    }
}

fn is_called(after: &[TokenTree]) -> bool {
    let mut depth = 0;
    for (i, token) in after.iter().enumerate() {
        match token {
            TokenTree::Group(group) if depth == 0 => return group.delimiter() == Delimiter::Parenthesis,
            TokenTree::Punct(punct) if depth == 0 && i < 2 && punct.as_char() == ':' => {}
            TokenTree::Punct(punct) if punct.as_char() == '<' && (i == 2 || depth > 0) => depth += 1,
            TokenTree::Punct(punct) if punct.as_char() == '>' && depth > 0 => depth -= 1,
            _ if depth > 0 => {}
            _ => return false,
        }
    }
    false
}
