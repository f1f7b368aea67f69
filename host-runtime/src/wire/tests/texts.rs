//! What stands in messages: that it comes back, and that nothing else breaks its reader.

use super::Random;
use crate::wire::{Malformed, Reader, Writer};

fn example() -> Vec<u8> {
    let mut writer = Writer::new();
    writer.u8(1).u32(0x0405_0607).u64(u64::MAX - 1).bool(true).bytes(b"\0\xff").str("größe");
    writer.option(Some(7), |writer, value| {
        writer.u32(value);
    });
    writer.option(None::<&str>, |writer, text| {
        writer.str(text);
    });
    writer.finish()
}

type Content = (u64, Vec<u8>, String, Option<u32>, Option<String>);

fn read(message: &[u8]) -> Result<Content, Malformed> {
    let mut reader = Reader::new(message);
    let sum = u64::from(reader.u8()?) + u64::from(reader.u32()?);
    let sum = sum.wrapping_add(reader.u64()?).wrapping_add(reader.bool()?.into());
    let bytes = reader.bytes(16)?.to_vec();
    let text = reader.str(16)?.to_owned();
    let number = reader.option(Reader::u32)?;
    let none = reader.option(|reader| reader.str(16))?.map(str::to_owned);
    reader.finish()?;
    Ok((sum, bytes, text, number, none))
}

#[test]
fn what_was_written_is_read() {
    let sum = (1 + 0x0405_0607_u64).wrapping_add(u64::MAX - 1).wrapping_add(1);
    assert_eq!(read(&example()), Ok((sum, b"\0\xff".to_vec(), "größe".to_owned(), Some(7), None)));
    assert_eq!(example()[1..5], [7, 6, 5, 4], "numbers are little-endian");
}

#[test]
fn a_message_that_is_cut_or_goes_on_is_refused() {
    let message = example();
    for length in 0..message.len() {
        assert!(matches!(read(&message[..length]), Err(Malformed::Short { .. })), "{length} bytes");
    }
    assert_eq!(read(&[&message[..], &[0, 0]].concat()), Err(Malformed::Trailing(2)));
}

#[test]
fn lengths_are_not_believed() {
    let announced = u32::MAX.to_le_bytes();
    assert_eq!(
        Reader::new(&announced).bytes(usize::MAX),
        Err(Malformed::Short { wanted: u32::MAX as usize, left: 0 })
    );
    let too_long = Err(Malformed::TooLong { length: u32::MAX as usize, limit: 16 });
    assert_eq!(Reader::new(&announced).bytes(16), too_long);
    let mut writer = Writer::new();
    writer.str("1234");
    let message = writer.finish();
    assert_eq!(Reader::new(&message).str(4), Ok("1234"));
    assert_eq!(Reader::new(&message).str(3), Err(Malformed::TooLong { length: 4, limit: 3 }));
}

#[test]
fn what_is_no_text_and_no_bool_is_refused() {
    let mut writer = Writer::new();
    writer.bytes(b"\xc3(");
    assert_eq!(Reader::new(&writer.finish()).str(16), Err(Malformed::NotText));
    assert_eq!(Reader::new(&[2]).bool(), Err(Malformed::NotBool(2)));
    assert_eq!(Reader::new(&[2]).option(Reader::u8), Err(Malformed::NotBool(2)));
}

#[test]
fn nothing_breaks_a_reader() {
    let example = example();
    let mut random = Random(0xc0dec);
    let mut read_well = 0;
    for round in 0..1_000_000 {
        let message = if round % 4 == 0 {
            let length = random.below(64);
            random.bytes(length)
        } else {
            let mut changed = example.clone();
            changed.truncate(1 + random.below(2 * example.len()));
            for _ in 0..random.below(3) {
                let at = random.below(changed.len());
                changed[at] = random.next() as u8;
            }
            changed
        };
        read_well += u32::from(read(&message).is_ok());
    }
    // Both outcomes are tried.
    assert!((10_000..900_000).contains(&read_well), "{read_well}");
}
