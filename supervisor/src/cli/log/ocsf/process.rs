//! Programs as OCSF's process objects, and what of an event has no place there.

use super::{HashMap, Map, Value, json, millis, put};
use crate::event::{Event, FileKind};
use crate::trace::record::AnswerLine;

/// The programs of a session, by number. One that has ended is remembered by its names alone.
pub(super) struct Known {
    session_id: String,
    programs: HashMap<u64, Value>,
}

impl Known {
    pub(super) fn new(session_id: &str) -> Self {
        Self { session_id: session_id.to_owned(), programs: HashMap::new() }
    }

    /// A process keeps its pid from program to program, so what names it here is the exec.
    fn uid(&self, seq: u64) -> String {
        format!("{}:{seq}", self.session_id)
    }

    pub(super) fn started(&mut self, event: &Event, process: &Value) {
        // Its ancestors are known by themselves.
        let mut process = process.clone();
        if let Some(object) = process.as_object_mut() {
            object.remove("ancestry");
        }
        self.programs.insert(event.seq, process);
    }

    /// All that is known of a program which has ended.
    pub(super) fn ended(&mut self, seq: u64) -> Value {
        match self.programs.get_mut(&seq) {
            Some(known) => {
                let names = reference(known);
                std::mem::replace(known, names)
            }
            // Its start is in another file of the trace, or torn.
            None => json!({"uid": self.uid(seq)}),
        }
    }

    /// The program that an event is about.
    pub(super) fn process(&self, event: &Event) -> Value {
        let mut process = json!({
            "pid": event.pid,
            "uid": self.uid(event.seq),
            "name": event.name,
            "path": event.path,
            "cmd_line": shell_words::join(&event.argv),
            "working_directory": event.cwd,
            "created_time": millis(&event.time),
            "file": file(event),
            "user": {"uid": event.uid.to_string(), "groups": [{"uid": event.gid.to_string()}]},
            "parent_process": self.parent(event),
        });
        let ancestry: Vec<Value> =
            event.ancestry.iter().map(|known| self.entity(known.seq, &known.path)).collect();
        put(&mut process, "ancestry", (!ancestry.is_empty()).then_some(ancestry.into()));
        process
    }

    /// Who started it: the program that it descends from, or shellgate itself.
    pub(super) fn actor(&self, event: &Event) -> Value {
        match event.ancestry.first() {
            Some(nearest) => json!({"process": self.entity(nearest.seq, &nearest.path)}),
            None => json!({"app_name": "shellgate"}),
        }
    }

    /// The parent by its pid, with its names where it is a program of this session.
    fn parent(&self, event: &Event) -> Value {
        let parent = event.ancestry.iter().find(|ancestor| {
            self.programs.get(&ancestor.seq).is_some_and(|program| program["pid"] == event.ppid)
        });
        parent.map_or_else(|| json!({"pid": event.ppid}), |parent| self.entity(parent.seq, &parent.path))
    }

    fn entity(&self, seq: u64, path: &str) -> Value {
        let known = self.programs.get(&seq).map(reference);
        known.unwrap_or_else(|| json!({"uid": self.uid(seq), "path": path}))
    }
}

/// What names a process.
pub(super) fn reference(process: &Value) -> Value {
    let keys = ["pid", "uid", "name", "path"];
    let parts = keys.into_iter().filter_map(|key| Some((key.to_owned(), process.get(key)?.clone())));
    Value::Object(parts.collect::<Map<_, _>>())
}

fn file(event: &Event) -> Value {
    let facts = &event.file;
    let mut file = json!({
        "name": event.name,
        "path": event.path,
        "type_id": 1,
        "type": "Regular File",
        "size": facts.size,
        "modified_time": millis(&facts.mtime),
        "owner": {"uid": facts.uid.to_string()},
    });
    put(&mut file, "is_deleted", (facts.kind == FileKind::Deleted).then_some(true.into()));
    file
}

/// What OCSF has no attribute for.
pub(super) fn rest(event: &Event, answers: &[AnswerLine]) -> Value {
    let mut rest = json!({"argv": event.argv, "path_raw": event.path_raw, "answers": answers});
    put(&mut rest, "argv_base64", event.argv_base64.as_ref().map(|words| json!(words)));
    put(&mut rest, "payload", event.payload.as_deref().map(Into::into));
    put(&mut rest, "applet", event.applet.as_deref().map(Into::into));
    put(&mut rest, "interpreters", (!event.interpreters.is_empty()).then(|| json!(event.interpreters)));
    put(&mut rest, "script", event.script.as_ref().map(|script| json!(script)));
    put(&mut rest, "recipe", event.recipe.as_ref().map(|recipe| json!(recipe)));
    rest
}
