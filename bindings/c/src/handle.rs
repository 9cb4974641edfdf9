//! Handles: what C holds in place of objects. They are looked up and never followed, so that one that was released, or
//! never was one, is an error and no crash.

use crate::status::invalid;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use thalweg::Result;

/// The objects of one kind that C holds.
pub struct Table<T> {
    held: RwLock<Option<HashMap<usize, Arc<T>>>>,
}

impl<T> Table<T> {
    /// A table without objects.
    pub const fn new() -> Table<T> {
        Table { held: RwLock::new(None) }
    }
}

/// An opaque type of the header, and what stands behind it.
pub trait Handle: Sized + 'static {
    /// What stands behind it.
    type Object: Send + Sync + 'static;
    /// What it is called in messages.
    const WHAT: &'static str;

    /// Where these objects are.
    fn table() -> &'static Table<Self::Object>;
}

/// A handle for `object`.
pub fn hold<H: Handle>(object: H::Object) -> *mut H {
    // Numbers are never used twice; their spacing makes them look like addresses in a debugger.
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed) * 16;
    let mut held = H::table().held.write().unwrap_or_else(PoisonError::into_inner);
    held.get_or_insert_with(HashMap::new).insert(number, Arc::new(object));
    number as *mut H
}

/// The object behind `handle`; stays valid also when another thread releases the handle meanwhile.
pub fn held<H: Handle>(operation: &str, handle: *const H) -> Result<Arc<H::Object>> {
    let table = H::table().held.read().unwrap_or_else(PoisonError::into_inner);
    let found = table.as_ref().and_then(|t| t.get(&(handle as usize)).cloned());
    found.ok_or_else(|| unknown::<H>(operation, handle as usize))
}

/// The object behind `handle`, which is none any more; nothing for `NULL`, as in `free`.
pub fn taken<H: Handle>(operation: &str, handle: *mut H) -> Result<Option<Arc<H::Object>>> {
    if handle.is_null() {
        return Ok(None);
    }
    let mut table = H::table().held.write().unwrap_or_else(PoisonError::into_inner);
    let found = table.as_mut().and_then(|t| t.remove(&(handle as usize)));
    found.map(Some).ok_or_else(|| unknown::<H>(operation, handle as usize))
}

fn unknown<H: Handle>(operation: &str, number: usize) -> thalweg::Error {
    let what = H::WHAT;
    match number {
        0 => invalid(operation, format!("{what} is NULL")),
        n => invalid(operation, format!("{what} {n:#x} is none: released already, or never made")),
    }
}

/// Says what stands behind an opaque type of the header, whose declaration the header is made from.
macro_rules! handle {
    ($name:ident, $what:literal, $object:ty) => {
        impl crate::handle::Handle for $name {
            type Object = $object;
            const WHAT: &'static str = $what;

            fn table() -> &'static crate::handle::Table<$object> {
                static TABLE: crate::handle::Table<$object> = crate::handle::Table::new();
                &TABLE
            }
        }
    };
}
pub(crate) use handle;

#[cfg(test)]
mod tests {
    use super::*;

    struct thalweg_number;

    handle!(thalweg_number, "number", u32);

    #[test]
    fn a_handle_is_valid_until_it_is_released_once() {
        let handle = hold::<thalweg_number>(7);
        assert_eq!(*held("test", handle.cast_const()).unwrap(), 7);
        assert_eq!(taken("test", handle).unwrap().as_deref(), Some(&7));
        let error = taken("test", handle).unwrap_err().to_string();
        assert!(error.ends_with("is none: released already, or never made"), "{error}");
        assert!(held("test", handle.cast_const()).is_err());
    }

    #[test]
    fn null_is_released_without_effect_and_refused_otherwise() {
        assert!(taken::<thalweg_number>("test", std::ptr::null_mut()).unwrap().is_none());
        let error = held::<thalweg_number>("test.use", std::ptr::null()).unwrap_err();
        assert_eq!(error.to_string(), "test.use: number is NULL");
    }
}
