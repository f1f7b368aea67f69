//! Where a process listens, as a value and as text: `tcp:127.0.0.1:4123`, `tcp:[::1]:4123`, `unix:name`.

use std::fmt::{self, Display, Formatter};
use std::net::SocketAddr;
use std::str::FromStr;

/// Bytes of the longest name that a Unix socket can have: 108, less the zero that marks it as abstract.
const MAX_NAME: usize = 107;
/// Bytes of the longest text that is read at all.
const MAX_TEXT: usize = 5 + MAX_NAME;

/// Where to listen or connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    /// An IP address and a port. To listen on port 0 means on any that is free.
    Tcp(SocketAddr),
    /// A name in Linux's abstract namespace: it leaves no file behind, and the network namespace is its reach.
    Unix(String),
}

/// Why a text is not what it should be. It does not repeat the text, which may hold a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadText {
    /// No address is that long.
    #[error("an address has at most {MAX_TEXT} characters")]
    Long,
    /// Neither of the two kinds.
    #[error("an address begins with tcp: or unix:")]
    Scheme,
    /// Not an IP address with its port.
    #[error("after tcp: an IP address and a port are expected, such as 127.0.0.1:4123 or [::1]:4123")]
    Tcp,
    /// Not a name.
    #[error("after unix: a name of 1 to {MAX_NAME} visible ASCII characters is expected")]
    Unix,
    /// Not a secret.
    #[error("a secret has 64 hexadecimal digits")]
    Secret,
    /// Not the text of a unique id.
    #[error("a unique id has the form oxshmem1:SECRET:ADDRESS")]
    UniqueId,
}

impl Display for Address {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "tcp:{address}"),
            Self::Unix(name) => write!(f, "unix:{name}"),
        }
    }
}

impl FromStr for Address {
    type Err = BadText;

    fn from_str(text: &str) -> Result<Self, BadText> {
        if text.len() > MAX_TEXT {
            return Err(BadText::Long);
        }
        match text.split_once(':') {
            Some(("tcp", address)) => address.parse().map(Self::Tcp).map_err(|_| BadText::Tcp),
            Some(("unix", name)) if is_name(name) => Ok(Self::Unix(name.into())),
            Some(("unix", _)) => Err(BadText::Unix),
            _ => Err(BadText::Scheme),
        }
    }
}

/// Whether a name can be bound, and shown in a log as it is.
fn is_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_survive_their_text() {
        let longest = format!("unix:{}", "n".repeat(MAX_NAME));
        for text in ["tcp:127.0.0.1:4123", "tcp:[::1]:4123", "unix:name", "unix:a:b/c", &longest] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        assert_eq!("tcp:[::1]:0".parse(), Ok(Address::Tcp("[::1]:0".parse().unwrap())));
        assert_eq!("unix:x".parse(), Ok(Address::Unix("x".into())));
    }

    #[test]
    fn what_is_no_address_is_refused_with_its_reason() {
        let long = format!("unix:{}", "n".repeat(MAX_NAME + 1));
        for (text, why) in [
            ("", BadText::Scheme),
            ("127.0.0.1:4123", BadText::Scheme),
            ("udp:127.0.0.1:4123", BadText::Scheme),
            ("tcp:", BadText::Tcp),
            ("tcp:127.0.0.1", BadText::Tcp),
            ("tcp:localhost:4123", BadText::Tcp),
            ("tcp:127.0.0.1:65536", BadText::Tcp),
            ("unix:", BadText::Unix),
            ("unix:two words", BadText::Unix),
            ("unix:zero\0", BadText::Unix),
            ("unix:né", BadText::Unix),
            (&long, BadText::Long),
        ] {
            assert_eq!(text.parse::<Address>(), Err(why), "{text:?}");
        }
    }
}
