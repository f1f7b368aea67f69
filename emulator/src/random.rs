//! Numbers that a seed fixes.

/// What the generator's state grows by.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A good hash of one word.
pub(crate) fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(STEP);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Steele, Lea and Flood's generator (SplitMix64): small, and any seed will do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// From `seed`, behind its first number.
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Self(seed);
        random.next();
        random
    }

    fn next(&mut self) -> u64 {
        let number = mix(self.0);
        self.0 = self.0.wrapping_add(STEP);
        number
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: u32) -> u32 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_a_seed_are_those_of_the_generator() {
        // The first of seed 0 (S. Vigna, splitmix64.c).
        let mut random = Random(0);
        assert_eq!([random.next(), random.next()], [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]);
        let mut behind = Random::new(0);
        assert_eq!(behind.next(), 0x6e78_9e6a_a1b9_65f4);
        assert!((0..1000).all(|_| behind.below(7) < 7));
    }
}
