//! What the operations are to bring: made on the host from what each PE gives, which every PE knows.
#![allow(unreachable_pub)]

use oxshmem::{Combined, Operator, Parts, Result, Shmem, Stream, SymVec, Team};
use oxshmem_device::bytemuck::Pod;
use oxshmem_device::{Reduction, bf16, f16};

/// An element of a test.
pub trait Sample: Pod + PartialEq + std::fmt::Debug + Send + Sync {
    /// Made of some bits: small ones where sums must be exact.
    fn of(bits: u64) -> Self;
}

macro_rules! sample {
    ($($ty:ty: |$bits:ident| $of:expr;)*) => {
        $(
            impl Sample for $ty {
                fn of($bits: u64) -> Self {
                    $of
                }
            }
        )*
    };
}
sample! {
    u8: |bits| bits as u8;
    i8: |bits| bits as i8;
    u16: |bits| bits as u16;
    i16: |bits| bits as i16;
    u32: |bits| bits as u32;
    i32: |bits| bits as i32;
    u64: |bits| bits;
    i64: |bits| bits as i64;
    usize: |bits| bits as usize;
    isize: |bits| bits as isize;
    u128: |bits| u128::from(bits) << 60 | 3;
    [u8; 3]: |bits| [bits as u8, (bits >> 8) as u8, 7];
    [u64; 5]: |bits| [bits, bits >> 3, 5, 6, !bits];
    f16: |bits| f16::from_f64((bits % 5) as f64 - 2.0);
    bf16: |bits| bf16::from_f64((bits % 5) as f64 - 2.0);
    f32: |bits| (bits % 1000) as f32 - 500.0;
    f64: |bits| (bits % 1000) as f64 - 500.0;
}

/// Element `i` of what PE `pe` of a team gives.
fn given<T: Sample>(pe: usize, i: usize) -> T {
    let x =
        (pe as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (i as u64).wrapping_mul(0xd1b5_4a32_d192_ed03);
    T::of(x ^ x >> 29)
}

/// What the tests of one number of elements use: made by all PEs, for each team of them.
pub struct Bench<'a, T: Sample> {
    shmem: &'a Shmem,
    stream: &'a Stream,
    count: usize,
    a: SymVec<T>,
    b: SymVec<T>,
    numbers: [SymVec<u64>; 4],
}

impl<'a, T: Sample> Bench<'a, T> {
    /// With room for a part of `count` elements for each PE, twice.
    pub fn new(shmem: &'a Shmem, stream: &'a Stream, count: usize) -> Result<Self> {
        let room = (count * shmem.n_pes() as usize).max(1);
        let (a, b) = (shmem.alloc_zeroed(room)?, shmem.alloc_zeroed(room)?);
        let numbers = || shmem.alloc_zeroed::<u64>(shmem.n_pes() as usize);
        Ok(Self { shmem, stream, count, a, b, numbers: [numbers()?, numbers()?, numbers()?, numbers()?] })
    }

    /// What stands in memory that nobody has written.
    fn filler() -> T {
        T::of(99)
    }

    /// Writes `a` and `b`; both begin with these. Then all of the team have.
    fn begin(&self, team: &Team, a: &[T], b: &[T]) -> Result<()> {
        for (vector, with) in [(&self.a, a), (&self.b, b)] {
            let mut all = vec![Self::filler(); vector.len()];
            all[..with.len()].copy_from_slice(with);
            vector.write(&all)?;
        }
        self.shmem.team_sync(team)
    }

    /// Looks at the first elements of `of`, when the stream is idle, and waits for the others to have looked.
    #[track_caller]
    fn is(&self, team: &Team, of: &SymVec<T>, expected: &[T], what: &str) -> Result<()> {
        self.stream.synchronize()?;
        let got = of.read()?;
        let differs = (0..expected.len()).find(|i| got[*i] != expected[*i]);
        if let Some(i) = differs {
            let (got, expected) = (got[i], expected[i]);
            panic!("{what} of {} by {team:?}: element {i} is {got:?}, not {expected:?}", self.count);
        }
        assert!(got[expected.len()..].iter().all(|x| *x == Self::filler()), "{what}: behind the target");
        self.shmem.team_sync(team)
    }

    /// Broadcast, all-gathers and all-to-alls of `count` elements for each PE, apart and in place.
    pub fn data(&self, team: Option<&Team>) -> Result<()> {
        let Some(team) = team else { return Ok(()) };
        let Self { shmem, stream, count, a, b, numbers } = self;
        let (n, me, count) = (team.n_pes() as usize, team.my_pe() as usize, *count);
        let own: Vec<T> = (0..count).map(|i| given(me, i)).collect();
        let (first_a, first_b) = (a.slice(0, count), b.slice(0, count));
        let (all_a, all_b) = (a.slice(0, n * count), b.slice(0, n * count));

        let root = n / 2;
        let of_root: Vec<T> = (0..count).map(|i| given(root, i)).collect();
        self.begin(team, &own, &[])?;
        shmem.broadcast_on(stream, team, first_b, first_a, root as u32)?;
        self.is(team, b, &of_root, "broadcast")?;
        shmem.broadcast_on(stream, team, first_a, first_a, root as u32)?;
        self.is(team, a, &of_root, "broadcast in place")?;

        let gathered: Vec<T> = (0..n).flat_map(|pe| (0..count).map(move |i| given(pe, i))).collect();
        let mut in_place = vec![Self::filler(); n * count];
        in_place[me * count..][..count].copy_from_slice(&own);
        let part = a.slice(me * count, count);
        self.begin(team, &own, &[])?;
        shmem.fcollect_on(stream, team, all_b, first_a)?;
        self.is(team, b, &gathered, "fcollect")?;
        self.begin(team, &own, &[])?;
        shmem.collect_on(stream, team, all_b, first_a)?;
        self.is(team, b, &gathered, "collect")?;
        self.begin(team, &in_place, &[])?;
        shmem.fcollect_on(stream, team, all_a, part)?;
        self.is(team, a, &gathered, "fcollect in place")?;
        self.begin(team, &in_place, &[])?;
        shmem.collect_on(stream, team, all_a, part)?;
        self.is(team, a, &gathered, "collect in place")?;

        // Each as many as its number says.
        let lengths: Vec<usize> = (0..n).map(|pe| count * pe / n.max(2)).collect();
        let varying: Vec<T> = (0..n).flat_map(|pe| (0..lengths[pe]).map(move |i| given(pe, i))).collect();
        self.begin(team, &own, &[])?;
        shmem.collect_on(stream, team, b, a.slice(0, lengths[me]))?;
        self.is(team, b, &varying, "collect of many lengths")?;

        let sent: Vec<T> = (0..n * count).map(|i| given(me, i)).collect();
        let come = |i: usize| given::<T>(i / count, me * count + i % count);
        let exchanged: Vec<T> = (0..n * count).map(come).collect();
        self.begin(team, &sent, &[])?;
        shmem.alltoall_on(stream, team, all_b, all_a)?;
        self.is(team, b, &exchanged, "alltoall")?;
        shmem.alltoall_on(stream, team, all_a, all_a)?;
        self.is(team, a, &exchanged, "alltoall in place")?;

        // As many as the receiver's number says, to where the sender's part begins there.
        let write = |vector: &SymVec<u64>, f: &dyn Fn(usize) -> usize| {
            vector.write(&(0..vector.len()).map(|pe| f(pe) as u64).collect::<Vec<_>>())
        };
        write(&numbers[0], &|pe| pe * count)?;
        write(&numbers[1], &|pe| pe * count)?;
        write(&numbers[2], &|pe| lengths.get(pe).copied().unwrap_or(0))?;
        write(&numbers[3], &|_| 77)?;
        let of = |number: usize| numbers[number].slice(0, n);
        let parts = Parts { target_offsets: of(0), source_offsets: of(1), counts: of(2), received: of(3) };
        self.begin(team, &sent, &[])?;
        shmem.alltoallv_on(stream, team, all_b, all_a, parts)?;
        let come = |i: usize| if i % count < lengths[me] { come(i) } else { Self::filler() };
        self.is(team, b, &(0..n * count).map(come).collect::<Vec<_>>(), "alltoallv")?;
        let mut received = vec![77; numbers[3].len()];
        received[..n].fill(lengths[me] as u64);
        assert_eq!(numbers[3].read()?, received, "what has come by alltoallv");
        shmem.team_sync(team)
    }

    /// All reductions and scans by `op`, which does `f`, of `count` elements, apart and in place.
    pub fn reductions<O: Operator + Reduction<T>>(
        &self,
        team: Option<&Team>,
        op: O,
        f: impl Fn(T, T) -> T,
    ) -> Result<()>
    where
        T: Combined,
    {
        let Some(team) = team else { return Ok(()) };
        let Self { shmem, stream, count, a, b, .. } = self;
        let (n, me, count) = (team.n_pes() as usize, team.my_pe() as usize, *count);
        let (first_a, first_b) = (a.slice(0, count), b.slice(0, count));
        // Element `i` of what the first `pes` PEs give together.
        let of = |pes: usize, i: usize| (1..pes).map(|pe| given(pe, i)).fold(given(0, i), &f);
        let combined = |pes| (0..count).map(|i| of(pes, i)).collect::<Vec<T>>();
        let own: Vec<T> = (0..count).map(|i| given(me, i)).collect();

        self.begin(team, &own, &[])?;
        shmem.reduce_on(stream, team, op, first_b, first_a)?;
        self.is(team, b, &combined(n), "reduce")?;
        shmem.reduce_on(stream, team, op, first_a, first_a)?;
        self.is(team, a, &combined(n), "reduce in place")?;
        self.begin(team, &own, &[])?;
        shmem.scan_on(stream, team, op, first_b, first_a)?;
        self.is(team, b, &combined(me + 1), "scan")?;
        shmem.scan_on(stream, team, op, first_a, first_a)?;
        self.is(team, a, &combined(me + 1), "scan in place")?;

        let root = n - 1;
        self.begin(team, &own, &[])?;
        shmem.reduce_to_on(stream, team, op, first_b, first_a, root as u32)?;
        self.is(team, b, &if me == root { combined(n) } else { Vec::new() }, "reduce_to")?;
        shmem.reduce_to_on(stream, team, op, first_a, first_a, 0)?;
        self.is(team, a, &if me == 0 { combined(n) } else { own.clone() }, "reduce_to in place")?;

        self.begin(team, &own, &[])?;
        shmem.exscan_on(stream, team, op, first_b, first_a)?;
        if me > 0 {
            self.is(team, b, &combined(me), "exscan")?;
        } else {
            stream.synchronize()?;
            let changes = (0..count).zip(b.read()?).find(|(i, x)| f(*x, given(0, *i)) != given(0, *i));
            assert!(changes.is_none(), "exscan's PE 0 has what changes its elements: {changes:?}");
            shmem.team_sync(team)?;
        }

        // Part `pe` for each.
        let given_all: Vec<T> = (0..n * count).map(|i| given(me, i)).collect();
        let mine: Vec<T> = (0..count).map(|i| of(n, me * count + i)).collect();
        let all_a = a.slice(0, n * count);
        self.begin(team, &given_all, &[])?;
        shmem.reduce_scatter_on(stream, team, op, first_b, all_a)?;
        self.is(team, b, &mine, "reduce_scatter")?;
        shmem.reduce_scatter_on(stream, team, op, a.slice(me * count, count), all_a)?;
        let mut in_place = given_all;
        in_place[me * count..][..count].copy_from_slice(&mine);
        self.is(team, a, &in_place, "reduce_scatter in place")
    }
}
