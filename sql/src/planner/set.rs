//! SET and RESET.

use crate::error::Result;
use crate::plan::{Plan, PlanKind, Set};
use crate::settings::Settings;
use crate::statement::{Reset, Set as Statement};
use crate::text::SourceText;

pub fn plan_set(set: &Statement, text: &SourceText) -> Result<Plan> {
    let mut settings = Settings::default();
    let setting = settings
        .set(&set.name, set.value.as_deref())
        .map_err(|error| error.or_position(Some(text.position_of_byte(set.position))))?;
    let value = set.value.as_ref().map(|_| settings.value(setting).to_owned());
    Ok(PlanKind::Set(Set {
        name: setting.name,
        value,
        local: set.local,
        tag: "SET",
    })
    .into())
}

pub fn plan_reset(reset: &Reset) -> Result<Plan> {
    match reset {
        Reset::All => Ok(PlanKind::ResetAll.into()),
        Reset::Setting(name) => {
            let setting = Settings::default().set(name, None)?;
            Ok(PlanKind::Set(Set {
                name: setting.name,
                value: None,
                local: false,
                tag: "RESET",
            })
            .into())
        }
    }
}
