//! Real builds of small crates by the device toolchain of this machine. Without one each test prints that it is skipped.
//!
//! All crates stand in one scratch workspace, so that they share a target folder and a sysroot.

mod device {
    pub(crate) mod crates;
}

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use device::crates;
use oxshmem_builder::lint::Rule;
use oxshmem_builder::{Builder, Built, CudaBuilder, Dependency, Error, Toolchain, ptxas};

/// The scratch workspace, or `None` (said once) without a device toolchain.
fn workspace() -> Option<&'static PathBuf> {
    static WORKSPACE: OnceLock<Option<PathBuf>> = OnceLock::new();
    WORKSPACE
        .get_or_init(|| match Toolchain::find() {
            Ok(_) => Some(crates::write_workspace(env!("CARGO_TARGET_TMPDIR"), env!("CARGO_MANIFEST_DIR"))),
            Err(error) => {
                eprintln!("skipped: {error}");
                None
            }
        })
        .as_ref()
}

fn builder(package: &str) -> Option<Builder> {
    let builder = Builder::for_package(workspace()?.join(package));
    Some(builder.ptxas(ptxas::find()))
}

fn compile(package: &str) -> Option<Built> {
    Some(builder(package)?.compile().unwrap_or_else(|error| panic!("{package}: {error}")))
}

fn findings(package: &str) -> Option<Vec<Rule>> {
    match builder(package)?.arch("sm_80").compile() {
        Err(Error::Lint { findings, .. }) => Some(findings.into_iter().map(|f| f.rule).collect()),
        other => panic!("{package}: the lint should refuse it, but: {other:?}"),
    }
}

#[test]
fn plain_rust_kernels_become_ptx_for_the_default_archs() {
    let Some(built) = compile("plain") else { return };
    let archs: Vec<_> = built.images.iter().map(|i| (i.arch.name(), i.arch.ptx_version())).collect();
    assert_eq!(archs, [("sm_80", (8, 4)), ("sm_90", (8, 6))]);
    for image in &built.images {
        let (major, minor) = image.arch.ptx_version();
        assert!(image.ptx.contains(&format!(".version {major}.{minor}\n.target {}\n", image.arch)));
        let symbols: Vec<_> = image.kernels.iter().map(|k| k.symbol.as_str()).collect();
        assert_eq!(symbols, ["plain__scale", "base__fill"], "the kernel of the dependency is there too");
        assert!(image.ptx.contains(")\n.maxntid 256\n.minnctapersm 2\n{"), "{}", image.ptx);
        assert!(!image.ptx.contains(".extern .func"), "{}", image.ptx);
        assert!(image.kernels.iter().all(|k| k.instructions > 3));
        if ptxas::find().is_some() {
            assert!(
                image.kernels.iter().all(|k| k.resources.is_some_and(|r| r.registers > 0 && r.stack == 0))
            );
        }
    }
    for source in ["base/src/lib.rs", "plain/src/lib.rs", "base/Cargo.toml", "plain/Cargo.toml"] {
        assert!(built.inputs.iter().any(|input| input.ends_with(source)), "{source} in {:?}", built.inputs);
    }
}

#[test]
fn a_context_by_value_stays_out_of_local_memory_and_units_vanish() {
    let Some(built) = compile("plain") else { return };
    let ptx = &built.images[0].ptx;
    assert!(ptx.contains(".param .align 8 .b8 plain__scale_param_0[80]"), "{ptx}");
    assert!(ptx.contains("plain__scale_param_2") && !ptx.contains("plain__scale_param_3"), "{ptx}");
    assert!(!ptx.contains(".local"), "{ptx}");
}

#[test]
fn the_traced_flavour_is_built_beside_the_plain_one_where_it_is_asked_for() {
    let Some(builder) = builder("optional") else { return };
    let plain = builder.clone().compile().expect("plain");
    let both = builder.trace().compile().expect("both");
    assert!(plain.traced.is_empty());
    assert_eq!(both.images.len(), both.traced.len());
    for ((plain, image), traced) in plain.images.iter().zip(&both.images).zip(&both.traced) {
        assert_eq!((&plain.arch, &plain.ptx), (&image.arch, &image.ptx));
        assert!(!image.ptx.contains(".entry traced") && traced.ptx.contains(".entry traced"));
        assert!(traced.arch == image.arch && traced.path != image.path);
    }
}

/// Barriers in the text of each kernel of `converge`.
fn barriers(ptx: &str) -> Vec<(&'static str, usize)> {
    let count = |kernel| {
        let text = ptx.split(&format!(".entry {kernel}(")).nth(1).expect(kernel);
        let text = text.split("// .globl").next().expect(kernel);
        (kernel, text.matches("barrier.sync").count() + text.matches("bar.sync").count())
    };
    ["around", "after", "aligned"].map(count).to_vec()
}

#[test]
fn a_barrier_stays_single_around_a_divergent_branch() {
    let Some(built) = compile("converge") else { return };
    for image in &built.images {
        assert_eq!(barriers(&image.ptx), [("around", 1), ("after", 1), ("aligned", 1)], "{}", image.ptx);
    }
}

#[test]
fn without_the_flag_the_barrier_is_copied() {
    // The broken twin of the test above: it shows that those kernels would catch a lost flag.
    let Some(builder) = builder("converge") else { return };
    let built =
        builder.arch("sm_80").rustc_flag("-Zmir-enable-passes=+JumpThreading").compile().expect("it builds");
    assert!(barriers(&built.images[0].ptx).iter().any(|(_, count)| *count > 1), "{}", built.images[0].ptx);
}

#[test]
fn a_kernel_that_asks_for_an_arch_is_in_that_image_alone() {
    let Some(built) = compile("hopper") else { return };
    let held: Vec<_> =
        built.images.iter().map(|i| (i.arch.name(), i.ptx.contains(".entry tensor("))).collect();
    assert_eq!(held, [("sm_80", false), ("sm_90", false), ("sm_90a", true)]);
    assert!(built.images.iter().all(|image| image.ptx.contains(".entry common(")));
}

#[test]
fn features_flags_and_lines_reach_the_device_build() {
    let Some(builder) = builder("optional") else { return };
    let off = builder.clone().arch("sm_80").compile().expect("without");
    assert!(!off.images[0].ptx.contains(".entry extra"));
    let copy = workspace().expect("checked").join("copy.ptx");
    let on = builder
        .arch("sm_80")
        .features(["extra"])
        .rustc_flag("--cfg=flavour")
        .debug(true)
        .copy_to(&copy)
        .compile()
        .expect("with");
    let ptx = &on.images[0].ptx;
    assert!(
        ptx.contains(".entry extra") && ptx.contains(".entry flavoured") && ptx.contains(".loc"),
        "{ptx}"
    );
    assert_eq!(std::fs::read_to_string(copy).expect("the copy"), *ptx);
}

#[test]
fn a_broken_kernel_fails_with_rustcs_own_words() {
    let Some(builder) = builder("broken") else { return };
    let error = builder.compile().expect_err("it does not compile");
    let text = error.to_string();
    assert!(matches!(error, Error::Compile { dependency: None, .. }), "{text}");
    assert!(text.contains("error[E0308]: mismatched types") && text.contains("broken/src/lib.rs:"), "{text}");
}

#[test]
fn a_read_modify_write_of_core_is_refused() {
    let Some(rules) = findings("atomic") else { return };
    assert_eq!(rules, [Rule::BareAtomic]);
}

#[test]
fn a_copy_of_run_time_length_is_refused() {
    let Some(rules) = findings("copying") else { return };
    assert_eq!(rules, [Rule::ByteLoop]);
}

#[test]
fn stale_loads_local_memory_and_undefined_functions_are_refused() {
    let Some(mut rules) = findings("careless") else { return };
    rules.sort_by_key(|rule| format!("{rule:?}"));
    assert_eq!(rules, [Rule::LocalMemory, Rule::NonCoherentLoad, Rule::Undefined]);
}

#[test]
fn local_memory_may_be_allowed_and_tables_may_be_read() {
    let Some(built) = compile("allowed") else { return };
    let ptx = &built.images[0].ptx;
    assert!(ptx.contains(".local") && ptx.contains("ld.global.nc"), "{ptx}");
}

#[test]
fn a_dependency_for_the_host_alone_is_named_with_the_remedy() {
    let Some(builder) = builder("misplaced") else { return };
    let error = builder.compile().expect_err("hostonly needs std");
    let text = error.to_string();
    let Error::Compile { dependency: Some(Dependency { name, .. }), .. } = error else { panic!("{text}") };
    assert_eq!(name, "hostonly");
    assert!(text.contains("[target.'cfg(not(target_arch = \"nvptx64\"))'.dependencies]"), "{text}");
    assert!(text.contains("misplaced v0.1.0"), "{text}");
}

/// Runs the host's cargo as a user would, in a package with a build script.
fn cargo_run(package: &str, variables: &[(&str, &str)]) -> Option<String> {
    let folder = workspace()?.join(package);
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(&folder).env("PWD", &folder).args(["run", "--offline"]);
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        let is_of_this_build = name.starts_with("CARGO") || name.starts_with("RUSTC") || name == "RUSTFLAGS";
        if is_of_this_build && name != "CARGO_HOME" {
            cargo.env_remove(&*name);
        }
    }
    cargo.env("OXSHMEM_PTX", "on").envs(variables.iter().copied());
    let output = cargo.output().expect("cargo starts");
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Some(format!("{said}\nstatus {:?}", output.status.code()))
}

#[test]
fn one_package_holds_kernels_and_host_program() {
    let Some(said) = cargo_run("single", &[]) else { return };
    assert!(said.contains("single: 2 images, 2 kernels, missing None"), "{said}");
    // The same package without PTX, then with a toolchain that is not there.
    let said = cargo_run("single", &[("OXSHMEM_PTX", "off")]).expect("as before");
    assert!(said.contains("single: 0 images, 0 kernels, missing Some(\"OXSHMEM_PTX=off\")"), "{said}");
    let said = cargo_run("single", &[("OXSHMEM_RUSTC", "/nonexistent/rustc")]).expect("as before");
    assert!(said.contains("OXSHMEM_RUSTC is /nonexistent/rustc, which cannot be used"), "{said}");
    let said = cargo_run("single", &[("OXSHMEM_PTX", "maybe")]).expect("as before");
    assert!(said.contains("OXSHMEM_PTX is `maybe`"), "{said}");
}

#[test]
fn a_build_script_of_rust_cudas_shape_writes_ptx() {
    let Some(said) = cargo_run("cuda", &[]) else { return };
    assert!(said.contains("sm_90 true, entry true, lines true"), "{said}");
    let said = cargo_run("cuda", &[("OXSHMEM_PTX", "off")]).expect("as before");
    assert!(said.contains("sm_90 false, entry false"), "{said}");
}

#[test]
fn a_cuda_builder_without_an_arch_writes_one_file() {
    let Some(workspace) = workspace() else { return };
    let copy = workspace.join("cuda.ptx");
    let built = CudaBuilder::new(workspace.join("plain")).copy_to(&copy).compile().expect("it builds");
    assert_eq!(built.images.len(), 1);
    assert!(std::fs::read_to_string(copy).expect("the copy").contains(".target sm_80"));
}

#[test]
fn a_package_from_a_registry_is_built_in_the_graph_of_its_user() {
    let Some(said) = cargo_run("user", &[]) else { return };
    assert!(said.contains("2 images, packaged true"), "{said}");
    // Built by itself it would have got a lock file of its own.
    let packaged = workspace().expect("checked").join("outside/registry/src/index/packaged-0.1.0");
    assert!(packaged.join("build.rs").is_file() && !packaged.join("Cargo.lock").exists());
}
