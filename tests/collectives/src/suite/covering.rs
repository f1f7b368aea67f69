//! A covering array: few rows, in which every two values of different axes meet that may meet.

use super::axes::{AXES, Row};
use std::collections::{HashMap, HashSet};

/// A value of each of two axes: axis and number, twice.
type Pair = ((usize, u32), (usize, u32));

/// The array.
#[derive(Debug)]
pub(crate) struct Covering {
    pub(crate) rows: Vec<Row>,
    /// How many pairs there are.
    pub(crate) pairs: usize,
    /// How many of them are in no row.
    pub(crate) missing: usize,
}

/// The rows, the same in every run.
pub(crate) fn rows() -> Covering {
    // Axes 0 to 3 and 7 depend on each other; the rest are free.
    let core = cores();
    let mut open: HashSet<Pair> = HashSet::new();
    let mut by_value: HashMap<(usize, u32), Vec<[u32; 5]>> = HashMap::new();
    for one in &core {
        for (number, axis) in CORE.iter().enumerate() {
            by_value.entry((*axis, one[number])).or_default().push(*one);
        }
        let mut row = full(one, [0; 4]);
        for free in 0..AXES.iter().max().copied().unwrap_or(0) {
            for axis in FREE {
                row[axis] = free % AXES[axis];
            }
            open.extend(pairs(&row));
        }
    }
    for (a, b) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
        let (a, b) = (FREE[a], FREE[b]);
        for x in 0..AXES[a] {
            open.extend((0..AXES[b]).map(|y| ((a, x), (b, y))));
        }
    }
    let count = open.len();
    let (mut rows, mut random) = (Vec::new(), Random(0x243f_6a88_85a3_08d3));
    let mut left: Vec<Pair> = open.iter().copied().collect();
    left.sort_unstable();
    while let Some(&wanted) = left.iter().find(|pair| open.contains(pair)) {
        let best = (0..40)
            .map(|_| candidate(wanted, &core, &by_value, &mut random))
            .max_by_key(|row| pairs(row).filter(|pair| open.contains(pair)).count());
        let Some(row) = best else { break };
        for pair in pairs(&row) {
            open.remove(&pair);
        }
        rows.push(Row(row));
    }
    // Counted anew, from the rows alone.
    let met: HashSet<Pair> = rows.iter().flat_map(|row| pairs(&row.0)).collect();
    let missing = left.iter().filter(|pair| !met.contains(pair)).count();
    Covering { rows, pairs: count, missing }
}

const CORE: [usize; 5] = [0, 1, 2, 3, 7];
const FREE: [usize; 4] = [4, 5, 6, 8];

/// All values that the axes which depend on each other may have together.
fn cores() -> Vec<[u32; 5]> {
    let mut found = Vec::new();
    for form in 0..AXES[0] {
        for scope in 0..AXES[1] {
            for ty in 0..AXES[2] {
                for op in 0..AXES[3] {
                    for in_place in 0..AXES[7] {
                        let one = [form, scope, ty, op, in_place];
                        if Row(full(&one, [0; 4])).is_valid() {
                            found.push(one);
                        }
                    }
                }
            }
        }
    }
    found
}

fn full(core: &[u32; 5], free: [u32; 4]) -> [u32; AXES.len()] {
    let mut row = [0; AXES.len()];
    CORE.iter().zip(core).for_each(|(axis, value)| row[*axis] = *value);
    FREE.iter().zip(free).for_each(|(axis, value)| row[*axis] = value);
    row
}

/// A row with this pair, the rest as it comes.
fn candidate(
    wanted: Pair,
    core: &[[u32; 5]],
    by_value: &HashMap<(usize, u32), Vec<[u32; 5]>>,
    random: &mut Random,
) -> [u32; AXES.len()] {
    let fixed = [wanted.0, wanted.1];
    let in_core: Vec<_> = fixed.iter().filter(|(axis, _)| CORE.contains(axis)).collect();
    let has = |one: &[u32; 5], axis: usize, value: u32| {
        CORE.iter().zip(one).any(|(of, found)| *of == axis && *found == value)
    };
    let all = in_core.first().and_then(|value| by_value.get(value)).map_or(core, Vec::as_slice);
    let fitting: Vec<_> =
        all.iter().filter(|one| in_core.iter().all(|(axis, value)| has(one, *axis, *value))).collect();
    let one = fitting[random.below(fitting.len() as u32) as usize];
    let mut row = full(one, FREE.map(|axis| random.below(AXES[axis])));
    for (axis, value) in fixed {
        row[axis] = value;
    }
    row
}

fn pairs(row: &[u32; AXES.len()]) -> impl Iterator<Item = Pair> {
    let row = *row;
    (0..AXES.len()).flat_map(move |a| (a + 1..AXES.len()).map(move |b| ((a, row[a]), (b, row[b]))))
}

/// Numbers as they come (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 32) % u64::from(bound)) as u32
    }
}
