//! What can be called, and by whom. A peer inside the tree has `event` and `session`; all else is for those outside.

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::approvals::Approvals;
use super::peer::Peer;
use super::wire::{
    AGAIN, AllowRequest, DenyRequest, FORBIDDEN, INTERNAL, ListRequest, NO_METHOD, PARAMS, Request, RpcError,
    STATE,
};
use super::{EventError, Service};

/// Longest wait of `approvals.list`.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Methods that answer an ask.
pub(super) const DECISIONS: [&str; 2] = ["approvals.allow", "approvals.deny"];

pub(super) fn call(
    service: &dyn Service,
    peer: &Peer,
    request: &Request,
    wanted: &(dyn Fn() -> bool + Sync),
) -> Result<Value, RpcError> {
    let deciding = || {
        let allowed = peer.may_decide();
        let code = if peer.is_to_come_again() { AGAIN } else { FORBIDDEN };
        allowed.map_err(|why| RpcError::new(code, format!("{} is refused: {why}", request.method)))
    };
    match request.method.as_str() {
        "event" => {
            let reply = service.event(params(request)?, wanted).map_err(|error| match &error {
                EventError::Params(_) => RpcError::new(PARAMS, error.to_string()),
                EventError::State(_) => RpcError::new(STATE, error.to_string()),
            })?;
            value(&reply)
        }
        "session" => value(&service.session()),
        "approvals.list" => {
            deciding()?;
            let ListRequest { after, wait_ms } = params(request)?;
            let wait = Duration::from_millis(wait_ms).min(LONGEST_WAIT);
            value(&approvals(service)?.list(after, wait, wanted))
        }
        "approvals.allow" => {
            deciding()?;
            let AllowRequest { id, remember } = params(request)?;
            let scope = approvals(service)?.allow(id, remember, &peer.name()).map_err(no_such_ask)?;
            Ok(json!({ "scope": scope }))
        }
        "approvals.deny" => {
            deciding()?;
            let DenyRequest { id, reason } = params(request)?;
            approvals(service)?.deny(id, reason, &peer.name()).map_err(no_such_ask)?;
            Ok(json!({}))
        }
        // Nobody inside learns which methods there are for others.
        method => {
            deciding()?;
            Err(RpcError::new(NO_METHOD, format!("there is no method {method:?}")))
        }
    }
}

fn params<T: DeserializeOwned>(request: &Request) -> Result<T, RpcError> {
    let params = request.params.clone().unwrap_or_else(|| json!({}));
    serde_json::from_value(params)
        .map_err(|error| RpcError::new(PARAMS, format!("params of {}: {error}", request.method)))
}

fn value(result: &impl Serialize) -> Result<Value, RpcError> {
    serde_json::to_value(result).map_err(|error| RpcError::new(INTERNAL, error.to_string()))
}

fn approvals(service: &dyn Service) -> Result<&Approvals, RpcError> {
    let headless = "this session is headless: nobody is asked (start it with --interactive)";
    service.approvals().ok_or_else(|| RpcError::new(STATE, headless))
}

fn no_such_ask(id: u64) -> RpcError {
    RpcError::new(STATE, format!("no ask {id} waits: it was answered, has expired, or its caller is gone"))
}
