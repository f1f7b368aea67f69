//! placeholder
use super::Device;
use crate::error::{Error, Result};
use std::sync::Arc;
pub(crate) fn probe() -> Result<bool> {
    Ok(false)
}
pub(super) fn open(_: u32) -> Result<Vec<Arc<dyn Device>>> {
    Err(Error::NoDriverLibrary)
}
