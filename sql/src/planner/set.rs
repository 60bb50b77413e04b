//! SET and RESET.

use crate::error::Result;
use crate::plan::{Plan, PlanKind, Set};
use crate::settings::Settings;
use crate::statement::{Reset, Set as Statement};
use crate::text::SourceText;

pub fn plan_set(set: &Statement, text: &SourceText) -> Result<Plan> {
    let (name, value) = Settings::check(&set.name, set.value.as_deref())
        .map_err(|error| error.or_position(Some(text.position_of_byte(set.position))))?;
    // Modes of a transaction end with it, however they are set.
    let local = set.local || name.starts_with("transaction_");
    Ok(PlanKind::Set(Set {
        name,
        value,
        local,
        tag: "SET",
    })
    .into())
}

pub fn plan_reset(reset: &Reset) -> Result<Plan> {
    match reset {
        Reset::All => Ok(PlanKind::ResetAll.into()),
        Reset::Setting(name) => {
            let (name, _) = Settings::check(name, None)?;
            Ok(PlanKind::Set(Set {
                name,
                value: None,
                local: false,
                tag: "RESET",
            })
            .into())
        }
    }
}
