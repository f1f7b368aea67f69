//! What a PE's process says of itself on its standard output, a line each, and how the table reads it.

use super::waits::NAMES_THE_MISSING;
use oxshmem::Error;

/// Something said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// On what it runs.
    Device(String),
    /// It is about to make the row's call, or to leave it out.
    Ready,
    /// What the row's call returned.
    Call(String),
    /// What the run returned.
    Run(String),
}

impl Said {
    pub(super) fn line(&self) -> String {
        match self {
            Self::Device(name) => format!("device: {name}"),
            Self::Ready => "ready".to_owned(),
            Self::Call(result) => format!("call: {result}"),
            Self::Run(result) => format!("run: {result}"),
        }
    }

    pub(super) fn read(line: &str) -> Option<Self> {
        let (what, rest) = line.split_once(": ").unwrap_or((line, ""));
        Some(match what {
            "device" => Self::Device(rest.to_owned()),
            "ready" => Self::Ready,
            "call" => Self::Call(rest.to_owned()),
            "run" => Self::Run(rest.to_owned()),
            _ => return None,
        })
    }
}

/// `ok`, or the error's type with the PEs that it names.
pub(super) fn result<T>(result: &Result<T, Error>) -> String {
    result.as_ref().map_or_else(kind, |_| "ok".to_owned())
}

fn kind(error: &Error) -> String {
    let list = |pes: &[u32]| pes.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    match error {
        Error::PeFailed { pe, cause } => format!("PeFailed({pe}) {}", kind(cause)),
        Error::PeLost { pe, .. } => format!("PeLost({pe})"),
        Error::PePanicked { pe, .. } => format!("PePanicked({pe})"),
        Error::Missing { missing, .. } => format!("Missing({})", list(missing)),
        Error::Absent { missing, .. } => format!("Absent({})", list(missing)),
        Error::Poisoned(failure) => {
            let operation = failure.operation.to_string();
            let names = NAMES_THE_MISSING.contains(&operation.as_str());
            let missing = failure.peer.filter(|_| names).map(|peer| format!(" of PE {peer}"));
            format!("Poisoned({}) {operation}{}", failure.pe, missing.unwrap_or_default())
        }
        Error::NotJoined { pe, doing, .. } => format!("NotJoined({pe}) {doing}"),
        Error::BadHandle { .. } => "BadHandle".to_owned(),
        Error::Registration(refused) => format!("Registration({})", refused.pe),
        other => format!("{other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_read_back() {
        let lost = Error::PeLost { pe: 2, pid: 7, how: "has ended".into() };
        let failed = Error::PeFailed { pe: 2, cause: Box::new(lost) };
        let said = result::<()>(&Err(failed));
        assert_eq!(said, "PeFailed(2) PeLost(2)");
        for said in
            [Said::Device("emulated GPU".into()), Said::Ready, Said::Call(said), Said::Run("ok".into())]
        {
            assert_eq!(Said::read(&said.line()), Some(said));
        }
        assert_eq!(Said::read("something else"), None);
    }
}
