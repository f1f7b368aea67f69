//! The system's own tool.

use crate::case::{self, Case, Outcome};
use std::process::Command;

/// `ibv_devinfo` names the device and says that its port is active.
pub(crate) fn parent(case: &Case) -> Outcome {
    let folder = case::folder(case.name);
    let mut command = Command::new("ibv_devinfo");
    let output = case::with_device(&mut command, &folder).and_then(|()| case::finish(command));
    let _ = std::fs::remove_dir_all(folder);
    let output = match output {
        Ok(output) => output,
        // A tool of its own package, which nothing else needs.
        Err(why) if why.contains("No such file") => {
            return Outcome::Passed(
                "skipped: there is no ibv_devinfo (Debian: apt-get install ibverbs-utils)".into(),
            );
        }
        Err(why) => return Outcome::Failed(why),
    };
    let text = String::from_utf8_lossy(&output.stdout);
    for wanted in ["mlx5_0", "PORT_ACTIVE", "4129", "InfiniBand"] {
        if !text.contains(wanted) {
            return case::judge(Err(format!(
                "ibv_devinfo does not say {wanted}:\n{text}{}",
                String::from_utf8_lossy(&output.stderr)
            )));
        }
    }
    Outcome::Passed("ibv_devinfo sees mlx5_0, a ConnectX-7 whose port is active".into())
}
