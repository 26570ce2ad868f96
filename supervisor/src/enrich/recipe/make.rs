//! Recipes of `make`.

use super::{Call, Unresolved};
use crate::event::Recipe;

pub(super) fn resolve(_call: &Call<'_>) -> Result<Option<Recipe>, Unresolved> {
    Err("make is not read yet".into())
}
