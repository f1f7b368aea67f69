//! What is wrong with strides.

/// Strided elements that do not lie in the range that was named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{by}: {count} elements, {stride} apart, do not lie in the {side}'s {len}: the stride is at least 1, and (count - 1) * stride less than the length"
)]
#[non_exhaustive]
pub struct BadStride {
    /// The operation.
    pub by: &'static str,
    /// `target` or `source`.
    pub side: &'static str,
    /// How many elements were to be moved.
    pub count: u64,
    /// From each of them to the next, in elements.
    pub stride: u64,
    /// Elements of the range.
    pub len: u64,
}

impl BadStride {
    /// Refuses what does not lie there; no elements lie anywhere.
    pub(crate) fn check(self) -> Result<(), Self> {
        let Self { count, stride, len, .. } = self;
        let last = count.saturating_sub(1).checked_mul(stride);
        let lies_there = count == 0 || (stride > 0 && last.is_some_and(|last| last < len));
        if lies_there { Ok(()) } else { Err(self) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_element_must_lie_there() {
        let check = |count, stride, len| BadStride { by: "iput", side: "target", count, stride, len }.check();
        for (count, stride, len) in [(0, 0, 0), (0, 7, 0), (1, 1, 1), (1, 100, 1), (4, 3, 10), (10, 1, 10)] {
            assert_eq!(check(count, stride, len), Ok(()), "{count} {stride} {len}");
        }
        for (count, stride, len) in [(1, 0, 1), (1, 1, 0), (4, 3, 9), (11, 1, 10), (3, u64::MAX, 10)] {
            let error = check(count, stride, len).unwrap_err();
            assert!(error.to_string().contains(&format!("the target's {len}")), "{error}");
        }
    }
}
