//! What elements of arrays are, and how many lie one after the other.

use crate::error::Unregistrable;
use bytemuck::Pod;
use oxshmem_device::{bf16, f16};

/// An element type that arrays of other libraries have: integers of 8 to 64 bits, `f16`, `bf16`, `f32`, `f64`.
pub trait ArrayElement: Pod + sealed::Numeric {}

/// What kind of number it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A signed integer.
    Int,
    /// An unsigned integer.
    UInt,
    /// IEEE 754.
    Float,
    /// The upper half of an `f32`.
    BFloat,
}

pub(crate) mod sealed {
    /// What a description of an array says of its elements.
    pub trait Numeric {
        /// The kind of number.
        const KIND: super::Kind;
        /// Its name in messages.
        const NAME: &'static str;
    }
}

macro_rules! elements {
    ($($kind:ident: $($ty:ident)*;)*) => {
        $($(
            impl sealed::Numeric for $ty {
                const KIND: Kind = Kind::$kind;
                const NAME: &'static str = stringify!($ty);
            }
            impl ArrayElement for $ty {}
        )*)*
    };
}
elements! {
    Int: i8 i16 i32 i64;
    UInt: u8 u16 u32 u64;
    Float: f16 f32 f64;
    BFloat: bf16;
}

/// How many elements an array of this shape has, if they lie one after the other, the last index fastest. Strides count in
/// units of `step`; none: they do.
pub(crate) fn contiguous(
    shape: &[i64],
    strides: Option<&[i64]>,
    step: i64,
    unit: &'static str,
) -> Result<usize, Unregistrable> {
    let invalid = |what: String| Unregistrable::Description { what };
    if let Some(extent) = shape.iter().find(|extent| **extent < 0) {
        return Err(invalid(format!("its shape {shape:?} has an extent of {extent}")));
    }
    if let Some(strides) = strides.filter(|strides| strides.len() != shape.len()) {
        return Err(invalid(format!(
            "its shape {shape:?} and its strides {strides:?} have not as many axes"
        )));
    }
    if shape.contains(&0) {
        return Ok(0);
    }
    let mut count = 1i64;
    for (axis, &extent) in shape.iter().enumerate().rev() {
        let stride = strides.map(|strides| strides[axis]);
        let expected = count.checked_mul(step);
        // The stride of an axis of one element is never used.
        if let Some(stride) = stride
            && extent > 1
            && Some(stride) != expected
        {
            let strides = strides.unwrap_or_default().to_vec();
            return Err(Unregistrable::NotContiguous { shape: shape.to_vec(), strides, unit });
        }
        let overflow = || invalid(format!("its shape {shape:?} has more elements than there are addresses"));
        count = count.checked_mul(extent).ok_or_else(overflow)?;
    }
    Ok(count as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_row_major_arrays_without_gaps_are_contiguous() {
        let of = |shape: &[i64], strides: Option<&[i64]>| contiguous(shape, strides, 4, "bytes").ok();
        assert_eq!(of(&[2, 3], None), Some(6));
        assert_eq!(of(&[2, 3], Some(&[12, 4])), Some(6));
        assert_eq!(of(&[], None), Some(1));
        assert_eq!(of(&[2, 1, 3], Some(&[12, 999, 4])), Some(6));
        assert_eq!(of(&[0, 3], Some(&[7, 7])), Some(0));
        for (shape, strides) in [
            (&[2, 3][..], Some(&[4, 8][..])),
            (&[2, 3], Some(&[16, 4])),
            (&[3], Some(&[-4])),
            (&[3], Some(&[])),
            (&[3], Some(&[4, 4])),
            (&[-1], None),
            (&[i64::MAX, 2], None),
        ] {
            assert_eq!(of(shape, strides), None, "{shape:?} {strides:?}");
        }
    }
}
