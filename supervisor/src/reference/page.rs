//! A JSON schema as a page: for each type a heading, what it is, and a table of its keys.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

/// The whole page. `beside` is the schema itself.
pub(super) fn page(title: &str, beside: &str, schema: &Value) -> String {
    let mut page = format!(
        "# {title}\n\n<!-- Written by a test from the code: see CONTRIBUTING.md. -->\n\nThe same as a JSON schema: [{0}]({beside}).\n",
        beside.trim_start_matches("../")
    );
    section(&mut page, schema);
    if let Some(types) = schema["$defs"].as_object() {
        for (name, schema) in types {
            let _ = write!(page, "\n## {name}\n");
            section(&mut page, schema);
        }
    }
    page
}

/// What a type is and what it holds.
fn section(page: &mut String, schema: &Value) {
    if let Some(text) = schema["description"].as_str() {
        let _ = write!(page, "\n{}\n", sentence(text));
    }
    let forms = ["oneOf", "anyOf"].iter().find_map(|key| schema[key].as_array());
    match forms {
        Some(forms) => {
            page.push_str("\nOne of:\n\n");
            for form in forms {
                let _ = writeln!(page, "- {}", form_line(form));
            }
            for form in
                forms.iter().filter(|form| form["properties"].as_object().is_some_and(|keys| keys.len() > 1))
            {
                table(page, form);
            }
        }
        None => {
            if let Some(words) = schema["enum"].as_array() {
                let words: Vec<String> = words.iter().map(|word| format!("`{}`", bare(word))).collect();
                let _ = write!(page, "\nOne of {}.\n", words.join(", "));
            }
        }
    }
    table(page, schema);
}

fn form_line(form: &Value) -> String {
    let says = form["description"].as_str().map(|text| format!(": {}", cell(text))).unwrap_or_default();
    format!("{}{says}", kind(form))
}

fn table(page: &mut String, schema: &Value) {
    let Some(keys) = schema["properties"].as_object().filter(|keys| !keys.is_empty()) else { return };
    let needed: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    page.push_str("\n| key | holds | |\n|---|---|---|\n");
    for (key, value) in keys {
        let says = value["description"].as_str().map(cell).unwrap_or_default();
        let kind = kind(value);
        let kind = if needed.contains(&key.as_str()) {
            kind
        } else {
            // What may be absent may be null as well.
            format!("{} (optional)", kind.replace(" or null", ""))
        };
        let _ = writeln!(page, "| `{key}` | {kind} | {says} |");
    }
}

/// What a value is, in few words, with links to types of the page.
fn kind(schema: &Value) -> String {
    if let Some(tagged) = tagged(schema.as_object()).filter(|_| !schema["$ref"].is_null()) {
        return tagged;
    }
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if !schema["const"].is_null() {
        return format!("`{}`", bare(&schema["const"]));
    }
    if let Some(forms) = ["oneOf", "anyOf"].iter().find_map(|key| schema[key].as_array()) {
        return joined(forms.iter().map(kind));
    }
    if let Some(words) = schema["enum"].as_array() {
        return joined(words.iter().map(|word| format!("`{}`", bare(word))));
    }
    match &schema["type"] {
        Value::String(name) => of_type(name, schema),
        Value::Array(names) => {
            joined(names.iter().filter_map(Value::as_str).map(|name| of_type(name, schema)))
        }
        _ => tagged(schema.as_object()).unwrap_or_else(|| "anything".to_owned()),
    }
}

fn of_type(name: &str, schema: &Value) -> String {
    match name {
        "array" => match schema.get("items") {
            Some(items) => format!("list of {}", kind(items)),
            None => "list".to_owned(),
        },
        "object" => match (schema.get("additionalProperties"), tagged(schema.as_object())) {
            (_, Some(tagged)) => tagged,
            (Some(Value::Object(inner)), None) => format!("map to {}", kind(&Value::Object(inner.clone()))),
            _ => "object".to_owned(),
        },
        other => other.to_owned(),
    }
}

/// An object that is told apart by a key with one value, or has one key.
fn tagged(schema: Option<&Map<String, Value>>) -> Option<String> {
    let schema = schema?;
    let keys = schema.get("properties")?.as_object()?;
    if let Some((key, value)) = keys.iter().find(|(_, value)| !value["const"].is_null()) {
        let of = schema.get("$ref").map(|to| format!(", {}", kind(&json!({"$ref": to})))).unwrap_or_default();
        return Some(format!("`{key}: {}`{of}", bare(&value["const"])));
    }
    match keys.iter().next() {
        Some((key, value)) if keys.len() == 1 => Some(format!("`{key}:` {}", kind(value))),
        _ => None,
    }
}

/// Each once: what may be null, or one of several.
fn joined(kinds: impl Iterator<Item = String>) -> String {
    let mut seen = Vec::new();
    for kind in kinds {
        if !seen.contains(&kind) {
            seen.push(kind);
        }
    }
    seen.join(" or ")
}

fn bare(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// In a table: one line, and no bar that would end the cell. Links of Rust's own documentation lead nowhere here.
fn cell(text: &str) -> String {
    sentence(text).replace('\n', " ").replace('|', "\\|")
}

fn sentence(text: &str) -> String {
    text.replace("[`", "`").replace("`]", "`")
}
