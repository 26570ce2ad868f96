//! Recipes of `npm`.

use super::{Call, Unresolved};
use crate::event::Recipe;

pub(super) fn resolve(_call: &Call<'_>) -> Result<Option<Recipe>, Unresolved> {
    Err("npm is not read yet".into())
}

/// Whether a script of this name is the front door of npm or one of its kin.
pub(super) fn is_front_door(name: &str) -> bool {
    matches!(name, "npm-cli.js" | "npm")
}
