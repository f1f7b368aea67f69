//! Graphs: recorded once, run often, with data that changes; what cannot be recorded; what a graph's failure says.

mod common;

use common::*;
use oxshmem::{Error, Graph, Reach, SignalOp};
use oxshmem_device::prelude::*;
use oxshmem_emulator::MachineConfig;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// Writes data of this round, which is counted in `round`.
#[nvshmem_kernel]
fn produce(shmem: Shmem, round: Global<[u64]>, data: Global<[u64]>) {
    let (block, round, data) = (shmem.block(), shmem.local(round), shmem.local(data));
    if block.is_leader() {
        round.set(0, round.get(0) + 1);
    }
    block.sync();
    let mut i = block.rank();
    while i < data.len() {
        data.set(i, (u64::from(shmem.my_pe()) << 32) + round.get(0) * 1000 + i);
        i += block.size();
    }
}

/// Counts elements that are not those of this round from PE `from`.
#[nvshmem_kernel]
fn verify(shmem: Shmem, round: Global<[u64]>, data: Sym<[u64]>, wrong: Global<[u64]>, from: u32) {
    let (block, round, data, wrong) =
        (shmem.block(), shmem.local(round), shmem.local(data), shmem.local(wrong));
    let mut i = block.rank();
    while i < data.len() {
        if data.get(i) != (u64::from(from) << 32) + round.get(0) * 1000 + i {
            wrong.set(i, wrong.get(i) + 1);
        }
        i += block.size();
    }
}

const ELEMENTS: usize = 67;

#[test]
fn a_graph_runs_a_thousand_times_and_every_round_has_its_own_data() {
    emulated(3)
        .run(|shmem| {
            let (me, n, stream) = (shmem.my_pe(), shmem.n_pes(), shmem.stream()?);
            let (next, prev) = ((me + 1) % n, (me + n - 1) % n);
            let (round, local) = (shmem.device_zeroed::<u64>(1)?, shmem.device_zeroed::<u64>(ELEMENTS)?);
            let wrong = shmem.device_zeroed::<u64>(ELEMENTS)?;
            let (put, got) = (shmem.alloc_zeroed::<u64>(ELEMENTS)?, shmem.alloc_zeroed::<u64>(ELEMENTS)?);
            let (ready, count) = (shmem.alloc_signals(1)?, shmem.alloc_atomics::<u64>(1, Reach::World)?);
            let shape = ONE.threads(32);
            let graph = stream.capture(|| {
                produce::launch_on(&shmem, &stream, shape, &round, &local)?;
                shmem.put_signal_on(&stream, &put, &local, ready.at(0), SignalOp::Set(1), next)?;
                shmem.wait_until_on(&stream, ready.at(0), Cmp::Eq, 1)?;
                verify::launch_on(&shmem, &stream, shape, &round, &put, &wrong, prev)?;
                // The next round's signal must find the word as this one did.
                shmem.signal_on(&stream, ready.at(0), SignalOp::Set(0), me)?;
                shmem.barrier_all_on(&stream)?;
                shmem.get_on(&stream, &got, &put, prev)?;
                verify::launch_on(&shmem, &stream, shape, &round, &got, &wrong, (prev + n - 1) % n)?;
                shmem.atomic_add_on(&stream, count.at(0), 1, 0)?;
                shmem.barrier_all_on(&stream)
            })?;
            assert_eq!((graph.len(), graph.is_empty()), (10, false));
            assert!(stream.is_idle()?, "nothing has run");
            assert_eq!(round.read()?, [0]);
            for replay in 1..=1000u64 {
                graph.launch(&stream)?;
                if replay % 100 == 0 {
                    stream.synchronize()?;
                    assert_eq!(round.read()?, [replay]);
                    let expected = |i: usize| (u64::from(prev) << 32) + replay * 1000 + i as u64;
                    assert_eq!(put.read()?, (0..ELEMENTS).map(expected).collect::<Vec<_>>());
                    // Only then may the next round come.
                    shmem.barrier_all()?;
                }
            }
            shmem.barrier_all()?;
            assert_eq!(wrong.read()?, [0; ELEMENTS]);
            if me == 0 {
                assert_eq!(count.values()?, [1000 * u64::from(n)]);
            }
            shmem.barrier_all()
        })
        .unwrap();
}

#[test]
fn the_verifying_kernel_sees_a_round_that_is_missing() {
    // The test above could not fail otherwise.
    alone(|shmem| {
        let (round, data) = (shmem.device_from_slice(&[2u64])?, shmem.alloc_from_fn(3, |i| 1000 + i as u64)?);
        let wrong = shmem.device_zeroed::<u64>(3)?;
        verify::launch(shmem, ONE, &round, &data, &wrong, 0)?;
        assert_eq!(wrong.read()?, [1; 3]);
        Ok(())
    });
}

#[test]
fn the_host_changes_data_between_two_launches() {
    emulated(2)
        .run(|shmem| {
            let (other, stream) = (1 - shmem.my_pe(), shmem.stream()?);
            let (src, dst) = (shmem.alloc_zeroed::<u32>(9)?, shmem.alloc_zeroed::<u32>(9)?);
            let graph = stream.capture(|| {
                shmem.put_on(&stream, &dst, &src, other)?;
                shmem.barrier_all_on(&stream)
            })?;
            for round in 1..20 {
                src.fill(round)?;
                graph.launch(&stream)?;
                stream.synchronize()?;
                assert_eq!(dst.read()?, [round; 9]);
                shmem.barrier_all()?;
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn what_cannot_be_recorded_is_an_error_and_the_stream_goes_on() {
    emulated(2)
        .run(|shmem| {
            let (me, stream, other) = (shmem.my_pe(), shmem.stream()?, shmem.stream()?);
            let (data, signals) = (shmem.alloc_zeroed::<u32>(4)?, shmem.alloc_signals(1)?);
            let (local, words) =
                (shmem.device_zeroed::<u32>(4)?, shmem.alloc_atomics::<u32>(1, Reach::Node)?);
            let (earlier, sevens) = (other.record()?, shmem.device_from_slice(&[7u32; 4])?);
            let mut mine = [0u32; 4];
            let graph = stream.capture(|| {
                add_one::launch_on(&shmem, &stream, ONE, &local)?;
                for refused in [
                    error(stream.synchronize()),
                    error(shmem.synchronize()),
                    error(shmem.barrier_all()),
                    error(shmem.quiet()),
                    error(shmem.alloc_zeroed::<u32>(4)),
                    error(shmem.all_gather(&1u32)),
                    error(shmem.device_zeroed::<u32>(4)),
                    error(data.read()),
                    error(data.write(&[1])),
                    error(local.read()),
                    error(signals.set(0, 1)),
                    error(shmem.put(&data, &[1; 4], 0)),
                    error(shmem.get(&mut mine, &data, 0)),
                    error(shmem.g(data.at(0), 0)),
                    error(shmem.signal(signals.at(0), SignalOp::Set(1), 0)),
                    error(shmem.atomic_fetch(words.at(0), 0)),
                    error(stream.is_idle()),
                    error(stream.record()),
                    error(stream.wait_event(&earlier)),
                    error(earlier.synchronize()),
                    error(stream.capture(|| Ok(()))),
                    error(other.capture(|| Ok(()))),
                ] {
                    assert!(matches!(refused, Error::Capturing { stream: 1, .. }), "{refused}");
                    says(refused, &[&format!("PE {me}: "), "stream 1 records a graph"]);
                }
                // What is wrong in itself is that, and not recorded.
                assert!(matches!(error(shmem.put_on(&stream, &data, &local, 9)), Error::NoSuchPe { .. }));
                // Other streams run.
                shmem.put_on(&other, data.slice(0, 4), &sevens, 1 - me)?;
                add_one::launch_on(&shmem, &stream, ONE, &local)
            })?;
            assert_eq!(graph.len(), 2);
            graph.launch(&stream)?;
            add_one::launch_on(&shmem, &stream, ONE, &local)?;
            assert_eq!(local.read()?, [3; 4]);
            shmem.barrier_all()?;
            assert_eq!(data.read()?, [7; 4]);
            shmem.free(data)
        })
        .unwrap();
}

#[test]
fn a_recording_that_fails_or_panics_leaves_the_stream_as_it_was() {
    alone(|shmem| {
        let (stream, local) = (shmem.stream()?, shmem.device_zeroed::<u32>(4)?);
        for _ in 0..300 {
            let failed = stream.capture(|| {
                add_one::launch_on(shmem, &stream, ONE, &local)?;
                Err(Error::other("not today"))
            });
            says(error(failed), &["not today"]);
        }
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            stream.capture(|| {
                add_one::launch_on(shmem, &stream, ONE, &local)?;
                panic!("in the middle")
            })
        }));
        assert!(panicked.is_err());
        add_one::launch_on(shmem, &stream, ONE, &local)?;
        stream.synchronize()?;
        assert_eq!(local.read()?, [1; 4]);
        let graph = stream.capture(|| add_one::launch_on(shmem, &stream, ONE, &local))?;
        graph.launch(&stream)?;
        assert_eq!(local.read()?, [2; 4]);
        Ok(())
    });
}

#[test]
fn a_graph_whose_memory_is_gone_is_an_error() {
    alone(|shmem| {
        let (stream, kept) = (shmem.stream()?, shmem.device_zeroed::<u32>(4)?);
        let (local, data) = (shmem.device_zeroed::<u32>(4)?, shmem.alloc_zeroed::<u32>(4)?);
        let record = |what: &dyn Fn() -> oxshmem::Result<()>| {
            stream.capture(|| {
                add_one::launch_on(shmem, &stream, ONE, &kept)?;
                what()
            })
        };
        let on_local = record(&|| add_one::launch_on(shmem, &stream, ONE, &local))?;
        let on_heap = record(&|| shmem.put_on(&stream, &data, &kept, 0))?;
        let team = shmem.team_split_strided(&shmem.team_world(), 0, 1, 1)?.expect("the only PE");
        let on_team = record(&|| names_a_team::launch_on(shmem, &stream, ONE, &team))?;
        for graph in [&on_local, &on_heap, &on_team] {
            graph.launch(&stream)?;
        }
        let address = format!("{:?}", local.handle());
        drop(local);
        says(error(on_local.launch(&stream)), &["add_one", "dropped"]);
        // Other memory in its place is not what was recorded.
        stream.synchronize()?;
        let others: Vec<_> = (0..8).map(|_| shmem.device_zeroed::<u32>(4)).collect::<oxshmem::Result<_>>()?;
        assert!(
            others.iter().any(|other| format!("{:?}", other.handle()) == address),
            "it is at the same place"
        );
        says(error(on_local.launch(&stream)), &["add_one", "dropped"]);
        on_heap.launch(&stream)?;
        shmem.free(data)?;
        let gone = error(on_heap.launch(&stream));
        assert!(matches!(gone, Error::BadHandle { .. }), "{gone}");
        on_team.launch(&stream)?;
        shmem.team_destroy(team)?;
        let gone = error(on_team.launch(&stream));
        assert!(matches!(gone, Error::BadTeam { .. }), "{gone}");
        // Those that were refused have run in no part.
        assert_eq!(kept.read()?, [5; 4]);
        Ok(())
    });
}

#[nvshmem_kernel]
fn names_a_team(shmem: Shmem, team: Team) {
    let _ = shmem.team(team).n_pes();
}

#[test]
fn a_graph_on_two_streams_never_runs_beside_itself() {
    emulated(2)
        .run(|shmem| {
            let (first, second) = (shmem.stream()?, shmem.stream()?);
            let (met, local) = (shmem.alloc_zeroed::<u32>(1)?, shmem.device_zeroed::<u32>(1)?);
            // Blocks that meet by the graph's grid-barrier word, of which two launches at once would make a mess.
            let shape = LaunchConfig::blocks(3).threads(32);
            let graph = first.capture(|| {
                meet::launch_on(&shmem, &first, shape, &met)?;
                add_one::launch_on(&shmem, &first, ONE, &local)?;
                shmem.barrier_all_on(&first)
            })?;
            for _ in 0..30 {
                graph.launch(&first)?;
                graph.launch(&second)?;
                // The stream that recorded it has another word than the graph.
                meet::launch_on(&shmem, &first, shape, &met)?;
            }
            shmem.barrier_all()?;
            assert_eq!(local.read()?, [60]);
            let met = met.read()?[0];
            // The stream's own kernel and the graph may count at the same time.
            assert!((60..=90).contains(&met), "{met}");
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_wait_in_a_graph_that_expires_names_its_kernel_after_any_number_of_launches() {
    let config = emulated(2).deadline(Duration::from_millis(300));
    config
        .run(|shmem| {
            let (me, stream) = (shmem.my_pe(), shmem.stream()?);
            let (local, signals) = (shmem.device_zeroed::<u32>(1)?, shmem.alloc_signals(1)?);
            let graph = stream.capture(|| {
                add_one::launch_on(&shmem, &stream, ONE, &local)?;
                wait_for::launch_on(&shmem, &stream, ONE.threads(32), signals.at(0), 1)
            })?;
            signals.set(0, 1)?;
            for _ in 0..400 {
                graph.launch(&stream)?;
                add_one::launch_on(&shmem, &stream, ONE, &local)?;
            }
            stream.synchronize()?;
            signals.set(0, 0)?;
            shmem.barrier_all()?;
            if me == 1 {
                graph.launch(&stream)?;
            }
            let failed = error(shmem.barrier_all());
            let Error::Poisoned(failure) = &failed else { panic!("{failed}") };
            assert_eq!((failure.pe, failure.node, failure.launch), (1, Some(2), 0));
            says(&failed, &["wait_reached on signal", "wait_for (number 2 of a graph)"]);
            assert!(matches!(error(graph.launch(&stream)), Error::Poisoned(_)));
            shmem.recover()?;
            signals.set(0, 1)?;
            graph.launch(&stream)?;
            shmem.barrier_all()?;
            assert_eq!(local.read()?, [801 + me]);
            Ok(())
        })
        .unwrap();
}

fn two_multiprocessors(threads_per_sm: u32) -> MachineConfig {
    let memory_per_device = Some(64 << 20);
    MachineConfig { sms: 2, threads_per_sm, memory_per_device, ..MachineConfig::default() }
}

#[test]
fn a_graph_holds_the_room_of_its_largest_kernel_until_it_is_over() {
    emulated(1)
        .emulated(two_multiprocessors(1024))
        .run(|shmem| {
            let (stream, other, signals) = (shmem.stream()?, shmem.stream()?, shmem.alloc_signals(2)?);
            let full = |blocks| LaunchConfig::blocks(blocks).threads(1024);
            let graph = stream.capture(|| {
                wait_for::launch_on(&shmem, &stream, full(1), signals.at(0), 1)?;
                wait_for::launch_on(&shmem, &stream, full(2), signals.at(1), 0)?;
                let refused = error(wait_for::launch_on(&shmem, &stream, full(3), signals.at(0), 1));
                assert!(matches!(refused, Error::NotCoResident { needed: 3, available: 2, .. }), "{refused}");
                Ok(())
            })?;
            assert_eq!(graph.len(), 2);
            // A recording holds nothing.
            wait_for::launch_on(&shmem, &other, full(2), signals.at(0), 0)?;
            other.synchronize()?;
            graph.launch(&stream)?;
            let refused = error(wait_for::launch_on(&shmem, &other, full(1), signals.at(1), 0));
            assert!(matches!(refused, Error::NotCoResident { held: 2, .. }), "{refused}");
            shmem.signal(signals.at(0), SignalOp::Set(1), 0)?;
            stream.synchronize()?;
            wait_for::launch_on(&shmem, &other, full(2), signals.at(1), 0)?;
            let refused = error(graph.launch(&stream));
            assert!(matches!(refused, Error::NotCoResident { .. }), "{refused}");
            says(refused, &["(graph)"]);
            other.synchronize()?;
            graph.launch(&stream)?;
            stream.synchronize()
        })
        .unwrap();
}

#[test]
fn pes_of_one_device_see_what_a_graph_holds() {
    emulated(2)
        .emulated(two_multiprocessors(1536))
        .run(|shmem| {
            let (me, stream, signals) = (shmem.my_pe(), shmem.stream()?, shmem.alloc_signals(1)?);
            // Two blocks fit on a multiprocessor, of those of 512 threads three: PE 0 holds the room of four of six.
            let shape = LaunchConfig::blocks(2).threads(704);
            let graph = stream.capture(|| wait_for::launch_on(&shmem, &stream, shape, signals.at(0), 1))?;
            if me == 0 {
                graph.launch(&stream)?;
            }
            shmem.all_gather(&0u32)?;
            if me == 1 {
                assert_eq!(shmem.resident_blocks::<wait_for>(512)?, 2);
                shmem.signal(signals.at(0), SignalOp::Set(1), 0)?;
            }
            shmem.barrier_all()?;
            assert_eq!(shmem.resident_blocks::<wait_for>(512)?, 3);
            shmem.barrier_all()
        })
        .unwrap();
}

#[test]
fn graphs_and_streams_share_their_places_and_give_them_back() {
    alone(|shmem| {
        let (stream, local) = (shmem.stream()?, shmem.device_zeroed::<u32>(1)?);
        let record = || stream.capture(|| add_one::launch_on(shmem, &stream, ONE, &local));
        for round in 0..600 {
            let graph = record()?;
            graph.launch(&stream)?;
            // It is dropped while it may run, and its place is free once that is known to be over.
            if round % 100 == 99 {
                stream.synchronize()?;
            }
        }
        stream.synchronize()?;
        assert_eq!(local.read()?, [600]);
        let mut graphs: Vec<Graph> = Vec::new();
        let refused = loop {
            match record() {
                Ok(graph) => graphs.push(graph),
                Err(error) => break error,
            }
        };
        assert!(matches!(refused, Error::TooManyStreams { limit: 256 }), "{refused}");
        // The default stream, and `stream`.
        assert_eq!(graphs.len(), 254);
        graphs.pop();
        record()?.launch(&stream)?;
        stream.synchronize()?;
        drop(graphs);
        shmem.stream().map(drop)
    });
}

#[test]
fn a_graph_of_nothing_and_one_that_outlives_its_run() {
    let mut kept = None;
    let kept_by = std::sync::Mutex::new(&mut kept);
    emulated(1)
        .run(|shmem| {
            let stream = shmem.stream()?;
            let graph = stream.capture(|| Ok(()))?;
            assert!(graph.is_empty());
            graph.launch(&stream)?;
            stream.synchronize()?;
            **kept_by.lock().unwrap() = Some((graph, stream));
            Ok(())
        })
        .unwrap();
    let (graph, stream) = kept.unwrap();
    says(error(graph.launch(&stream)), &["after the run that made it was over"]);
}

#[test]
fn a_graph_of_another_pe_is_an_error() {
    let graphs = std::sync::Mutex::new(Vec::new());
    emulated(2)
        .run(|shmem| {
            let stream = shmem.stream()?;
            graphs.lock().unwrap().push((shmem.my_pe(), stream.capture(|| Ok(()))?));
            shmem.barrier_all()?;
            let all = graphs.lock().unwrap();
            let (_, foreign) = all.iter().find(|(pe, _)| *pe != shmem.my_pe()).unwrap();
            assert!(matches!(error(foreign.launch(&stream)), Error::WrongOwner { .. }));
            Ok(())
        })
        .unwrap();
    drop(graphs);
}
