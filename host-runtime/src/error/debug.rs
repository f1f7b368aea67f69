//! `Debug` for people: what `main` prints of the error that it returns.

use super::Error;
use std::fmt::{self, Debug, Formatter};

/// The sentence, and what stands behind it if the sentence does not say so.
impl Debug for Error {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut said = self.to_string();
        f.write_str(&said)?;
        let mut behind = match self {
            Self::Other(error) => error.source(),
            error => std::error::Error::source(error),
        };
        while let Some(cause) = behind {
            let sentence = cause.to_string();
            if !said.contains(&sentence) {
                write!(f, "\n  because: {sentence}")?;
                said = sentence;
            }
            behind = cause.source();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_is_the_sentence_and_what_stands_behind_it() {
        let cause = Error::SizeOverflow { elements: 3, element_bytes: 4 };
        assert_eq!(format!("{cause:?}"), cause.to_string());
        let failed = Error::PeFailed { pe: 1, cause: Box::new(cause) };
        assert_eq!(format!("{failed:?}"), failed.to_string(), "the sentence has the cause already");

        #[derive(Debug, thiserror::Error)]
        #[error("cannot read the input")]
        struct Outer(#[source] std::num::ParseIntError);
        let why = "x".parse::<u8>().unwrap_err();
        let error = Error::other(Outer(why.clone()));
        assert_eq!(format!("{error:?}"), format!("cannot read the input\n  because: {why}"));
    }
}
