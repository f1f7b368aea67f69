//! What the environment asks of the checker.

use super::variables::{CHECK_CHOICES, CHECK_SEED, CHECK_SEEDS};
use crate::config::Config;
use crate::config::DeviceChoice;
use crate::error::{Error, Result};
use std::ffi::OsString;
use std::time::Duration;

/// The checker's variables.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Asked {
    pub(crate) asks: bool,
    pub(crate) seed: Option<u64>,
    pub(crate) seeds: Option<u32>,
    /// Points and options.
    pub(crate) choices: Option<Vec<(u64, u32)>>,
    pub(crate) profile: Option<String>,
    pub(crate) patience: Option<Duration>,
    pub(crate) json: Option<OsString>,
}

impl Asked {
    #[cfg(feature = "emulator")]
    pub(super) fn apply(self, config: &mut Config) -> Result<()> {
        use crate::asked::FromEnv;
        use crate::check::{CheckOptions, Choice, Profile, Schedule};
        let defaults = CheckOptions::default();
        let set =
            [self.seed.map(|seed| (CHECK_SEED.name, seed)), self.seeds.map(|n| (CHECK_SEEDS.name, n.into()))];
        if let (Some(_), Some((name, value))) = (&self.choices, set.into_iter().flatten().next()) {
            return Err(Error::Contradiction {
                one: CHECK_CHOICES.name.to_owned(),
                other: format!("{name}={value}"),
                why: "choices are one schedule, and seeds others: unset one of them",
            });
        }
        if config.device == DeviceChoice::Cuda {
            return Err(Error::Contradiction {
                one: "OXSHMEM_CHECK=1".to_owned(),
                other: "OXSHMEM_DEVICE=cuda".to_owned(),
                why: "the checker runs kernels emulated: unset one of them",
            });
        }
        let schedule = match self.choices {
            Some(choices) => {
                Schedule::Choices(choices.into_iter().map(|(at, option)| Choice { at, option }).collect())
            }
            None => Schedule::Seed(self.seed.unwrap_or(1)),
        };
        let options = CheckOptions {
            profile: self.profile.as_deref().and_then(Profile::from_name).unwrap_or_default(),
            schedule,
            seeds: self.seeds.unwrap_or(1),
            patience: self.patience.unwrap_or(defaults.patience),
            ..defaults
        };
        config.check = Some(FromEnv { options, json: self.json.map(Into::into) });
        Ok(())
    }

    #[cfg(not(feature = "emulator"))]
    pub(super) fn apply(self, _: &mut Config) -> Result<()> {
        Err(crate::error::Error::DriverNotBuilt { device: "the checker", feature: "emulator" })
    }
}

/// `none`, or pairs.
pub(super) fn choices(value: &str) -> Option<Vec<(u64, u32)>> {
    if value == "none" {
        return Some(Vec::new());
    }
    let pair = |pair: &str| {
        let (at, option) = pair.split_once(':')?;
        Some((at.trim().parse().ok()?, option.trim().parse().ok()?))
    };
    let all: Vec<(u64, u32)> = value.split(',').map(pair).collect::<Option<_>>()?;
    // As reports print them: a point is chosen at once, and the points follow each other.
    all.windows(2).all(|two| two[0].0 < two[1].0).then_some(all)
}

/// A profile's name.
pub(super) fn profile(value: &str) -> Option<String> {
    ["oxshmem", "openshmem", "mixed", "strict"].contains(&value).then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read_as_reports_print_them() {
        assert_eq!(choices("none"), Some(Vec::new()));
        assert_eq!(choices("12:1,40:3"), Some(vec![(12, 1), (40, 3)]));
        for wrong in ["12", "40:3,12:1", "12:1,12:1", "", ":", "1:2,"] {
            assert_eq!(choices(wrong), None, "{wrong}");
        }
    }
}
