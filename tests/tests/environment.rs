//! `docs/src/environment.md` is the table of variables in the code. `OXSHMEM_WRITE_DOCS=1` writes it anew.

use oxshmem::env::VARIABLES;
use std::fmt::Write;
use std::path::Path;

#[test]
fn the_guide_lists_the_variables_of_the_code() {
    let mut page = String::from(
        "# Environment variables\n\nRead by the host runtime when a job starts. A value that means nothing is an \
         error that names the variable, the value and what is valid; an unknown `OXSHMEM_…` variable is a warning.\n\n\
         | variable | values | if unset | what it does |\n|---|---|---|---|\n",
    );
    for v in VARIABLES {
        writeln!(page, "| `{}` | {} | {} | {} |", v.name, v.values, v.default, v.meaning)
            .expect("a string grows");
    }
    page += "\nRead by the builder:\n\n| variable | what it does |\n|---|---|\n\
             | `OXSHMEM_RUSTC` | the rustc that compiles kernels, with its sources installed |\n\
             | `OXSHMEM_CARGO` | the cargo that goes with it |\n\
             | `OXSHMEM_PTX` | `off`: no device build; everything runs emulated |\n\
             | `OXSHMEM_PTXAS` | a ptxas, for register and spill figures; never needed |\n\
             | `OXSHMEM_CACHE` | where the compiled `core` for the device is kept |\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src/environment.md");
    if std::env::var_os("OXSHMEM_WRITE_DOCS").is_some() {
        std::fs::write(&path, &page).expect("the page can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, page, "run this test with OXSHMEM_WRITE_DOCS=1 to write {}", path.display());
}
