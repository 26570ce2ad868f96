//! Policies that change while containers run: looked at by one thread, which tells each session what has become of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::living::Living;
use super::{Agent, lock};
use crate::oci::policy::{News, unusable};

/// How often policies are looked at, in milliseconds; a change that two looks have found holds.
const LOOK: u16 = 500;

impl Agent {
    /// Follows what becomes of the policies, until we are told to end.
    pub(super) fn keep_up(&self) {
        while !self.told_within(LOOK) {
            // Whatever a policy makes fail here, the next change is still to be seen.
            if catch_unwind(AssertUnwindSafe(|| self.look())).is_err() {
                tracing::error!("looking at the policies has failed; what is in force stays so");
            }
        }
    }

    fn look(&self) {
        for news in self.plan.policies.look() {
            match news {
                News::Good { file, digest } => {
                    tracing::info!(policy = %file.display(), digest, "the policy holds from now on");
                    self.metrics.in_force(&file.display().to_string(), &digest);
                    self.metrics.reloaded(true);
                }
                News::Bad { file, error } => {
                    tracing::error!(policy = %file.display(), "{}", unusable(&error));
                    self.metrics.reloaded(false);
                }
            }
        }
        let living: Vec<_> = lock(&self.containers)
            .iter()
            .map(|((id, policy), place)| (id.clone(), policy.clone(), Arc::clone(place)))
            .collect();
        for (id, policy, place) in living {
            // One that is just being opened is told the next time.
            if let Ok(mut living) = place.try_lock()
                && let Err(error) = self.tell(&mut living, policy.as_deref())
            {
                tracing::error!(container = %id, "it keeps the policy that it has: {error}");
            }
        }
        // A session that ended while we held its place could not give it up.
        lock(&self.containers)
            .retain(|_, place| Arc::strong_count(place) > 1 || lock(place).session.is_some());
    }

    /// Tells a session what has become of its policy.
    fn tell(&self, living: &mut Living, policy: Option<&str>) -> Result<(), String> {
        let Living { session: Some(session), standing: known, .. } = living else { return Ok(()) };
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let standing = self.plan.policies.standing(policy).map_err(|error| text(&error))?;
        let before = std::mem::replace(known, standing.clone());
        if standing.version != before.version {
            let staged = self.plan.policies.load(policy).map_err(|error| text(&error));
            // Staged for this session alone, which can fail where it did not for the look.
            staged.and_then(|(config, ..)| session.exchange(&config)).inspect_err(|error| {
                session.reject(policy.unwrap_or("-c"), error);
                self.metrics.reloaded(false);
            })?;
        }
        if let Some(error) = standing.bad.filter(|_| standing.rejections != before.rejections) {
            session.reject(policy.unwrap_or("-c"), &error);
        }
        Ok(())
    }
}
