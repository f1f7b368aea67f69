//! Data for the tests, and the look at it afterwards, by kernels on the PE's own memory.

use oxshmem::{DeviceVec, LaunchConfig, Result, Shmem, SymVec};
use oxshmem_device::Atomic;
use oxshmem_perf::kernels::data::{self, found};

/// Elements behind a target that must still be poisoned afterwards.
pub(crate) const GUARD: usize = 64;

/// What a look at a PE's memory found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// Elements that are not what they should be.
    pub(crate) wrong: u64,
    /// The number of one of them.
    pub(crate) at: u64,
}

/// Makes and compares this PE's data.
pub(crate) struct Checker<'a> {
    shmem: &'a Shmem,
    config: LaunchConfig,
    result: SymVec<Atomic<u64>>,
}

/// Elements with a pattern: those that have instances of the kernels.
pub(crate) trait Element: data::Pattern {
    fn fill(checker: &Checker<'_>, vector: &SymVec<Self>, seed: u32) -> Result<()>;
    fn poison(checker: &Checker<'_>, vector: &SymVec<Self>) -> Result<()>;
    fn compare(checker: &Checker<'_>, target: &SymVec<Self>, seed: u32, first: u64) -> Result<()>;
}

macro_rules! elements {
    ($($ty:ty)*) => {
        $(
            impl Element for $ty {
                fn fill(checker: &Checker<'_>, vector: &SymVec<Self>, seed: u32) -> Result<()> {
                    data::fill::<$ty>::launch(checker.shmem, checker.config, vector, seed)
                }
                fn poison(checker: &Checker<'_>, vector: &SymVec<Self>) -> Result<()> {
                    data::poison::<$ty>::launch(checker.shmem, checker.config, vector)
                }
                fn compare(checker: &Checker<'_>, target: &SymVec<Self>, seed: u32, first: u64) -> Result<()> {
                    let count = (target.len() - GUARD) as u64;
                    let result = &checker.result;
                    data::check::<$ty>::launch(checker.shmem, checker.config, target, count, seed, first, result)
                }
            }
        )*
    };
}
elements!(u32 u64);

impl<'a> Checker<'a> {
    /// Collective.
    pub(crate) fn new(shmem: &'a Shmem) -> Result<Self> {
        let config = match shmem.is_emulated() {
            true => LaunchConfig::blocks(1).threads(64),
            false => LaunchConfig::blocks(8 * shmem.multiprocessors()).threads(256),
        };
        let result = shmem.alloc_atomics(found::WORDS, oxshmem::Reach::World)?;
        Ok(Self { shmem, config, result })
    }

    /// Collective. `elements` of the pattern of `seed`.
    pub(crate) fn source<T: Element>(&self, elements: usize, seed: u32) -> Result<SymVec<T>> {
        let source = self.shmem.alloc_uninit::<T>(elements)?;
        T::fill(self, &source, seed)?;
        Ok(source)
    }

    /// Collective. `elements` of poison, and the guard behind them.
    pub(crate) fn target<T: Element>(&self, elements: usize) -> Result<SymVec<T>> {
        let target = self.shmem.alloc_uninit::<T>(elements + GUARD)?;
        T::poison(self, &target)?;
        Ok(target)
    }

    /// Collective. A chain: every element is the number of the next, the last one's is 0.
    pub(crate) fn chain(&self, elements: usize) -> Result<SymVec<u64>> {
        let chain = self.shmem.alloc_uninit::<u64>(elements)?;
        data::chain::launch(self.shmem, self.config, &chain)?;
        Ok(chain)
    }

    /// Collective. The numbers of a gather.
    pub(crate) fn numbers(&self, elements: usize, seed: u32, random: bool) -> Result<SymVec<u32>> {
        let numbers = self.shmem.alloc_uninit::<u32>(elements)?;
        data::number::launch(self.shmem, self.config, &numbers, seed, u32::from(random))?;
        Ok(numbers)
    }

    /// Compares `target` with the pattern of `seed` from element `first` on.
    pub(crate) fn compare<T: Element>(&self, target: &SymVec<T>, seed: u32, first: u64) -> Result<Found> {
        self.look(|| T::compare(self, target, seed, first))
    }

    /// Compares `target` with the elements of the pattern of `seed` that `numbers` name.
    pub(crate) fn compare_gathered(
        &self,
        target: &SymVec<u64>,
        numbers: &SymVec<u32>,
        seed: u32,
    ) -> Result<Found> {
        let result = &self.result;
        self.look(|| data::check_gathered::launch(self.shmem, self.config, target, numbers, seed, result))
    }

    /// Compares `words`: every `stride`-th of the first `count` such is `each`, the others are 0.
    pub(crate) fn compare_words(
        &self,
        words: &SymVec<Atomic<u64>>,
        stride: u64,
        count: u64,
        each: u64,
    ) -> Result<Found> {
        let result = &self.result;
        self.look(|| data::check_words::launch(self.shmem, self.config, words, stride, count, each, result))
    }

    /// Compares `target`, of whose elements `count` come from each PE, with what the collective operation `form` leaves.
    pub(crate) fn compare_collected(
        &self,
        target: &SymVec<u32>,
        count: u64,
        form: u32,
        seed: u32,
    ) -> Result<Found> {
        let result = &self.result;
        self.look(|| {
            data::check_collected::launch(self.shmem, self.config, target, count, form, seed, result)
        })
    }

    /// The sum of `words`.
    pub(crate) fn sum(&self, words: &SymVec<Atomic<u64>>) -> Result<u64> {
        self.result.set(found::WRONG, 0)?;
        data::sum::launch(self.shmem, self.config, words, self.result.at(found::WRONG))?;
        Ok(self.result.values()?[found::WRONG])
    }

    fn look(&self, compare: impl FnOnce() -> Result<()>) -> Result<Found> {
        self.result.set(found::WRONG, 0)?;
        compare()?;
        let words = self.result.values()?;
        Ok(Found { wrong: words[found::WRONG], at: words[found::WHERE] })
    }
}

/// Room for a kernel's times: of `stamps` iterations.
pub(crate) fn times(shmem: &Shmem, stamps: usize) -> Result<DeviceVec<u64>> {
    shmem.device_zeroed(oxshmem_perf::kernels::time::HEAD + stamps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxshmem::{Config, DeviceChoice};
    use oxshmem_perf::kernels::data::Pattern;

    fn emulated<T: Send>(f: impl Fn(&Checker<'_>) -> Result<T> + Send + Sync) -> T {
        let config = Config::default().device(DeviceChoice::Emulated);
        let run = config.run(|shmem| f(&Checker::new(&shmem)?));
        run.expect("the kernels run").swap_remove(0)
    }

    /// A right copy of 1000 elements from element 3 on, and the guard.
    fn copy<T: Pattern>() -> Vec<T> {
        let right = (0..1000).map(|i| T::element(7, 3 + i));
        right.chain(std::iter::repeat_n(T::POISON, GUARD)).collect()
    }

    fn looked<T: Element>(copy: &[T]) -> Found {
        emulated(|checker| {
            let target = checker.target::<T>(copy.len() - GUARD)?;
            target.write(copy)?;
            checker.compare(&target, 7, 3)
        })
    }

    #[test]
    fn a_right_copy_passes() {
        assert_eq!(looked(&copy::<u32>()), Found::default());
        assert_eq!(looked(&copy::<u64>()), Found::default());
    }

    #[test]
    fn every_broken_copy_is_caught() {
        for at in [0, 1, 500, 999, 1000, 1000 + GUARD - 1] {
            let mut broken = copy::<u32>();
            broken[at] ^= 1;
            assert_eq!(looked(&broken), Found { wrong: 1, at: at as u64 }, "an element changed");
        }
        let mut shifted = copy::<u64>();
        shifted[..1000].rotate_left(1);
        assert_eq!(looked(&shifted).wrong, 1000, "moved by one");
        let unwritten = vec![u32::POISON; 1000 + GUARD];
        assert_eq!(looked(&unwritten).wrong, 1000, "never written");
    }

    #[test]
    fn the_pattern_of_another_seed_is_no_copy() {
        let wrong = emulated(|checker| {
            let source = checker.source::<u32>(1000 + GUARD, 8)?;
            checker.compare(&source, 7, 0)
        });
        assert_eq!(wrong.wrong, 1000 + GUARD as u64);
    }

    #[test]
    fn a_gather_is_compared_by_its_numbers() {
        let (right, wrong) = emulated(|checker| {
            let numbers = checker.numbers(500, 5, true)?;
            let named = numbers.read()?;
            let target = checker.target::<u64>(500)?;
            let mut copy: Vec<u64> = named.iter().map(|&i| u64::element(9, i.into())).collect();
            target.write(&copy)?;
            let right = checker.compare_gathered(&target, &numbers, 9)?;
            copy.swap(10, 400);
            target.write(&copy)?;
            Ok((right, checker.compare_gathered(&target, &numbers, 9)?))
        });
        assert_eq!((right, wrong.wrong), (Found::default(), 2));
    }

    #[test]
    fn a_lost_update_and_a_stray_one_are_caught() {
        let found = emulated(|checker| {
            let words = checker.shmem.alloc_atomics::<u64>(100, oxshmem::Reach::World)?;
            (0..10).try_for_each(|i| words.set(4 * i, 6))?;
            let right = checker.compare_words(&words, 4, 10, 6)?;
            let sum = checker.sum(&words)?;
            words.set(8, 5)?;
            let lost = checker.compare_words(&words, 4, 10, 6)?;
            words.set(8, 6)?;
            words.set(9, 1)?;
            Ok((right, sum, lost, checker.compare_words(&words, 4, 10, 6)?))
        });
        let at = |at| Found { wrong: 1, at };
        assert_eq!(found, (Found::default(), 60, at(8), at(9)));
    }
}
