//! Elements at a stride and one element, by the host, on a stream and from a graph: of all sizes of elements, from local and
//! symmetric memory; and strides that fit nothing.

mod common;

use bytemuck::Pod;
use common::*;
use oxshmem::{Error, Shmem};
use std::fmt::Debug;

/// How an operation is made.
#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    Blocking,
    OnStream,
    FromGraph,
}

const HOWS: [How; 3] = [How::Blocking, How::OnStream, How::FromGraph];
/// Count, stride of the target, stride of the source.
const STRIDES: [(u64, u64, u64); 6] = [(0, 1, 1), (1, 5, 9), (7, 1, 3), (33, 3, 1), (40, 2, 2), (120, 1, 1)];
const LEN: usize = 130;

/// Puts to the next PE and gets from it, and compares every element, also those that are not to be touched.
fn strided<T: Pod + PartialEq + Debug>(
    shmem: &Shmem,
    how: How,
    value: impl Fn(u32, usize) -> T,
) -> oxshmem::Result<()> {
    let (me, n, stream) = (shmem.my_pe(), shmem.n_pes(), shmem.stream()?);
    let (next, prev) = ((me + 1) % n, (me + n - 1) % n);
    let own = shmem.alloc_from_fn(LEN, |i| value(me, i))?;
    let local = shmem.device_from_slice(&(0..LEN).map(|i| value(me, i)).collect::<Vec<T>>())?;
    let (put, got) = (shmem.alloc_zeroed::<T>(LEN)?, shmem.device_zeroed::<T>(LEN)?);
    for (round, (count, to, from)) in STRIDES.into_iter().enumerate() {
        put.fill(T::zeroed())?;
        got.write(&[T::zeroed(); LEN])?;
        shmem.barrier_all()?;
        let on_stream = || {
            match round % 2 {
                0 => shmem.iput_on(&stream, &put, &own, to, from, count, next)?,
                _ => shmem.iput_on(&stream, &put, &local, to, from, count, next)?,
            }
            shmem.iget_on(&stream, &got, &own, to, from, count, next)
        };
        match how {
            How::Blocking => {
                match round % 2 {
                    0 => shmem.iput(&put, &own, to, from, count, next)?,
                    _ => shmem.iput(&put, &local, to, from, count, next)?,
                }
                shmem.iget(&got, &own, to, from, count, next)?;
            }
            How::OnStream => on_stream()?,
            How::FromGraph => stream.capture(on_stream)?.launch(&stream)?,
        }
        shmem.barrier_all()?;
        let expected = |pe: u32| -> Vec<T> {
            let mut all = vec![T::zeroed(); LEN];
            (0..count).for_each(|k| all[(k * to) as usize] = value(pe, (k * from) as usize));
            all
        };
        assert_eq!(put.read()?, expected(prev), "{how:?} iput {count} {to} {from}");
        assert_eq!(got.read()?, expected(next), "{how:?} iget {count} {to} {from}");
        shmem.barrier_all()?;
    }
    Ok(())
}

#[test]
fn elements_of_all_sizes_move_at_a_stride() {
    emulated(3)
        .run(|shmem| {
            for how in HOWS {
                strided(&shmem, how, |pe, i| (pe << 6) as u8 ^ i as u8)?;
                strided(&shmem, how, |pe, i| (pe << 12) as u16 ^ i as u16)?;
                strided(&shmem, how, |pe, i| pe as f32 * 1000.0 + i as f32)?;
                strided(&shmem, how, |pe, i| u64::from(pe) << 40 | i as u64)?;
                strided(&shmem, how, |pe, i| u128::from(pe) << 100 | i as u128)?;
                // Of several words.
                strided(&shmem, how, |pe, i| [pe as u8, i as u8, 7])?;
                strided(&shmem, how, |pe, i| [u64::from(pe), i as u64, 1, 2, 3])?;
            }
            strided(&shmem, How::OnStream, |_, _| [0u32; 0])
        })
        .unwrap();
}

#[test]
fn one_element_comes_in_the_order_of_its_stream() {
    emulated(2)
        .run(|shmem| {
            let (me, stream) = (shmem.my_pe(), shmem.stream()?);
            let (data, into) =
                (shmem.alloc_from_fn(9, |i| [me, i as u32, 5])?, shmem.device_zeroed::<[u32; 3]>(1)?);
            let symmetric = shmem.alloc_zeroed::<[u32; 3]>(4)?;
            shmem.barrier_all()?;
            let graph = stream.capture(|| {
                shmem.g_on(&stream, &into, data.at(7), 1 - me)?;
                shmem.g_on(&stream, symmetric.slice(2, 1), data.at(8), me)
            })?;
            graph.launch(&stream)?;
            stream.synchronize()?;
            assert_eq!(into.read()?, [[1 - me, 7, 5]]);
            assert_eq!(symmetric.read()?[1..], [[0; 3], [me, 8, 5], [0; 3]]);
            let refused = error(shmem.g_on(&stream, &symmetric, data.at(0), me));
            says(refused, &["g_on: the target has 4 elements, the source 1"]);
            shmem.barrier_all()
        })
        .unwrap();
}

#[test]
fn what_does_not_lie_there_is_refused_and_nothing_is_moved() {
    emulated(2)
        .run(|shmem| {
            let stream = shmem.stream()?;
            let (data, local) = (shmem.alloc_zeroed::<u32>(10)?, shmem.device_from_slice(&[1u32; 10])?);
            for (to, from, count, says_so) in [
                (0, 1, 2, "0 apart, do not lie in the target's 10"),
                (1, 0, 1, "0 apart, do not lie in the source's 10"),
                (3, 1, 5, "5 elements, 3 apart, do not lie in the target's 10"),
                (1, 1, 11, "11 elements"),
                (1, u64::MAX, 3, "do not lie in the source's 10"),
            ] {
                let refused = [
                    error(shmem.iput(&data, &local, to, from, count, 1)),
                    error(shmem.iput_on(&stream, &data, &local, to, from, count, 1)),
                ];
                for refused in refused {
                    assert!(matches!(refused, Error::Strides(_)), "{refused}");
                    says(refused, &[says_so]);
                }
            }
            says(error(shmem.iget(&local, &data, 1, 1, 3, 2)), &["iget names PE 2", "the job has 2"]);
            shmem.barrier_all()?;
            assert_eq!(data.read()?, [0; 10]);
            shmem.barrier_all()
        })
        .unwrap();
}

#[test]
fn memory_that_is_only_read_is_a_source() {
    let sources = [[7u32, 0, 8, 9], [1, 2, 3, 4]];
    emulated(2)
        .run(|shmem| {
            let (other, inbox) = (1 - shmem.my_pe(), shmem.alloc_zeroed::<u32>(6)?);
            // SAFETY: it is the test's, which outlives the run, and nobody writes it.
            let source =
                unsafe { shmem.buffer_register_source(sources[shmem.my_pe() as usize].as_ptr(), 4, ())? };
            shmem.iput(&inbox, &source, 1, 2, 2, other)?;
            shmem.iput_on(&shmem.stream()?, inbox.slice(3, 3), &source, 2, 3, 2, other)?;
            shmem.barrier_all()?;
            let expected = [[1, 3, 0, 1, 0, 4], [7, 8, 0, 7, 0, 9]];
            assert_eq!(inbox.read()?, expected[shmem.my_pe() as usize]);
            shmem.buffer_unregister(source)
        })
        .unwrap();
}
