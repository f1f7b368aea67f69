//! What goes wrong has its type, and its sentence in the device's record.

use crate::boxes::Pages;
use crate::channel::{BYTES, Channel, Failed, QUEUES, Side};
use crate::devx::{FEW, exercise};
use crate::record;
use oxshmem::net::verbs::abi::IbvWc;
use oxshmem::net::verbs::classic::{ClassicCq, ClassicQp, Operation, Post};
use oxshmem::net::verbs::context::Link;
use oxshmem::net::verbs::cq::CqPlan;
use oxshmem::net::verbs::mailbox::Route;
use oxshmem::net::verbs::memory::{Access, Place};
use oxshmem::net::verbs::qp::{Peer, QpPlan, Settings};
use oxshmem::net::verbs::{Cq, Device, Qp, Region, Uar, Umem, VerbsError};
use oxshmem_device::net::mlx5::wqe;
use oxshmem_device::net::mlx5::{Fence, Key, Syndrome};
use std::error::Error;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

pub(crate) fn all() -> Result<String> {
    type Check = (&'static str, fn() -> Result<()>);
    let cases: &[Check] = &[
        ("no such device", no_such_device),
        ("no such port", no_such_port),
        ("memory too small", memory_too_small),
        ("numbers that do not fit", numbers_that_do_not_fit),
        ("what firmware refuses", firmware_refuses),
        ("wrong key", wrong_key),
        ("wrong key by libmlx5", wrong_key_by_libmlx5),
        ("open and close", open_and_close),
        ("dma-buf", dmabuf),
        ("queues in a dma-buf", queues_in_dmabuf),
    ];
    for (name, case) in cases {
        case().map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(format!("{} kinds of errors have their types", cases.len()))
}

/// A device that lacks something is refused with a sentence that says what to change.
pub(crate) fn without() -> Result<String> {
    let device = Device::named("mlx5_0")?;
    match std::env::var("OXSHMEM_NIC_WITHOUT")?.as_str() {
        "devx" => {
            is(
                device.open(),
                |error| matches!(error, VerbsError::NotOpened { remedy, .. } if remedy.contains("NET_RAW")),
            )?;
            Ok("without the right to commands to the firmware it is not opened".into())
        }
        what => {
            let context = device.open()?;
            is(context.sufficient(), |error| {
                matches!(error, VerbsError::Missing { missing, remedy, .. }
                    if missing.contains(what) && remedy.contains("PCI_ATOMIC_MODE"))
            })?;
            Ok(format!("without {what} it is not used"))
        }
    }
}

/// Fails unless `result` is an error that `expected` says yes to.
fn is<T>(result: std::result::Result<T, VerbsError>, expected: impl Fn(&VerbsError) -> bool) -> Result<()> {
    match result {
        Ok(_) => Err("there was no error".into()),
        Err(error) if expected(&error) => Ok(()),
        Err(error) => Err(format!("another error than expected: {error}").into()),
    }
}

fn no_such_device() -> Result<()> {
    is(
        Device::named("mlx5_9"),
        |error| matches!(error, VerbsError::NoDevice { found, .. } if found == "mlx5_0"),
    )
}

fn no_such_port() -> Result<()> {
    let context = Device::named("mlx5_0")?.open()?;
    is(context.port(2), |error| matches!(error, VerbsError::Call { call: "ibv_query_port", .. }))?;
    if context.gid(1, 3)?.is_some() || context.gid(1, 0)?.is_none() {
        return Err("the table of addresses has one at 0 alone".into());
    }
    let whole = context.attributes()?;
    let found = (whole.vendor_part_id, whole.phys_port_cnt, whole.max_qp_rd_atom, whole.atomic_cap);
    if found != (4129, 1, 16, 1) {
        return Err(format!("the device is described as {found:?}").into());
    }
    let port = context.port(1)?;
    let found = (port.active, port.link, port.mtu, port.longest_message, port.addresses, port.partition_keys);
    if found != (true, Link::InfiniBand, 5, 1 << 30, 8, 1) {
        return Err(format!("the port is described as {found:?}").into());
    }
    if context.partition_key(1, 0)? != 0xffff {
        return Err("the partition key is not the default".into());
    }
    if context.event()?.is_some() {
        return Err("nothing has happened".into());
    }
    Ok(())
}

/// Memory for queues, and a doorbell page.
fn room(side: &Side) -> Result<(Pages, Arc<Umem>, Arc<Uar>)> {
    let pages = Pages::new(16 << 10);
    // SAFETY: the pages are kept as long as the queues.
    let umem = unsafe { Umem::of_mapped(&side.context, pages.start(), pages.length())? };
    Ok((pages, umem, Uar::new(&side.context)?))
}

fn cq_plan(umem: &Arc<Umem>, log_size: u32, offset: u64, record: u64) -> CqPlan {
    let at = |offset| Place { umem: Arc::clone(umem), offset };
    CqPlan { log_size, entries: at(offset), record: at(record), collapsed: false }
}

fn memory_too_small() -> Result<()> {
    let side = Side::new("mlx5_0")?;
    let (_pages, umem, uar) = room(&side)?;
    let too_small = |error: &VerbsError| matches!(error, VerbsError::Memory { .. });
    for (log_size, offset, record) in [
        (9, 0, 0),
        (8, 64, 0),
        (6, 0, 16 << 10),
        (6, 0, (16 << 10) - 4),
        (6, u64::MAX - 8, 0),
        (63, 0, 0),
        (64, 0, 0),
    ] {
        is(Cq::new(&side.context, &uar, cq_plan(&umem, log_size, offset, record)), too_small)
            .map_err(|error| format!("2^{log_size} entries at {offset}, record at {record}: {error}"))?;
    }
    Ok(())
}

fn numbers_that_do_not_fit() -> Result<()> {
    let side = Side::new("mlx5_0")?;
    let channel = Channel::new(&side, false)?;
    let route = Route::InfiniBand { lid: side.lid()?, service_level: 0 };
    let peer = Peer { qpn: 1 << 24, psn: 0, route };
    is(
        channel.qp.connect(&Settings::default(), &peer),
        |error| matches!(error, VerbsError::TooLarge { source, .. } if source.field == "remote_qpn"),
    )
}

fn firmware_refuses() -> Result<()> {
    let side = Side::new("mlx5_0")?;
    let (_pages, umem, uar) = room(&side)?;
    let refused = |error: &VerbsError| matches!(error, VerbsError::Firmware { status: 1.., .. });
    // Not aligned.
    is(Cq::new(&side.context, &uar, cq_plan(&umem, 6, 32, 8192)), refused)?;
    // From reset there is no way to reset's peer states, and a port that is not there.
    let channel = Channel::new(&side, false)?;
    let route = Route::InfiniBand { lid: side.lid()?, service_level: 0 };
    let peer = Peer { qpn: channel.qp.number(), psn: 0, route };
    is(channel.qp.connect(&Settings { port: 2, ..Settings::default() }, &peer), refused)?;
    record::says("vhca_port_num")?;
    is(channel.qp.connect(&Settings { mtu: 6, ..Settings::default() }, &peer), refused)?;
    record::says("mtu is 6")?;
    // It is in init now, so that a whole connection does not start there.
    is(channel.qp.connect(&Settings::default(), &peer), refused)?;
    channel.qp.reset()?;
    channel.qp.connect(&Settings::default(), &peer)?;
    // A path of Ethernet that no packet would take.
    channel.qp.reset()?;
    let route = Route::Ethernet {
        gid: [1; 16],
        mac: [2; 6],
        source: 0,
        traffic_class: 0,
        hop_limit: 64,
        udp_source: 1,
        priority: 0,
    };
    is(channel.qp.connect(&Settings::default(), &Peer { route, ..peer }), refused)?;
    record::says("udp_sport")?;
    // A command that is none.
    is(side.context.command("(none)", &[0x7f; 16], &mut [0; 16]), refused)?;
    // A queue in memory that is too small for the NIC, though not for us, is not possible; one on a page that was freed
    // is: the page stays as long as the queue does.
    let (_pages, umem, uar) = room(&side)?;
    let cq = Cq::new(&side.context, &uar, cq_plan(&umem, 6, 0, 8192))?;
    drop((umem, uar));
    let plan = QpPlan {
        log_size: 6,
        queue: cq.plan().entries.clone(),
        record: cq.plan().record.clone(),
        user_index: 1 << 24,
    };
    is(
        Qp::new(&side.pd, &cq, &Uar::new(&side.context)?, plan),
        |error| matches!(error, VerbsError::TooLarge { source, .. } if source.field == "user_index"),
    )
}

/// The first failure has its syndrome, what is behind it is flushed, and the rest of the device works on.
fn wrong_key() -> Result<()> {
    let side = Side::new("mlx5_0")?;
    let mut channel = Channel::new(&side, false)?;
    let other = Channel::new(&side, false)?;
    channel.connect(side.lid()?, other.qp.number())?;
    other.connect(side.lid()?, channel.qp.number())?;
    let mut far = side.far(0);
    far.key = Key::new(far.key.number() ^ 0x100);
    for _ in 0..3 {
        let request = wqe::write(channel.control(Fence::None), far, side.near(64), 8);
        let bytes: Vec<u8> = request.iter().flat_map(|segment| segment.to_bytes()).collect();
        channel.post(&bytes, true)?;
    }
    channel.ring();
    let mut seen = Vec::new();
    for _ in 0..3 {
        match channel.wait_one() {
            Ok(()) => return Err("a write by a wrong key was done".into()),
            Err(error) => match error.downcast::<Failed>() {
                Ok(failed) => seen.push(failed.0),
                Err(error) => return Err(error),
            },
        }
    }
    let flushed = Some(Syndrome::Flushed);
    if seen != [Some(Syndrome::RemoteAccess), flushed, flushed] {
        return Err(format!("the syndromes are {seen:?}").into());
    }
    let standing = channel.qp.standing()?;
    if standing.state != 6 {
        return Err(format!("{standing:?} after an error").into());
    }
    Ok(())
}

/// libmlx5 reads our completions of errors as what they are: `enum ibv_wc_status`.
fn wrong_key_by_libmlx5() -> Result<()> {
    let side = Side::new("mlx5_0")?;
    let cq = ClassicCq::new(&side.context, 16)?;
    let (near, far) = (ClassicQp::new(&side.pd, &cq, 16, 0)?, ClassicQp::new(&side.pd, &cq, 16, 0)?);
    near.connect(far.number(), side.lid()?)?;
    far.connect(near.number(), side.lid()?)?;
    for id in 0..3 {
        let post = Post {
            id,
            operation: Operation::Write,
            fenced: false,
            signalled: true,
            local: (side.region.address(), 8, side.region.lkey()),
            remote: (side.region.address(), side.region.rkey() ^ 0x100),
        };
        // SAFETY: it is no inline write.
        unsafe { near.post(&post)? };
    }
    // SAFETY: all fields are integers, for which zero is a value.
    let mut found: [IbvWc; 4] = unsafe { std::mem::zeroed() };
    let mut seen = Vec::new();
    let start = Instant::now();
    while seen.len() < 3 && start.elapsed() < Duration::from_secs(20) {
        let count = cq.poll(&mut found)?;
        seen.extend(found[..count].iter().map(|completion| (completion.wr_id, completion.status)));
    }
    // Remote access error, then flushed.
    if seen != [(0, 10), (1, 5), (2, 5)] {
        return Err(format!("the completions are {seen:?}").into());
    }
    Ok(())
}

/// A memory file; it maps as a dma-buf does.
fn memory_file(length: usize) -> Result<OwnedFd> {
    // SAFETY: the name is a C string; the descriptor is new.
    unsafe {
        let fd = libc::memfd_create(c"memory".as_ptr(), libc::MFD_CLOEXEC);
        if fd < 0 || libc::ftruncate(fd, length as i64) != 0 {
            return Err("no memory file".into());
        }
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Queues as they lie in a GPU's memory.
fn queues_in_dmabuf() -> Result<()> {
    let side = Side::new("mlx5_0")?;
    let channel = || -> Result<Channel> {
        let file = memory_file(QUEUES)?;
        let pages = Pages::of_file(file.as_fd(), QUEUES);
        // SAFETY: the file is accessed by the pages alone, whose accesses are volatile or atomic.
        let umem = unsafe { Umem::of_dmabuf(&side.context, file.as_fd(), 0, QUEUES)? };
        Channel::in_memory(&side, pages, umem, false)
    };
    let (mut near, far) = (channel()?, channel()?);
    near.connect(side.lid()?, far.qp.number())?;
    far.connect(side.lid()?, near.qp.number())?;
    exercise(&mut near, &side, |offset| side.far(offset + (16 << 10)), FEW)?;
    Ok(())
}

/// Nothing is left of a device that was closed: no descriptor, no mapping.
fn open_and_close() -> Result<()> {
    let left = || -> Result<(usize, usize)> {
        let maps = std::fs::read_to_string("/proc/self/maps")?;
        let ours = maps.lines().filter(|line| line.contains("oxshmem-nic"));
        Ok((std::fs::read_dir("/proc/self/fd")?.count(), ours.count()))
    };
    let before = left()?;
    for _ in 0..100 {
        let side = Side::new("mlx5_0")?;
        let (near, far) = (Channel::new(&side, false)?, Channel::new(&side, true)?);
        near.connect(side.lid()?, far.qp.number())?;
        far.connect(side.lid()?, near.qp.number())?;
    }
    let after = left()?;
    if after != before {
        return Err(format!("descriptors and mappings: {before:?} before, {after:?} after").into());
    }
    Ok(())
}

/// Memory by a descriptor, as a GPU's would come.
fn dmabuf() -> Result<()> {
    let side = Side::new("mlx5_0")?;
    let file = memory_file(BYTES)?;
    const NAME: u64 = 0x7000_0000_0000;
    // SAFETY: nothing of this program accesses the file but by system calls.
    let region = unsafe { Region::of_dmabuf(&side.pd, file.as_fd(), 4096, 8192, NAME, Access::HEAP)? };
    let mut channel = Channel::new(&side, false)?;
    let other = Channel::new(&side, false)?;
    channel.connect(side.lid()?, other.qp.number())?;
    other.connect(side.lid()?, channel.qp.number())?;
    side.pages.put_word(0, 0x0123_4567_89ab_cdef);
    let far = wqe::Place { address: NAME + 16, key: Key::new(region.rkey()) };
    let request = wqe::write(channel.control(Fence::None), far, side.near(0), 8);
    channel.post_segments(&request)?;
    channel.finish()?;
    let mut found = [0; 8];
    std::os::unix::fs::FileExt::read_exact_at(&std::fs::File::from(file), &mut found, 4096 + 16)?;
    if u64::from_ne_bytes(found) != 0x0123_4567_89ab_cdef {
        return Err(format!("the file has {found:x?}").into());
    }
    // SAFETY: as above; this one is given back at once.
    let gone = unsafe { Region::of_dmabuf(&side.pd, BorrowedFd::borrow_raw(1023), 0, 4096, 0, Access::HEAP) };
    is(gone, |error| matches!(error, VerbsError::Call { call: "ibv_reg_dmabuf_mr", .. }))
}
