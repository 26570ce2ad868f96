//! An event written down, with its own variables or with others in their place.
#![forbid(unsafe_code)]

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::Event;

/// Writes fields of an event down under their own names.
macro_rules! fields {
    ($event:ident into $form:ident: $($name:ident)+) => {
        $($form.serialize_field(stringify!($name), &$event.$name)?;)+
    };
}

impl Event {
    /// Writes it down with these variables in place of its own.
    pub(crate) fn serialize_with<S: Serializer>(
        &self,
        serializer: S,
        env: &(impl Serialize + ?Sized),
        env_names: &(impl Serialize + ?Sized),
    ) -> Result<S::Ok, S::Error> {
        let mut form = serializer.serialize_struct("Event", 32)?;
        fields!(self into form: event phase schema session_id seq time path name path_raw argv argv_base64 command cwd
            cwd_deleted pid tid ppid uid gid ancestry depth interpreters payload applet script recipe);
        form.serialize_field("env", env)?;
        form.serialize_field("env_names", env_names)?;
        fields!(self into form: file syscall abi outcome);
        form.end()
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.serialize_with(serializer, &*self.env, &*self.env_names)
    }
}
