#![expect(clippy::unwrap_used, reason = "tests may fail loudly")]
use super::*;

#[test]
fn presets_load() {
    for (name, _) in PRESETS {
        match Config::preset(name) {
            Ok(config) => assert_eq!(config.warnings, Vec::<String>::new()),
            Err(error) => panic!("{error}"),
        }
    }
    Config::preset("dev").unwrap();
}
