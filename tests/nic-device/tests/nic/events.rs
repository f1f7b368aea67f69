//! What the NIC reports on its own, through the libraries.

use crate::channel::{Channel, Side};
use crate::record;
use oxshmem::net::verbs::classic::{ClassicCq, ClassicQp, Operation, Post};
use oxshmem::net::verbs::{Event, QpFault, QpWatch};
use oxshmem_device::net::mlx5::wqe;
use oxshmem_device::net::mlx5::{Fence, Key};
use std::error::Error;
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn all() -> Result<String> {
    access_of_ours()?;
    access_of_libmlx5s()?;
    link()?;
    // The wrong keys, and nothing else.
    match record::text()?.lines().find(|line| !line.contains("is no region's")) {
        None => {}
        Some(line) => return Err(line.into()),
    }
    Ok("queue pairs, ours and libmlx5's, and ports report what befalls them".into())
}

/// Waits for what `next` gives.
fn wait<T>(mut next: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let start = Instant::now();
    loop {
        if let Some(found) = next()? {
            return Ok(found);
        }
        if start.elapsed() > PATIENCE {
            return Err("no event came".into());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A peer with a wrong key is reported where the key was to be good, and nowhere else.
fn access_of_ours() -> Result<()> {
    let side = Side::new("mlx5_0")?;
    let mut channel = Channel::new(&side, false)?;
    let other = Channel::new(&side, false)?;
    let watch = QpWatch::new(&side.context)?;
    watch.add(&channel.qp)?;
    watch.add(&other.qp)?;
    channel.connect(side.lid()?, other.qp.number())?;
    other.connect(side.lid()?, channel.qp.number())?;
    if watch.next()?.is_some() {
        return Err("nothing has happened yet".into());
    }
    let mut far = side.far(0);
    far.key = Key::new(far.key.number() ^ 0x100);
    let request = wqe::write(channel.control(Fence::None), far, side.near(64), 8);
    channel.post_segments(&request)?;
    if channel.wait_one().is_ok() {
        return Err("a write by a wrong key was done".into());
    }
    let found = wait(|| Ok(watch.next()?))?;
    if found != (other.qp.number(), QpFault::Access) {
        return Err(format!("{found:x?} of {:#x}", other.qp.number()).into());
    }
    if let Some(more) = watch.next()? {
        return Err(format!("and {more:x?}").into());
    }
    Ok(())
}

fn access_of_libmlx5s() -> Result<()> {
    let side = Side::new("mlx5_0")?;
    let cq = ClassicCq::new(&side.context, 16)?;
    let (near, far) = (ClassicQp::new(&side.pd, &cq, 16, 0)?, ClassicQp::new(&side.pd, &cq, 16, 0)?);
    near.connect(far.number(), side.lid()?)?;
    far.connect(near.number(), side.lid()?)?;
    let post = Post {
        id: 1,
        operation: Operation::Read,
        fenced: false,
        signalled: true,
        local: (side.region.address(), 8, side.region.lkey()),
        remote: (side.region.address(), side.region.rkey() ^ 0x100),
    };
    // SAFETY: it is no inline write.
    unsafe { near.post(&post)? };
    let found = wait(|| Ok(side.context.event()?))?;
    if found != (Event::QueuePair { qpn: far.number(), code: 3 }) {
        return Err(format!("{found:x?} of {:#x}", far.number()).into());
    }
    // One that nobody reads is no reason to wait at the end.
    drop((near, far));
    let (near, far) = (ClassicQp::new(&side.pd, &cq, 16, 0)?, ClassicQp::new(&side.pd, &cq, 16, 0)?);
    near.connect(far.number(), side.lid()?)?;
    far.connect(near.number(), side.lid()?)?;
    // SAFETY: it is no inline write.
    unsafe { near.post(&post)? };
    wait(|| Ok(side.context.has_event()?.then_some(())))?;
    drop((near, far));
    if let Some(event) = side.context.event()? {
        return Err(format!("{event:?} of a queue pair that is gone").into());
    }
    Ok(())
}

/// The link goes and comes back.
fn link() -> Result<()> {
    let side = Side::new("mlx5_0")?;
    for (up, expected) in [(false, Event::PortDown { port: 1 }), (true, Event::PortUp { port: 1 })] {
        record::link(0, up)?;
        let found = wait(|| Ok(side.context.event()?))?;
        if found != expected || side.context.port(1)?.active != up {
            return Err(format!("{found:?}, not {expected:?}").into());
        }
    }
    Ok(())
}
