//! By what collective operations choose between packets and plain stores, and on how many blocks they work. It lies in the launch
//! context, in the constant bank: a choice costs no way to memory. All PEs of a job have the same.

/// Which operations choose alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// broadcast.
    Broadcast = 0,
    /// fcollect, alltoall.
    Exchange = 1,
    /// reduce, reduce_scatter.
    Reduce = 2,
    /// reduce to a root, scans.
    Scan = 3,
}

impl Kind {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::Broadcast, Self::Exchange, Self::Reduce, Self::Scan];
}

/// The table. It says nothing of how many threads a scope has: those of the PEs may differ.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// In its bytes, from the lowest on: for each [`Kind`] 0 for no packets, else 1 + the power of two of the most bytes that a
    /// PE sends all others together in packets; then the powers of two of the bytes for each block beyond the first, by packets
    /// and by stores. The highest bit: all PEs are on one GPU.
    pub word: u64,
}

impl Tuning {
    /// No packets; blocks as large as these powers of two.
    pub const fn stores(block_by_packets: u32, block_by_stores: u32) -> Self {
        Self { word: (block_by_packets as u64) << 32 | (block_by_stores as u64) << 40 }
    }

    /// With the most bytes of a kind that go by packets, rounded down to a power of two; 0 for none.
    pub const fn with(self, kind: Kind, bytes: u64) -> Self {
        let shift = 8 * kind as u32;
        let byte = if bytes == 0 { 0 } else { 1 + bytes.ilog2() as u64 };
        Self { word: self.word & !(0xff << shift) | byte << shift }
    }

    /// The same, of a job whose PEs are all on one GPU, or not.
    pub const fn on_one_gpu(self, all: bool) -> Self {
        Self { word: self.word & !ONE_GPU | if all { ONE_GPU } else { 0 } }
    }

    /// Whether all PEs of the job are on one GPU: what one of them stores the others see in that GPU's scope.
    #[inline(always)]
    pub const fn is_on_one_gpu(self) -> bool {
        self.word & ONE_GPU != 0
    }

    /// The most bytes that a PE sends all others together by packets.
    #[inline(always)]
    pub const fn most_by_packets(self, kind: Kind) -> u64 {
        (1 << (self.word >> (8 * kind as u32) & 0x3f)) >> 1
    }

    /// Bytes of a block by packets.
    #[inline(always)]
    pub const fn block_by_packets(self) -> u64 {
        1 << (self.word >> 32 & 0x3f)
    }

    /// Bytes of a block by stores.
    #[inline(always)]
    pub const fn block_by_stores(self) -> u64 {
        1 << (self.word >> 40 & 0x3f)
    }
}

/// Of the word.
const ONE_GPU: u64 = 1 << 63;

/// What was measured on an H200: where nothing better is known.
pub const H200: Tuning = Tuning::stores(11, 14)
    .with(Kind::Broadcast, 32 << 10)
    .with(Kind::Exchange, 16 << 10)
    .with(Kind::Reduce, 16 << 10)
    .with(Kind::Scan, 16 << 10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_own_byte() {
        let none = Tuning::stores(11, 14);
        assert_eq!((none.block_by_packets(), none.block_by_stores()), (2048, 16384));
        let all = (0..).zip(Kind::ALL).fold(none, |all, (at, kind)| {
            assert_eq!(none.most_by_packets(kind), 0);
            all.with(kind, 8 << at)
        });
        (0..).zip(Kind::ALL).for_each(|(at, kind)| assert_eq!(all.most_by_packets(kind), 8 << at));
        assert_eq!((all.block_by_packets(), all.block_by_stores()), (2048, 16384));
        assert_eq!(all.with(Kind::Reduce, 3000).most_by_packets(Kind::Reduce), 2048);
        assert_eq!(all.with(Kind::Reduce, 0).most_by_packets(Kind::Reduce), 0);
        assert!(!all.is_on_one_gpu());
        assert!(all.on_one_gpu(true).is_on_one_gpu());
        assert_eq!(all.on_one_gpu(true).block_by_stores(), 16384);
        assert_eq!(all.on_one_gpu(true).on_one_gpu(false), all);
    }
}
