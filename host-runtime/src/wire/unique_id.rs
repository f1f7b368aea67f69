//! All that a process needs to join a job, as one line of text that a launcher can hand on.

use super::address::{Address, BadText};
use super::secret::Secret;
use std::str::FromStr;

const PREFIX: &str = "oxshmem1";

/// Where the job is found, and the key to it.
#[derive(Clone, Debug)]
pub(crate) struct UniqueId {
    pub(crate) address: Address,
    pub(crate) secret: Secret,
}

impl UniqueId {
    /// `oxshmem1:SECRET:ADDRESS`. Who reads it can join the job.
    pub(crate) fn to_text(&self) -> String {
        format!("{PREFIX}:{}:{}", self.secret.to_hex(), self.address)
    }
}

impl FromStr for UniqueId {
    type Err = BadText;

    fn from_str(text: &str) -> Result<Self, BadText> {
        let mut parts = text.splitn(3, ':');
        let (Some(PREFIX), Some(secret), Some(address)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(BadText::UniqueId);
        };
        Ok(Self { address: address.parse()?, secret: Secret::from_hex(secret)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_survives_its_text() {
        for address in ["tcp:[::1]:4123", "unix:a:b"] {
            let text = format!("oxshmem1:{}:{address}", "c0de".repeat(16));
            let id: UniqueId = text.parse().unwrap();
            assert_eq!(id.address, address.parse().unwrap());
            assert_eq!(id.to_text(), text);
            assert!(!format!("{id:?}").contains("c0de"), "the secret is shown");
        }
    }

    #[test]
    fn what_is_no_id_is_refused_with_its_reason() {
        let secret = "c0de".repeat(16);
        let refused = |text: &str| text.parse::<UniqueId>().unwrap_err();
        assert_eq!(refused(""), BadText::UniqueId);
        assert_eq!(refused(&format!("oxshmem1:{secret}")), BadText::UniqueId);
        assert_eq!(refused(&format!("oxshmem2:{secret}:unix:x")), BadText::UniqueId);
        assert_eq!(refused("oxshmem1:c0de:unix:x"), BadText::Secret);
        assert_eq!(refused(&format!("oxshmem1:{secret}:x")), BadText::Scheme);
        assert_eq!(refused(&format!("oxshmem1:{secret}:unix:")), BadText::Unix);
    }
}
