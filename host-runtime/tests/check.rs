//! Programs under the checker, with their host sides: what is right is silent, what is wrong is found, and every run of a
//! seed is the same.

mod common;

use common::*;
use oxshmem::{CheckOptions, Error, Finding, Kind, Report, Schedule};
use oxshmem_device::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const SOLO: LaunchConfig = LaunchConfig::blocks(1).threads(1);

fn seeds(seeds: u32) -> CheckOptions {
    CheckOptions::default().seeds(seeds)
}

/// Nothing is found, whatever the schedule.
#[track_caller]
fn silent(pes: u32, f: impl Fn(oxshmem::Shmem) -> oxshmem::Result<()> + Send + Sync) {
    let report = oxshmem::check(&seeds(40), pes, f).unwrap();
    assert!(report.findings.is_empty(), "{report}");
    assert_eq!(report.runs, 40);
}

/// What is found first.
#[track_caller]
fn found(pes: u32, f: impl Fn(oxshmem::Shmem) -> oxshmem::Result<()> + Send + Sync) -> (Finding, Report) {
    let report = oxshmem::check(&seeds(40), pes, f).unwrap();
    let (finding, _) = report.findings.first().expect("it must be found").clone();
    (finding, report)
}

/// A lock on PE 0, taken by compare-and-swap; under it the first element is counted up.
#[nvshmem_kernel]
fn count_under_a_lock(shmem: Shmem, lock: Sym<Atomic<u32>>, count: Sym<[u32]>, rounds: u32) {
    let thread = shmem.thread();
    let mut round = 0;
    while round < rounds {
        while thread.acquire().atomic_compare_swap(lock, 0, 1, 0) != 0 {}
        let now = thread.g(count.at(0), 0);
        thread.p(count.at(0), now + 1, 0);
        thread.quiet();
        thread.release().atomic_set(lock, 0, 0);
        round += 1;
    }
}

#[test]
fn a_lock_that_spins_by_compare_and_swap_comes_to_its_end() {
    silent(3, |shmem| {
        let (lock, count) = (shmem.alloc_atomics::<u32>(1, Reach::Node)?, shmem.alloc_zeroed::<u32>(1)?);
        shmem.barrier_all()?;
        count_under_a_lock::launch(&shmem, SOLO, lock.at(0), &count, 3)?;
        shmem.barrier_all()?;
        if shmem.my_pe() == 0 {
            assert_eq!(count.read()?, [9]);
        }
        Ok(())
    });
}

/// As above, but a whole warp goes round, and meets each time.
#[nvshmem_kernel]
fn warps_spin(shmem: Shmem, lock: Sym<Atomic<u32>>, count: Sym<[u32]>) {
    let (warp, thread) = (shmem.warp(), shmem.thread());
    loop {
        let taken = warp.is_leader() && thread.acquire().atomic_compare_swap(lock, 0, 1, 0) == 0;
        warp.sync();
        if taken {
            let now = thread.g(count.at(0), 0);
            thread.p(count.at(0), now + 1, 0);
            thread.quiet();
            thread.release().atomic_set(lock, 0, 0);
        }
        if warp::any(taken) {
            return;
        }
    }
}

#[test]
fn a_warp_that_spins_keeps_nothing_from_arriving() {
    silent(3, |shmem| {
        let (lock, count) = (shmem.alloc_atomics::<u32>(1, Reach::Node)?, shmem.alloc_zeroed::<u32>(1)?);
        shmem.barrier_all()?;
        warps_spin::launch(&shmem, SOLO.threads(32), lock.at(0), &count)?;
        shmem.barrier_all()
    });
}

/// Nobody gives the lock back.
#[nvshmem_kernel]
fn keeps_the_lock(shmem: Shmem, lock: Sym<Atomic<u32>>) {
    while shmem.thread().acquire().atomic_compare_swap(lock, 0, 1, 0) != 0 {}
}

#[test]
fn a_lock_that_nobody_gives_back_is_found() {
    let (finding, _) = found(2, |shmem| {
        let lock = shmem.alloc_atomics::<u32>(1, Reach::Node)?;
        keeps_the_lock::launch(&shmem, SOLO, lock.at(0))?;
        shmem.barrier_all()
    });
    assert!(matches!(finding.kind, Kind::Deadlock | Kind::NoProgress), "{finding}");
}

#[test]
fn a_host_may_ask_whether_a_stream_is_idle() {
    silent(3, |shmem| {
        let (src, dst) = (shmem.alloc_from_fn(40, |i| i as f32)?, shmem.alloc_zeroed::<f32>(40)?);
        let (ready, stream) = (shmem.alloc_signals(1)?, shmem.stream()?);
        for round in 1..4 {
            ring_shift::launch_on(&shmem, &stream, ONE.threads(32), &dst, &src, ready.at(0), round)?;
            while !stream.is_idle()? {}
            assert_eq!(dst.read()?[39], 39.0);
            shmem.barrier_all()?;
        }
        Ok(())
    });
}

#[test]
fn a_host_that_asks_for_ever_does_not_hide_a_deadlock() {
    let (finding, _) = found(2, |shmem| {
        let (never, stream) = (shmem.alloc_signals(1)?, shmem.stream()?);
        wait_for::launch_on(&shmem, &stream, ONE.threads(1), never.at(0), 1)?;
        while !stream.is_idle()? {}
        Ok(())
    });
    assert_eq!(finding.kind, Kind::Deadlock, "{finding}");
    let report = finding.to_string();
    says(&report, &["[0] >= 1, saw 0", "nobody has updated it", "host of PE 0", "host of PE 1"]);
    assert!(!report.contains("emulator/src"), "{report}");
}

#[test]
fn a_vector_may_be_dropped_while_kernels_use_it() {
    silent(3, |shmem| {
        for round in 0..3 {
            let (src, dst) =
                (shmem.alloc_from_fn(40 + round, |i| i as f32)?, shmem.alloc_zeroed::<f32>(40 + round)?);
            let ready = shmem.alloc_signals(1)?;
            ring_shift::launch(&shmem, ONE.threads(32), &dst, &src, ready.at(0), 1)?;
            // One PE is done with it long before the others have sent.
            if shmem.my_pe() == 1 {
                drop((src, dst));
            }
        }
        let local = shmem.device_from_slice(&[1u32; 8])?;
        add_one::launch(&shmem, ONE, &local)?;
        drop(local);
        shmem.barrier_all()
    });
}

#[test]
fn what_was_freed_may_be_allocated_again() {
    silent(3, |shmem| {
        for round in 0..6 {
            let data = shmem.alloc_zeroed::<u32>(100 + 7 * round)?;
            let ready = shmem.alloc_signals(1)?;
            relay::launch(&shmem, SOLO, &data, ready.at(0))?;
            shmem.free(data)?;
            shmem.free(ready)?;
        }
        Ok(())
    });
}

/// Puts its number into the next PE's first element, and waits for the one before.
#[nvshmem_kernel]
fn relay(shmem: Collective, data: Sym<[u32]>, ready: Sym<Signal>) {
    let thread = shmem.thread();
    thread.put_signal(data.slice(0, 1), &[shmem.my_pe()], ready, SignalOp::Add(1), shmem.next_pe());
    thread.wait_reached(ready, 1);
    let _ = shmem.local(data).get(0);
}

/// Reads what stands at an offset of the heap.
#[nvshmem_kernel]
fn read_at(shmem: Shmem, offset: u64) {
    // SAFETY: it is not: the caller has freed the allocation. That is what is to be found.
    let data: Sym<[u32]> = unsafe { Sym::from_parts(offset, 1, Reach::World) };
    let _ = shmem.local(data).get(0);
}

#[test]
fn what_was_freed_by_all_and_is_used_is_found() {
    let (finding, report) = found(2, |shmem| {
        let data = shmem.alloc_zeroed::<u32>(4)?;
        let offset = data.handle().offset();
        shmem.free(data)?;
        read_at::launch(&shmem, SOLO, offset)?;
        shmem.barrier_all()
    });
    assert_eq!((finding.kind, report.findings.len()), (Kind::UseAfterFree, 1), "{report}");
    says(&finding.memory, &["check.rs", "[0] of PE"]);
    says(&finding, &["host call at", "all PEs had given the allocation back"]);
}

/// Exchanges both edges of a strip with the neighbours, into the half of the ghosts that the round has.
#[nvshmem_kernel]
fn halo(shmem: Collective, cells: Sym<[f32]>, ghosts: Sym<[f32]>, arrived: Sym<[Signal]>, rounds: u64) {
    let block = shmem.block();
    let (n, me, last) = (cells.len(), shmem.my_pe(), shmem.n_pes() - 1);
    let mut round = 1;
    while round <= rounds {
        // Two halves: whoever is a round ahead writes the other one.
        let half = (round & 1) * 2;
        // The signal of a put_signal covers its own data alone; this one says, too, that the last round's ghosts are read.
        block.fence();
        if me > 0 {
            block.put_signal(
                ghosts.slice(half + 1, 1),
                cells.slice(0, 1),
                arrived.at(1),
                SignalOp::Set(round),
                me - 1,
            );
        }
        if me < last {
            block.put_signal(
                ghosts.slice(half, 1),
                cells.slice(n - 1, 1),
                arrived.at(0),
                SignalOp::Set(round),
                me + 1,
            );
        }
        let (mut left, mut right) = (0.0, 0.0);
        if me > 0 {
            block.wait_reached(arrived.at(0), round);
            left = shmem.local(ghosts).get(half);
        }
        if me < last {
            block.wait_reached(arrived.at(1), round);
            right = shmem.local(ghosts).get(half + 1);
        }
        if block.is_leader() {
            let view = shmem.local(cells);
            view.set(0, view.get(0) + left);
            view.set(n - 1, view.get(n - 1) + right);
        }
        block.sync();
        round += 1;
    }
}

#[test]
fn a_halo_exchange_in_two_halves_is_silent() {
    silent(3, |shmem| {
        let (cells, ghosts) = (shmem.alloc_from_fn(9, |i| i as f32)?, shmem.alloc_zeroed::<f32>(4)?);
        let arrived = shmem.alloc_signals(2)?;
        shmem.barrier_all()?;
        halo::launch(&shmem, ONE.threads(64), &cells, &ghosts, arrived.handle(), 4)?;
        shmem.barrier_all()
    });
}

/// Sends data and a signal that does not cover it.
#[nvshmem_kernel]
fn overtaken(shmem: Collective, data: Sym<[u32]>, ready: Sym<Signal>) {
    let thread = shmem.thread();
    if shmem.my_pe() == 0 {
        thread.put(data, &[7], 1);
        thread.signal_weak(ready, SignalOp::Set(1), 1);
    } else {
        thread.wait_reached(ready, 1);
        let _ = shmem.local(data).get(0);
    }
}

fn overtakes(shmem: oxshmem::Shmem) -> oxshmem::Result<()> {
    let (data, ready) = (shmem.alloc_zeroed::<u32>(1)?, shmem.alloc_signals(1)?);
    overtaken::launch(&shmem, SOLO, &data, ready.at(0))?;
    shmem.barrier_all()
}

#[test]
fn a_seed_gives_the_same_report_each_time_and_its_schedule_shows_the_finding_again() {
    let report = || oxshmem::check(&seeds(30), 2, overtakes).unwrap();
    let first = report();
    assert_eq!(first, report());
    let (finding, schedule) = &first.findings[0];
    assert_eq!(finding.kind, Kind::SignalOvertakesData);
    let lines: Vec<_> =
        [&finding.first, &finding.second].into_iter().flatten().map(|p| p.location.line()).collect();
    let at = |text: &str| {
        include_str!("check.rs").lines().position(|line| line.contains(text)).unwrap() as u32 + 1
    };
    assert!(lines.contains(&at("thread.put(data, &[7], 1);")), "{finding}");
    let again = CheckOptions { schedule: schedule.clone(), seeds: 1, ..CheckOptions::default() };
    let again = oxshmem::check(&again, 2, overtakes).unwrap();
    assert!(again.findings.iter().any(|(other, _)| other.key() == finding.key()), "{again}");
    assert!(matches!(schedule, Schedule::Choices(_)), "it is small: {schedule}");
}

#[test]
fn a_closure_that_returns_early_leaves_the_others_waiting_and_is_found() {
    let report = oxshmem::check(&seeds(3), 3, |shmem| match shmem.my_pe() {
        1 => Ok(()),
        _ => shmem.barrier_all(),
    });
    match report {
        Ok(report) => assert!(!report.findings.is_empty(), "{report}"),
        Err(error) => says(error, &["PE 1"]),
    }
}

#[test]
fn a_closure_that_fails_is_its_error() {
    let failed = oxshmem::check(&seeds(3), 3, |shmem| {
        let data = shmem.alloc_zeroed::<u32>(2)?;
        if shmem.my_pe() == 2 {
            data.write(&[0; 3])?;
        }
        shmem.barrier_all()
    });
    says(error(failed), &["elements 0..3"]);
}

#[test]
fn a_host_that_writes_under_a_kernel_is_found() {
    let (finding, _) = found(2, |shmem| {
        let (data, ready) = (shmem.alloc_zeroed::<u32>(8)?, shmem.alloc_signals(1)?);
        // The other PE's kernel may have put there by now.
        data.write(&[5])?;
        relay::launch(&shmem, SOLO, &data, ready.at(0))?;
        shmem.barrier_all()
    });
    assert_eq!(finding.kind, Kind::DataRace, "{finding}");
    let hosts =
        [&finding.first, &finding.second].into_iter().flatten().filter(|place| place.thread.is_none());
    assert_eq!(hosts.count(), 1, "{finding}");
}

#[test]
fn no_pes_is_an_error() {
    assert!(matches!(error(oxshmem::check(&seeds(1), 0, overtakes)), Error::Config { .. }));
}

/// Sends to the own PE by block 0, for block 1.
#[nvshmem_kernel]
fn to_itself(shmem: Collective, data: Sym<[u32]>, from: Sym<[u32]>, ready: Sym<Signal>) {
    let block = shmem.block();
    if thread::block_idx_x() == 0 {
        block.put_signal(data, from, ready, SignalOp::Set(1), shmem.my_pe());
    } else {
        block.wait_reached(ready, 1);
        let _ = shmem.local(data).get(3);
    }
}

#[test]
fn a_put_signal_to_the_own_pe_carries_its_data() {
    silent(2, |shmem| {
        let (data, ready) = (shmem.alloc_zeroed::<u32>(4)?, shmem.alloc_signals(1)?);
        let from = shmem.alloc_from_fn(4, |i| i as u32)?;
        to_itself::launch(&shmem, LaunchConfig::blocks(2).threads(4), &data, &from, ready.at(0))?;
        shmem.barrier_all()
    });
}

/// Reads an element of its own.
#[nvshmem_kernel]
fn reads(shmem: Shmem, data: Sym<[u32]>) {
    let _ = shmem.local(data).get(1);
}

#[test]
fn memory_that_nobody_has_written_is_found_from_the_first_launch_on_and_on_the_host() {
    let (finding, _) = found(2, |shmem| {
        let data = shmem.alloc_uninit::<u32>(4)?;
        reads::launch(&shmem, SOLO, &data)?;
        shmem.barrier_all()
    });
    assert_eq!(finding.kind, Kind::NeverWritten, "{finding}");
    let (finding, _) = found(2, |shmem| shmem.alloc_uninit::<u32>(4)?.read().map(drop));
    assert_eq!(finding.kind, Kind::NeverWritten, "{finding}");
}

#[test]
fn an_event_orders_what_was_before_it() {
    silent(2, |shmem| {
        let (data, stream) = (shmem.device_zeroed::<u32>(64)?, shmem.stream()?);
        for _ in 0..3 {
            add_one::launch_on(&shmem, &stream, ONE, &data)?;
            let event = stream.record()?;
            event.synchronize()?;
            add_one::launch(&shmem, ONE, &data)?;
            let event = shmem.record()?;
            while !event.is_done()? {}
        }
        shmem.barrier_all()?;
        assert_eq!(data.read()?[63], 6);
        Ok(())
    });
    let report = oxshmem::check(&seeds(40), 2, |shmem| {
        let (data, stream) = (shmem.device_zeroed::<u32>(64)?, shmem.stream()?);
        let event = stream.record()?;
        add_one::launch_on(&shmem, &stream, ONE, &data)?;
        event.synchronize()?;
        add_one::launch(&shmem, ONE, &data)?;
        shmem.barrier_all()
    });
    let report = report.unwrap();
    assert!(report.findings.iter().any(|(finding, _)| finding.kind == Kind::DataRace), "{report}");
}

#[test]
fn a_later_error_keeps_what_was_found() {
    let runs = AtomicU32::new(0);
    let report = oxshmem::check(&CheckOptions { minimise: false, ..seeds(30) }, 2, |shmem| {
        let run = if shmem.my_pe() == 0 { runs.fetch_add(1, Ordering::Relaxed) } else { 0 };
        match shmem.all_gather(&run)?[0] {
            0 => overtakes(shmem),
            1 | 2 => shmem.barrier_all(),
            _ => Err(Error::other("made up")),
        }
    });
    let report = report.unwrap();
    assert!(!report.findings.is_empty(), "{report}");
    says(&report, &["error of the program", "made up", "OXSHMEM_CHECK_SEED="]);
    assert!(report.to_json()["error"]["what"].as_str().unwrap().contains("made up"));
}

#[test]
fn after_a_deadlock_the_hosts_calls_fail() {
    let passed = AtomicU32::new(0);
    let report = oxshmem::check(&seeds(3), 2, |shmem| {
        let never = shmem.alloc_signals(1)?;
        wait_for::launch(&shmem, SOLO, never.at(0), 1)?;
        shmem.barrier_all()?;
        passed.fetch_add(1, Ordering::Relaxed);
        Ok(())
    });
    assert_eq!(report.unwrap().findings[0].0.kind, Kind::Deadlock);
    assert_eq!(passed.into_inner(), 0);
}

/// Ends the whole job.
#[nvshmem_kernel]
fn gives_up(shmem: Collective, never: Sym<Signal>) {
    if shmem.my_pe() == 1 {
        shmem.thread().global_exit(3);
    }
    shmem.thread().wait_reached(never, 1);
}

#[test]
fn global_exit_is_no_mistake() {
    let ended = oxshmem::check(&seeds(10), 2, |shmem| {
        let never = shmem.alloc_signals(1)?;
        gives_up::launch(&shmem, SOLO, never.at(0))?;
        shmem.barrier_all()
    });
    let error = error(ended);
    assert!(matches!(error.root(), Error::GlobalExit { pe: 1, status: 3 }), "{error}");
    says(&error, &["again: OXSHMEM_CHECK=1 OXSHMEM_CHECK_SEED=1"]);
}

/// Panics before any operation.
#[nvshmem_kernel]
fn at_once(shmem: Shmem) {
    assert!(shmem.n_pes() == 0, "it is not");
}

#[test]
fn a_panic_before_any_operation_names_the_launch_and_is_all_that_is_found() {
    let (finding, report) = found(2, |shmem| {
        at_once::launch(&shmem, LaunchConfig::blocks(1).threads(40))?;
        shmem.barrier_all()
    });
    assert_eq!((finding.kind, report.findings.len()), (Kind::Panicked, 1), "{report}");
    says(&finding, &["after launch at", "host-runtime/tests/check.rs", "it is not"]);
}

#[test]
fn a_launch_by_a_thread_that_is_no_pes_own_is_refused() {
    let refused = oxshmem::check(&seeds(2), 2, |shmem| {
        let data = shmem.alloc_zeroed::<u32>(4)?;
        let other = move || touch::launch(&shmem, SOLO, &data);
        std::thread::scope(|scope| scope.spawn(other).join().unwrap())
    });
    says(error(refused), &["a thread that is no PE's own launches"]);
}

#[test]
fn a_closure_that_waits_by_other_means_is_found_soon() {
    let meet = std::sync::Barrier::new(2);
    let options = CheckOptions { patience: Duration::from_millis(20), ..seeds(200) };
    let report = oxshmem::check(&options, 2, |shmem| {
        shmem.barrier_all()?;
        meet.wait();
        shmem.barrier_all()
    });
    let report = report.unwrap();
    assert_eq!((report.runs, report.findings[0].0.kind), (1, Kind::NoProgress), "{report}");
    says(&report, &["by other means"]);
}

/// Reads the first element.
#[nvshmem_kernel]
fn reads_first(shmem: Shmem, data: Sym<[u32]>) {
    let _ = shmem.local(data).get(0);
}

#[test]
fn a_host_put_under_another_pes_kernel_is_found() {
    let (finding, _) = found(2, |shmem| {
        let data = shmem.alloc_zeroed::<u32>(8)?;
        shmem.barrier_all()?;
        match shmem.my_pe() {
            0 => shmem.put(data.slice(0, 3), &[1, 2, 3], 1)?,
            _ => reads_first::launch(&shmem, SOLO, &data)?,
        }
        shmem.barrier_all()
    });
    assert_eq!(finding.kind, Kind::DataRace, "{finding}");
    says(finding.to_string(), &["[0] of PE 1", "check.rs"]);
}

#[test]
fn host_operations_in_order_are_silent() {
    silent(3, |shmem| {
        let (me, n) = (shmem.my_pe(), shmem.n_pes());
        let (data, all) = (shmem.alloc_zeroed::<u32>(8)?, shmem.alloc_zeroed::<u32>(8)?);
        let (ready, count) = (shmem.alloc_signals(1)?, shmem.alloc_atomics::<u32>(1, Reach::World)?);
        let next = (me + 1) % n;
        // The data before its signal, which the next PE's kernel waits for before it reads.
        shmem.put(&data, &[me; 8], next)?;
        shmem.signal(ready.at(0), SignalOp::Set(1), next)?;
        wait_then_read::launch(&shmem, SOLO, &data, ready.at(0))?;
        shmem.atomic_add(count.at(0), 1, 0)?;
        shmem.barrier_all()?;
        assert_eq!(shmem.atomic_fetch(count.at(0), 0)?, n);
        assert_eq!((data.read()?, shmem.g(data.at(3), next)?), (vec![(me + n - 1) % n; 8], me));
        // A kernel's put, completed by the host before it tells another PE.
        put_to::launch(&shmem, SOLO, &all, &data, next)?;
        shmem.quiet()?;
        shmem.signal(ready.at(0), SignalOp::Set(2), next)?;
        wait_then_read_again::launch(&shmem, SOLO, &all, ready.at(0))?;
        shmem.barrier_all()
    });
}

#[nvshmem_kernel]
fn wait_then_read(shmem: Collective, data: Sym<[u32]>, ready: Sym<Signal>) {
    shmem.thread().wait_reached(ready, 1);
    let _ = shmem.local(data).get(0);
}

#[nvshmem_kernel]
fn wait_then_read_again(shmem: Collective, data: Sym<[u32]>, ready: Sym<Signal>) {
    shmem.thread().wait_reached(ready, 2);
    let _ = shmem.local(data).get(0);
}

#[test]
fn a_host_get_of_what_a_kernel_writes_is_found() {
    let (finding, _) = found(2, |shmem| {
        let (data, src) = (shmem.alloc_zeroed::<u32>(8)?, shmem.alloc_zeroed::<u32>(8)?);
        match shmem.my_pe() {
            0 => put_to::launch(&shmem, SOLO, &data, &src, 1)?,
            _ => _ = shmem.g(data.at(2), 1)?,
        }
        shmem.barrier_all()
    });
    assert_eq!(finding.kind, Kind::DataRace, "{finding}");
    says(finding.to_string(), &["[2] of PE 1"]);
}

#[test]
fn operations_on_streams_in_order_are_silent() {
    silent(3, |shmem| {
        let (me, n) = (shmem.my_pe(), shmem.n_pes());
        let (next, prev) = ((me + 1) % n, (me + n - 1) % n);
        let (data, all, got) =
            (shmem.alloc_zeroed::<u32>(5)?, shmem.alloc_zeroed::<u32>(5)?, shmem.alloc_zeroed::<u32>(5)?);
        let (ready, count) = (shmem.alloc_signals(2)?, shmem.alloc_atomics::<u32>(1, Reach::World)?);
        let (first, second) = (shmem.stream()?, shmem.stream()?);
        let (local, old) = (shmem.device_from_slice(&[me; 5])?, shmem.device_zeroed::<u32>(1)?);
        add_one::launch_on(&shmem, &first, SOLO, &local)?;
        shmem.put_signal_on(&first, &data, &local, ready.at(0), SignalOp::Set(1), next)?;
        shmem.wait_until_on(&first, ready.at(0), Cmp::Ge, 1)?;
        reads_first::launch_on(&shmem, &first, SOLO, &data)?;
        // A strong signal covers the put before it on its stream; what it covers, another stream may use after the event.
        shmem.put_on(&first, &all, &local, next)?;
        shmem.signal_on(&first, ready.at(1), SignalOp::Add(1), next)?;
        shmem.wait_reached_on(&first, ready.at(1), 1)?;
        second.wait_event(&first.record()?)?;
        reads_first::launch_on(&shmem, &second, SOLO, &all)?;
        shmem.atomic_fetch_add_on(&second, &old, count.at(0), 1, next)?;
        add_one::launch_on(&shmem, &second, SOLO, &old)?;
        shmem.barrier_all_on(&second)?;
        shmem.get_on(&second, &got, &all, next)?;
        second.synchronize()?;
        assert_eq!((data.read()?, got.read()?, old.read()?), (vec![prev + 1; 5], vec![me + 1; 5], vec![1]));
        shmem.barrier_all()
    });
}

#[test]
fn a_put_on_a_stream_that_no_signal_covers_is_found_at_its_line() {
    let (finding, _) = found(2, |shmem| {
        let (data, src) = (shmem.alloc_zeroed::<u32>(8)?, shmem.alloc_zeroed::<u32>(8)?);
        let (ready, stream) = (shmem.alloc_signals(1)?, shmem.stream()?);
        match shmem.my_pe() {
            // The signal comes first.
            0 => {
                shmem.signal_on(&stream, ready.at(0), SignalOp::Set(1), 1)?;
                shmem.put_on(&stream, &data, &src, 1)?; // the put that is found
            }
            _ => {
                shmem.wait_until_on(&stream, ready.at(0), Cmp::Ge, 1)?;
                reads_first::launch_on(&shmem, &stream, SOLO, &data)?;
            }
        }
        shmem.barrier_all()
    });
    let line = include_str!("check.rs").lines().position(|line| line.contains("// the put that is found"));
    let lines: Vec<_> =
        [&finding.first, &finding.second].into_iter().flatten().map(|p| p.location.line()).collect();
    assert!(lines.contains(&(line.unwrap() as u32 + 1)), "{finding}");
    assert_eq!(finding.kind, Kind::DataRace, "{finding}");
}

#[test]
fn two_streams_without_an_event_race() {
    let (finding, _) = found(1, |shmem| {
        let (data, src) = (shmem.alloc_zeroed::<u32>(8)?, shmem.alloc_zeroed::<u32>(8)?);
        let (first, second) = (shmem.stream()?, shmem.stream()?);
        shmem.put_on(&first, &data, &src, 0)?;
        reads_first::launch_on(&shmem, &second, SOLO, &data)?;
        shmem.barrier_all()
    });
    assert_eq!(finding.kind, Kind::DataRace, "{finding}");
}

#[test]
fn a_wait_on_a_stream_for_a_signal_that_nobody_sends_is_a_deadlock_at_its_line() {
    let (finding, _) = found(2, |shmem| {
        let (ready, stream) = (shmem.alloc_signals(1)?, shmem.stream()?);
        shmem.wait_until_on(&stream, ready.at(0), Cmp::Eq, 3)?;
        shmem.barrier_all()
    });
    assert_eq!(finding.kind, Kind::Deadlock, "{finding}");
    says(finding.to_string(), &["[0] == 3, saw 0", "host-runtime/tests/check.rs"]);
}

#[test]
fn a_graph_in_order_is_silent_and_one_that_races_with_itself_is_found() {
    let run = |barrier: bool| {
        move |shmem: oxshmem::Shmem| {
            let (other, stream) = (1 - shmem.my_pe(), shmem.stream()?);
            let (data, local) = (shmem.alloc_zeroed::<u32>(8)?, shmem.device_zeroed::<u32>(8)?);
            let graph = stream.capture(|| {
                add_one::launch_on(&shmem, &stream, SOLO, &local)?;
                shmem.put_on(&stream, &data, &local, other)?;
                shmem.barrier_all_on(&stream)?;
                reads_first::launch_on(&shmem, &stream, SOLO, &data)?;
                // Else the next round's put may come before this one's read.
                if barrier { shmem.barrier_all_on(&stream) } else { Ok(()) }
            })?;
            for _ in 0..3 {
                graph.launch(&stream)?;
            }
            shmem.barrier_all()
        }
    };
    silent(2, run(true));
    let (finding, _) = found(2, run(false));
    assert_eq!(finding.kind, Kind::DataRace, "{finding}");
}
