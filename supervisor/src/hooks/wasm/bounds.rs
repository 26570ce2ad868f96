//! What one call may have of memory, tables and instances. Asking for more ends the call: a hook that went on without
//! what it asked for might answer about a part of the event.

use wasmtime::{ResourceLimiter, Result};

/// Elements of all tables together.
const TABLE_ELEMENTS: usize = 1 << 20;
/// Core instances of one component, tables and memories; an interpreter with its libraries has some twenty.
const PARTS: usize = 128;

/// Counts over all memories and all tables of one call.
#[derive(Debug)]
pub(super) struct Bounds {
    memory_limit: usize,
    memory: usize,
    elements: usize,
    /// What the call asked for and did not get.
    pub(super) exceeded: Option<String>,
}

impl Bounds {
    pub(super) fn new(memory_limit: usize) -> Self {
        Self { memory_limit, memory: 0, elements: 0, exceeded: None }
    }

    fn refuse(&mut self, what: String) -> Result<bool> {
        let error = wasmtime::Error::msg(what.clone());
        self.exceeded = Some(what);
        Err(error)
    }
}

impl ResourceLimiter for Bounds {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> Result<bool> {
        // Beyond its own maximum it cannot grow anyway, and is told so as WebAssembly says.
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let wanted = self.memory.saturating_add(desired.saturating_sub(current));
        if wanted > self.memory_limit {
            let limit = self.memory_limit >> 20;
            return self
                .refuse(format!("reached its memory limit of {limit} MiB (capabilities.hooks grants more)"));
        }
        self.memory = wanted;
        Ok(true)
    }

    fn table_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let wanted = self.elements.saturating_add(desired.saturating_sub(current));
        if wanted > TABLE_ELEMENTS {
            return self.refuse(format!("reached its limit of {TABLE_ELEMENTS} table elements"));
        }
        self.elements = wanted;
        Ok(true)
    }

    fn instances(&self) -> usize {
        PARTS
    }

    fn tables(&self) -> usize {
        PARTS
    }

    fn memories(&self) -> usize {
        PARTS
    }
}
