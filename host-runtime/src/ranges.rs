//! Free ranges of a line of units. Ranges that touch are one, so that what was given back piece by piece can be taken as a
//! whole. Taking looks at every free range: there are as many as holes between what is taken.

use std::collections::BTreeMap;
use std::ops::Range;

/// The free ranges of a line.
#[derive(Debug)]
pub(crate) struct Ranges {
    /// The ends of the free ranges, by their starts. None is empty, and no two touch.
    free: BTreeMap<u64, u64>,
    end: u64,
}

impl Ranges {
    /// A line of which all is free.
    pub(crate) fn new(whole: Range<u64>) -> Self {
        let free = BTreeMap::from_iter((!whole.is_empty()).then_some((whole.start, whole.end)));
        Self { free, end: whole.end }
    }

    /// Takes `units` units, at least 1, from the smallest free range that has them, the first of several.
    pub(crate) fn take(&mut self, units: u64) -> Option<Range<u64>> {
        let fits = self.free.iter().filter(|&(start, end)| end - start >= units);
        let (&start, _) = fits.min_by_key(|&(start, end)| end - start)?;
        let range = start..start + units;
        self.take_at(range.clone()).then_some(range)
    }

    /// Takes exactly this range, which is not empty, if all of it is free. If it is not, nothing is taken.
    pub(crate) fn take_at(&mut self, range: Range<u64>) -> bool {
        let Some((&start, &end)) = self.free.range(..=range.start).next_back() else { return false };
        if range.end > end {
            return false;
        }
        self.free.remove(&start);
        let rest = [start..range.start, range.end..end];
        self.free.extend(rest.into_iter().filter(|rest| !rest.is_empty()).map(|rest| (rest.start, rest.end)));
        true
    }

    /// Gives back a range, all of which is taken.
    pub(crate) fn give(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let Range { mut start, mut end } = range;
        if let Some((&before, &touches)) = self.free.range(..start).next_back()
            && touches == start
        {
            start = before;
        }
        if let Some(after) = self.free.remove(&end) {
            end = after;
        }
        self.free.insert(start, end);
    }

    /// The end of the line.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free(ranges: &Ranges) -> Vec<Range<u64>> {
        ranges.free.iter().map(|(&start, &end)| start..end).collect()
    }

    #[test]
    fn the_smallest_range_that_fits_is_taken() {
        let mut ranges = Ranges::new(10..100);
        assert!(ranges.take_at(20..30) && ranges.take_at(35..90));
        assert_eq!(free(&ranges), [10..20, 30..35, 90..100]);
        assert_eq!([5, 6, 4].map(|units| ranges.take(units)), [Some(30..35), Some(10..16), Some(16..20)]);
        assert_eq!([11, 10, 1].map(|units| ranges.take(units)), [None, Some(90..100), None]);
    }

    #[test]
    fn what_is_not_free_as_a_whole_is_not_taken() {
        let mut ranges = Ranges::new(10..100);
        assert!(ranges.take_at(40..50));
        for range in [5..15, 45..55, 30..41, 49..60, 40..50, 90..101, 0..5, 100..110] {
            assert!(!ranges.take_at(range.clone()), "{range:?}");
        }
        assert_eq!(free(&ranges), [10..40, 50..100]);
        assert_eq!(Ranges::new(7..7).take(1), None);
    }

    /// Against a line of which each unit is free or not.
    #[test]
    fn any_order_of_taking_and_giving_keeps_the_books() {
        const UNITS: u64 = 64;
        for seed in 1..200u64 {
            let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let mut below = |limit: u64| {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                random % limit
            };
            let (mut ranges, mut model, mut taken) =
                (Ranges::new(0..UNITS), [true; UNITS as usize], Vec::new());
            for _ in 0..200 {
                let units = 1 + below(12);
                let all = |model: &[bool], at: Range<u64>, state| {
                    model[at.start as usize..at.end as usize].iter().all(|&free| free == state)
                };
                let got = match below(3) {
                    0 => {
                        let could = (0..=UNITS - units).any(|at| all(&model, at..at + units, true));
                        let got = ranges.take(units);
                        assert_eq!(got.is_some(), could);
                        got
                    }
                    1 => {
                        let start = below(UNITS - units);
                        let wish = start..start + units;
                        let could = all(&model, wish.clone(), true);
                        assert_eq!(ranges.take_at(wish.clone()), could);
                        could.then_some(wish)
                    }
                    _ => {
                        if !taken.is_empty() {
                            let range: Range<u64> = taken.swap_remove(below(taken.len() as u64) as usize);
                            model[range.start as usize..range.end as usize].fill(true);
                            ranges.give(range);
                        }
                        None
                    }
                };
                if let Some(range) = got {
                    assert!(all(&model, range.clone(), true), "{range:?} is taken twice");
                    model[range.start as usize..range.end as usize].fill(false);
                    taken.push(range);
                }
                let whole: Vec<Range<u64>> = model
                    .chunk_by(|one, next| one == next)
                    .scan(0, |at, run| {
                        *at += run.len() as u64;
                        Some((run[0], *at - run.len() as u64..*at))
                    })
                    .filter_map(|(is_free, run)| is_free.then_some(run))
                    .collect();
                assert_eq!(free(&ranges), whole);
            }
        }
    }
}
