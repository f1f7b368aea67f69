//! Symbolic values: which sources went into a partial result, and in which order.

/// Whose sources stand in a value, exactly up to 64 PEs and by hashes of 128 bits beyond; and the expression that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Symbol {
    /// How many sources.
    pub(super) count: u32,
    /// The PEs below 64, one bit each.
    members: u64,
    /// Sum of a random number per source: does not depend on the order.
    pub(super) sum: u128,
    /// Hash of the expression, with its brackets and operands in order.
    pub(super) expression: u128,
}

/// A permutation of 64-bit words that looks random (the finaliser of SplitMix64).
fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

fn wide(a: u64, b: u64) -> u128 {
    let low = mix(a.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(mix(b)));
    let high = mix(low ^ b.rotate_left(17).wrapping_add(0xd1b5_4a32_d192_ed03) ^ mix(a));
    u128::from(high) << 64 | u128::from(low)
}

impl Symbol {
    /// The source of PE `pe`, of chunk `chunk`.
    pub(super) fn source(pe: u32, chunk: u32) -> Self {
        let random = wide(u64::from(pe) + 1, u64::from(chunk));
        let members = if pe < 64 { 1 << pe } else { 0 };
        Self { count: 1, members, sum: random, expression: random }
    }

    /// `left + right`; an error if a PE below 64 stands in both.
    pub(super) fn plus(self, right: Self) -> Result<Self, String> {
        if self.members & right.members != 0 {
            return Err(format!("PEs {:#b} are in both operands", self.members & right.members));
        }
        let (a, b) = (self.expression, right.expression);
        let low = wide(a as u64 ^ 1, (b >> 64) as u64) ^ wide(b as u64 ^ 2, (a >> 64) as u64).rotate_left(1);
        Ok(Self {
            count: self.count + right.count,
            members: self.members | right.members,
            sum: self.sum.wrapping_add(right.sum),
            expression: low,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_brackets_show_in_the_expression_and_not_in_the_sum() {
        let [a, b, c] = [0, 1, 2].map(|pe| Symbol::source(pe, 7));
        let plus = |x: Symbol, y| x.plus(y).expect("nobody twice");
        assert_ne!(plus(a, b).expression, plus(b, a).expression);
        assert_ne!(plus(plus(a, b), c).expression, plus(a, plus(b, c)).expression);
        assert_eq!(plus(plus(a, b), c).sum, plus(c, plus(b, a)).sum);
        assert!(plus(a, b).plus(b).is_err());
        assert_ne!(Symbol::source(0, 7), Symbol::source(0, 8));
    }

    #[test]
    fn sums_of_many_tell_a_source_that_is_there_twice() {
        let sum = |pes: &[u32]| pes.iter().fold(0_u128, |s, &pe| s.wrapping_add(Symbol::source(pe, 0).sum));
        assert_ne!(sum(&[100, 100]), sum(&[100, 101]));
    }
}
