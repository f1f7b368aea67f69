//! The operators and element types of reductions and scans, and which kernel combines them. One kernel serves all forms and
//! operators of a type, and the signed and unsigned integers of a width; sums of 32 and 64 bits and of floating-point numbers
//! have one of their own.

use super::Asked;
use crate::error::Result;
use bytemuck::Pod;
use oxshmem_device::collective::{Element, FloatOp, Form, IntegerOp};
use oxshmem_device::{And, Max, Min, Or, Prod, Sum, Xor, bf16, f16};
use oxshmem_stream_collectives as kernels;

/// An operator of reductions: `Sum`, `Prod`, `Min`, `Max`, `And`, `Or`, `Xor`, or one that is chosen when the program runs,
/// [`IntegerOp`] or [`FloatOp`].
pub trait Operator: sealed::Operator {}

/// An element type of reductions: integers of 8 to 64 bits, `isize`, `usize`, `f16`, `bf16`, `f32`, `f64`.
pub trait Combined: Pod + Element + sealed::Combined {}

mod sealed {
    use super::{Asked, Form, Result};

    pub trait Operator {
        /// As [`IntegerOp`]'s.
        fn number(self) -> u32;
    }
    pub trait Combined {
        /// Launches the kernel of this form and operator.
        fn launch(asked: &Asked<'_>, form: Form, op: u32, root: u32, bytes: u64) -> Result<()>;
    }
}

macro_rules! operators {
    ($($op:ident $(($this:ident))? = $number:expr;)*) => {
        $(
            impl Operator for $op {}
            impl sealed::Operator for $op {
                fn number(self) -> u32 {
                    $(let $this = self;)?
                    $number as u32
                }
            }
        )*
    };
}
operators! {
    Sum = IntegerOp::Sum;
    Prod = IntegerOp::Prod;
    Min = IntegerOp::Min;
    Max = IntegerOp::Max;
    And = IntegerOp::And;
    Or = IntegerOp::Or;
    Xor = IntegerOp::Xor;
    IntegerOp(op) = op;
    FloatOp(op) = op;
}

const SUM: u32 = IntegerOp::Sum as u32;

/// The number of an operator on signed integers.
fn signed(op: u32) -> u32 {
    IntegerOp::from_number(op).map_or(op, |op| op.number(true))
}

/// The number of an operator on others.
fn plain(op: u32) -> u32 {
    op
}

macro_rules! combined {
    ($($ty:ident as $with:ident by $number:ident $(, $sum:ident)?;)*) => {
        $(
            impl Combined for $ty {}
            impl sealed::Combined for $ty {
                fn launch(asked: &Asked<'_>, form: Form, op: u32, root: u32, bytes: u64) -> Result<()> {
                    let Asked { calls, team, channel, .. } = asked;
                    let (shape, form) = (asked.shape(bytes), form as u32);
                    let (target, source) = asked.words::<$with>()?;
                    $(
                        if op == SUM {
                            return kernels::$sum::<$with>::launch(
                                calls, shape, *team, *channel, form, target, source, root,
                            );
                        }
                    )?
                    kernels::reduction::<$with>::launch(
                        calls, shape, *team, *channel, form, $number(op), target, source, root,
                    )
                }
            }
        )*
    };
}
combined! {
    u8 as u8 by plain; i8 as u8 by signed;
    u16 as u16 by plain; i16 as u16 by signed;
    u32 as u32 by plain, sum; i32 as u32 by signed, sum;
    u64 as u64 by plain, sum; i64 as u64 by signed, sum;
    usize as u64 by plain, sum; isize as u64 by signed, sum;
    f16 as f16 by plain, sum; bf16 as bf16 by plain, sum;
    f32 as f32 by plain, sum; f64 as f64 by plain, sum;
}
