//! Copies of elements that do not stand side by side, by all threads of a scope, several loads in flight per thread.

use super::element::{load, store};
use super::space::Space;
use bytemuck::Pod;

/// Copies `count` elements: number `i` from `source` plus `i` times `source_step` bytes to `target` plus `i` times
/// `target_step` bytes.
///
/// # Safety
/// As [`copy`](super::copy), of every element that is named.
#[inline(always)]
pub(crate) unsafe fn spread<D: Space, S: Space, T: Pod>(
    (target, target_step): (u64, u64),
    (source, source_step): (u64, u64),
    count: u64,
    rank: u64,
    size: u64,
) {
    let place = |i: u64| (target + i * target_step, source + i * source_step);
    // SAFETY: passed on.
    let _ = unsafe { each::<D, S, T>(count, rank, size, |i| i, |_| true, |i, _| place(i)) };
}

/// Copies the elements of `source` whose numbers `index` gives to `target`, side by side. The first number that is
/// not less than `len` ends it, and is returned.
///
/// # Safety
/// As [`copy`](super::copy), of `len` elements of the source and `count` of the target.
#[inline(always)]
pub(crate) unsafe fn gather<D: Space, S: Space, T: Pod>(
    target: u64,
    (source, len): (u64, u64),
    index: impl Fn(u64) -> u64,
    count: u64,
    rank: u64,
    size: u64,
) -> Result<(), u64> {
    let bytes = size_of::<T>() as u64;
    let place = |i: u64, index: u64| (target + i * bytes, source + index * bytes);
    // SAFETY: passed on.
    unsafe { each::<D, S, T>(count, rank, size, index, |index| index < len, place) }
}

/// For each number `i` of this thread reads `key(i)`, and if that is `valid`, copies between the addresses of
/// `place(i, key)`; keys, loads and stores of several elements go out together. Returns the first key that is not.
///
/// # Safety
/// As [`copy`](super::copy), of every element that `place` names for a valid key.
#[inline(always)]
unsafe fn each<D: Space, S: Space, T: Pod>(
    count: u64,
    rank: u64,
    size: u64,
    key: impl Fn(u64) -> u64,
    valid: impl Fn(u64) -> bool,
    place: impl Fn(u64, u64) -> (u64, u64),
) -> Result<(), u64> {
    let mut i = rank;
    // As many registers as four 16-byte words need.
    if size_of::<T>() <= 8 {
        while i + 7 * size < count {
            let at = |n: u64| i + n * size;
            let (p, q, r, s) = (key(at(0)), key(at(1)), key(at(2)), key(at(3)));
            let (t, u, v, w) = (key(at(4)), key(at(5)), key(at(6)), key(at(7)));
            let first = valid(p) & valid(q) & valid(r) & valid(s);
            if !(first & valid(t) & valid(u) & valid(v) & valid(w)) {
                break;
            }
            let (p, q, r, s) = (place(at(0), p), place(at(1), q), place(at(2), r), place(at(3), s));
            let (t, u, v, w) = (place(at(4), t), place(at(5), u), place(at(6), v), place(at(7), w));
            // SAFETY: the keys are valid.
            unsafe {
                let (a, b) = (load::<S, T>(p.1), load::<S, T>(q.1));
                let (c, d) = (load::<S, T>(r.1), load::<S, T>(s.1));
                let (e, f) = (load::<S, T>(t.1), load::<S, T>(u.1));
                let (g, h) = (load::<S, T>(v.1), load::<S, T>(w.1));
                store::<D, T>(p.0, a);
                store::<D, T>(q.0, b);
                store::<D, T>(r.0, c);
                store::<D, T>(s.0, d);
                store::<D, T>(t.0, e);
                store::<D, T>(u.0, f);
                store::<D, T>(v.0, g);
                store::<D, T>(w.0, h);
            }
            i += 8 * size;
        }
    } else {
        while i + 3 * size < count {
            let at = |n: u64| i + n * size;
            let (p, q, r, s) = (key(at(0)), key(at(1)), key(at(2)), key(at(3)));
            if !(valid(p) & valid(q) & valid(r) & valid(s)) {
                break;
            }
            let (p, q, r, s) = (place(at(0), p), place(at(1), q), place(at(2), r), place(at(3), s));
            // SAFETY: the keys are valid.
            unsafe {
                let (a, b) = (load::<S, T>(p.1), load::<S, T>(q.1));
                let (c, d) = (load::<S, T>(r.1), load::<S, T>(s.1));
                store::<D, T>(p.0, a);
                store::<D, T>(q.0, b);
                store::<D, T>(r.0, c);
                store::<D, T>(s.0, d);
            }
            i += 4 * size;
        }
    }
    // What is left, and what is before a key that is not valid.
    while i < count {
        let key = key(i);
        if !valid(key) {
            return Err(key);
        }
        let (to, from) = place(i, key);
        // SAFETY: the key is valid.
        unsafe { store::<D, T>(to, load::<S, T>(from)) };
        i += size;
    }
    Ok(())
}
