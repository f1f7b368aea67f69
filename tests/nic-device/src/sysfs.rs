//! The part of sysfs by which libibverbs finds devices and libmlx5 knows them as its own, below `SYSFS_PATH`.

use crate::nics;
use std::io;
use std::path::{Path, PathBuf};

/// The character device numbers of uverbs devices: a fixed major, minors from 192.
const MAJOR: u32 = 231;
const FIRST_MINOR: u32 = 192;

/// A ConnectX-7 of vendor Mellanox, as the kernel's module alias spells it.
const ALIAS: &str = "pci:v000015B3d00001021sv000015B3sd00000023bc02sc07i00";

/// The device number of NIC `index`.
pub(crate) fn device_number(index: usize) -> libc::dev_t {
    libc::makedev(MAJOR, FIRST_MINOR + index as u32)
}

/// The path of the device node of NIC `index`.
pub(crate) fn node(index: usize) -> String {
    format!("/dev/infiniband/uverbs{index}")
}

/// Fills the folder `SYSFS_PATH` unless that is done. Another process may be doing the same, so a tree is made beside
/// it and moved there as a whole.
pub(crate) fn prepare() -> io::Result<()> {
    let Some(root) = std::env::var_os("SYSFS_PATH").map(PathBuf::from) else {
        return Ok(());
    };
    if root.join("class/infiniband_verbs/abi_version").exists() {
        return Ok(());
    }
    let mut made = root.clone().into_os_string();
    made.push(format!(".{}", std::process::id()));
    let made = PathBuf::from(made);
    write_tree(&made)?;
    if let Err(error) = std::fs::rename(&made, &root) {
        std::fs::remove_dir_all(&made)?;
        if !root.join("class/infiniband_verbs/abi_version").exists() {
            return Err(error);
        }
    }
    Ok(())
}

fn write_tree(root: &Path) -> io::Result<()> {
    let put = |path: String, text: &str| {
        let path = root.join(path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(path, format!("{text}\n"))
    };
    put("class/infiniband_verbs/abi_version".into(), "6")?;
    for index in 0..nics::MAXIMUM {
        // Two NICs below each root port, so that there are near and far ones.
        let address = format!("pci0000:{:02x}/0000:{:02x}:{:02x}.0", index / 2, index / 2, index % 2 + 1);
        let function = format!("devices/{address}");
        put(format!("{function}/modalias"), ALIAS)?;
        put(format!("{function}/vendor"), "0x15b3")?;
        put(format!("{function}/device"), "0x1021")?;
        put(format!("{function}/numa_node"), &(index / 4).to_string())?;
        if index >= nics::count() {
            continue;
        }
        let verbs = format!("class/infiniband_verbs/uverbs{index}");
        put(format!("{verbs}/ibdev"), &format!("mlx5_{index}"))?;
        put(format!("{verbs}/dev"), &format!("{MAJOR}:{}", FIRST_MINOR + index as u32))?;
        put(format!("{verbs}/abi_version"), "1")?;
        let device = format!("class/infiniband/mlx5_{index}");
        put(format!("{device}/node_type"), "1: CA")?;
        let guid = nics::guid(index);
        let parts = [guid >> 48, guid >> 32, guid >> 16, guid].map(|part| format!("{:04x}", part as u16));
        put(format!("{device}/node_guid"), &parts.join(":"))?;
        put(format!("{device}/fw_ver"), nics::FIRMWARE)?;
        put(format!("{device}/hca_type"), "MT4129")?;
        put(format!("{device}/board_id"), "OXS0000000001")?;
        put(format!("{device}/ports/1/pkeys/0"), "0xffff")?;
        std::os::unix::fs::symlink(format!("../../../{function}"), root.join(&device).join("device"))?;
    }
    Ok(())
}
