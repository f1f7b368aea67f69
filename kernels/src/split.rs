//! Splits rows over PEs: contiguous, in PE order, the first `total % n_pes` PEs with one row more.

/// A PE's share of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Its first row.
    pub first: u32,
    /// How many rows it has.
    pub rows: u32,
}

/// The share of `pe`. Total for all arguments with `n_pes > 0`.
#[inline(always)]
pub const fn share(total: u32, pe: u32, n_pes: u32) -> Share {
    let (each, more) = (total / n_pes, total % n_pes);
    let before = if pe < more { pe } else { more };
    Share { first: pe * each + before, rows: each + (pe < more) as u32 }
}

/// The most rows that any PE has.
#[inline(always)]
pub const fn most_rows(total: u32, n_pes: u32) -> u32 {
    total.div_ceil(n_pes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_cover_all_rows_once() {
        for total in [0, 1, 2, 7, 8, 9, 1000, 8190] {
            for n in 1..=9 {
                let mut next = 0;
                for pe in 0..n {
                    let share = share(total, pe, n);
                    assert_eq!(share.first, next);
                    assert!(share.rows <= most_rows(total, n) && share.rows + 1 >= most_rows(total, n));
                    next += share.rows;
                }
                assert_eq!(next, total);
            }
        }
    }
}
