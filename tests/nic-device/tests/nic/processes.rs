//! Two processes, each with a NIC of its own, on one fabric.

use crate::case::{self, Case, Outcome};
use crate::channel::{Channel, Side};
use crate::devx::{FEW, exercise};
use crate::record;
use oxshmem_device::net::mlx5::Key;
use oxshmem_device::net::mlx5::wqe::Place;
use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

/// Which of the two a child is.
const RANK: &str = "OXSHMEM_NIC_RANK";

/// Starts both, and hands what each says on to the other.
pub(crate) fn parent(case: &Case) -> Outcome {
    let folder = case::folder(case.name);
    let result = run(case, &folder);
    let _ = std::fs::remove_dir_all(folder);
    match result {
        Ok(said) => Outcome::Passed(said),
        Err(error) => Outcome::Failed(error.to_string()),
    }
}

struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Process {
    fn line(&mut self) -> Result<String, Box<dyn Error>> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        if line.is_empty() { Err("a process ended early".into()) } else { Ok(line) }
    }
}

fn run(case: &Case, folder: &std::path::Path) -> Result<String, Box<dyn Error>> {
    let mut both = Vec::new();
    for rank in 0..2 {
        let mut command = case::this(case, folder)?;
        command.env("OXSHMEM_NIC_FABRIC", folder.join("fabric")).env(RANK, rank.to_string());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (Some(input), Some(output)) = (input, output) else { return Err("no pipes".into()) };
        both.push(Process { child, input, output: BufReader::new(output) });
    }
    // What one says is for the other, three times: names, connected, done.
    for _ in 0..3 {
        let said = [both[0].line()?, both[1].line()?];
        both[0].input.write_all(said[1].as_bytes())?;
        both[1].input.write_all(said[0].as_bytes())?;
    }
    let mut last = Vec::new();
    for process in &mut both {
        last.push(process.line()?.trim().to_string());
        if !process.child.wait()?.success() {
            return Err("a process failed".into());
        }
    }
    Ok(last.join(", "))
}

fn meet(word: &str) -> Result<Vec<u64>, Box<dyn Error>> {
    println!("{word}");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    line.split_whitespace().map(|word| word.parse().map_err(Into::into)).collect()
}

/// Both work on the other's memory at the same time.
pub(crate) fn child() -> Result<String, Box<dyn Error>> {
    let rank = std::env::var(RANK)?;
    let side = Side::new("mlx5_0")?;
    let mut channel = Channel::new(&side, false)?;
    let far = side.far(0);
    let names = format!("{} {} {} {}", side.lid()?, channel.qp.number(), far.address, far.key.number());
    let theirs = meet(&names)?;
    let [lid, qpn, address, rkey] = theirs[..] else {
        return Err("the peer's names are not four numbers".into());
    };
    if lid == u64::from(side.lid()?) {
        return Err("both NICs have the same local identifier".into());
    }
    channel.connect(lid as u16, qpn as u32)?;
    meet("1")?;
    let peer = |offset| Place { address: address + offset, key: Key::new(rkey as u32) };
    // The words that the peer has of us are asked of it by reads.
    let count = exercise_there(&mut channel, &side, peer)?;
    meet("1")?;
    drop(channel);
    drop(side);
    record::is_empty()?;
    Ok(format!("PE {rank}: {count} operations on the other's memory"))
}

fn exercise_there(
    channel: &mut Channel,
    side: &Side,
    peer: impl Fn(u64) -> Place + Copy,
) -> Result<u64, Box<dyn Error>> {
    use oxshmem_device::net::mlx5::Fence;
    use oxshmem_device::net::mlx5::wqe;
    // Our own results land where the peer does not write.
    const BACK: u64 = 32 << 10;
    let count = exercise(channel, side, |offset| peer(offset + (16 << 10)), FEW)?;
    let request = wqe::read(channel.control(Fence::None), peer(16 << 10), side.near(BACK), 32);
    channel.post_segments(&request)?;
    channel.finish()?;
    let found: Vec<u64> = (0..4).map(|i| side.pages.word(BACK as usize + 8 * i)).collect();
    let expected = crate::devx::expected(FEW);
    if found != expected {
        return Err(format!("the words are {found:x?}, not {expected:x?}").into());
    }
    Ok(count)
}
