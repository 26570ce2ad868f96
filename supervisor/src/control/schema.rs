//! The protocol as a JSON schema, and the file in `docs/` that must be equal to it.

use super::wire::Protocol;

/// The JSON schema of every message of the control socket.
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(Protocol)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on must fail")]

    #[test]
    fn the_schema_in_docs_is_the_one_of_the_code() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/control.schema.json");
        let mut now = serde_json::to_string_pretty(super::schema().as_value()).unwrap();
        now.push('\n');
        if std::env::var_os("SHELLGATE_WRITE_SCHEMA").is_some() {
            std::fs::write(path, &now).unwrap();
        }
        let written = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            written == now,
            "docs/control.schema.json is old; run this test with SHELLGATE_WRITE_SCHEMA=1"
        );
    }
}
