//! The arithmetic of teams, without PEs.

use super::bring::{Brought, differing};
use super::form::spacing;
use super::split::{Split, strided};
use crate::error::Error;

#[test]
fn a_split_chooses_by_start_stride_and_size() {
    for (start, stride, size, n_pes, expected) in [
        (0, 1, 4, 4, vec![0, 1, 2, 3]),
        (1, 2, 2, 4, vec![1, 3]),
        (3, -2, 2, 4, vec![3, 1]),
        (2, 0, 1, 4, vec![2]),
        (2, 1000, 1, 3, vec![2]),
        (3, -1, 4, 4, vec![3, 2, 1, 0]),
    ] {
        assert_eq!(strided(start, stride, size, n_pes).unwrap(), expected);
    }
}

#[test]
fn a_split_beyond_its_parent_is_refused() {
    for (start, stride, size) in [
        (0, 1, 0),
        (0, 1, 5),
        (4, 1, 1),
        (1, 1, 4),
        (1, -1, 3),
        (0, 0, 2),
        (u32::MAX, i32::MIN, u32::MAX),
        (0, i32::MAX, 2),
    ] {
        let error = strided(start, stride, size, 4).unwrap_err();
        assert!(matches!(error, Error::TeamRange { n_pes: 4, .. }), "{error}");
    }
}

#[test]
fn spacing_is_found_and_never_0() {
    for (pes, expected) in [
        (vec![7], Some(1)),
        (vec![0, 1, 2], Some(1)),
        (vec![9, 6, 3], Some(-3)),
        (vec![0, 2, 3], None),
        (vec![4, 0], Some(-4)),
    ] {
        assert_eq!(spacing(&pes), expected);
    }
}

#[test]
fn what_a_pe_brings_comes_back() {
    let brought =
        Brought { team: u64::MAX - 3, arguments: [5, -7, i64::MIN], count: u32::MAX, free: 1 << 63 };
    assert_eq!(Brought::of(brought.to_words()), brought);
}

#[test]
fn pes_that_pass_different_arguments_are_named_with_both_values() {
    let call = Split::Strided { start: 0, stride: 1, size: 2 }.call();
    let same = Brought { team: 0, arguments: [0, 1, 2], count: 4, free: 1 << 9 };
    // Counts and slots are each PE's own.
    let all = [same, Brought { count: 9, free: 3, ..same }, same];
    assert!(differing(call, &[2, 4, 6], &all).is_none());
    let all = [same, same, Brought { arguments: [0, -1, 3], ..same }];
    let said = differing(call, &[2, 4, 6], &all).unwrap().to_string();
    assert!(
        said.contains("team_split_strided with different values of stride: PE 2 with 1, PE 6 with -1"),
        "{said}"
    );
}

#[test]
fn a_grid_has_rows_and_columns() {
    let rows = |x_range, n_pes| Split::Rows { x_range }.parts(n_pes).unwrap();
    let columns = |x_range, n_pes| Split::Columns { x_range }.parts(n_pes).unwrap();
    assert_eq!(rows(3, 7), [vec![0, 1, 2], vec![3, 4, 5], vec![6]]);
    assert_eq!(columns(3, 7), [vec![0, 3, 6], vec![1, 4], vec![2, 5]]);
    assert_eq!((rows(9, 2), columns(9, 2)), (vec![vec![0, 1]], vec![vec![0], vec![1]]));
    assert_eq!((rows(1, 2), columns(1, 2)), (vec![vec![0], vec![1]], vec![vec![0, 1]]));
    assert_eq!(rows(u32::MAX, 3), [vec![0, 1, 2]]);
    for split in [Split::Rows { x_range: 0 }, Split::Columns { x_range: 0 }] {
        let said = split.parts(4).unwrap_err().to_string();
        assert!(said.contains("team_split_2d") && said.contains("x_range is 0"), "{said}");
    }
}

#[test]
fn a_list_is_taken_as_it_is_or_refused() {
    assert_eq!(Split::List(&[3, 0, 2]).parts(4).unwrap(), [vec![3, 0, 2]]);
    for (pes, why) in [
        (&[][..], "none was named"),
        (&[0, 4], "no PE 4: its PEs are 0 to 3"),
        (&[2, 1, 2], "PE 2 was named twice"),
    ] {
        let said = Split::List(pes).parts(4).unwrap_err().to_string();
        assert!(said.contains("team_from_pes") && said.contains(why), "{said}");
    }
}
