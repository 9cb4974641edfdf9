//! Definitions: how a variable is, for C.

use crate::dtype::{code, dtype, thalweg_dtype};
use crate::geometry::{axes_of, packed, thalweg_layout, THALWEG_MAX_DIMS};
use crate::status::invalid;
use crate::text::name;
use crate::versioned::{self, Versioned};
use std::ffi::{c_char, CString};
use thalweg::{Cell, Definition, Error, Extents, Field, Kind, Result, Strategy};

/// The strategy of the variable's definition; in a definition the default, `THALWEG_SAHR`.
pub const THALWEG_STRATEGY_DEFAULT: u32 = 0;
/// Reorganised at the destination, in the reader's get.
pub const THALWEG_RAD: u32 = 1;
/// Reorganised in the service when somebody first asks; the replica serves everybody after.
pub const THALWEG_RASAR: u32 = 2;
/// Reorganised in the service as soon as data arrive, into every registered layout.
pub const THALWEG_RASIA: u32 = 3;
/// Reorganised in the service as soon as data arrive that meet a pattern of earlier gets; until then at the
/// destination.
pub const THALWEG_SAHR: u32 = 4;

/// One field of a record.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct thalweg_field {
    /// What it is called.
    pub name: *const c_char,
    /// The type of its value.
    pub dtype: thalweg_dtype,
    /// Bytes from the record's start.
    pub offset_bytes: u32,
}

/// How a variable is; begin with `THALWEG_DEFINITION_INIT`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct thalweg_definition {
    /// The size of this struct, in bytes.
    pub size: usize,
    /// The type of one cell; `THALWEG_OPAQUE(size_bytes)` for records.
    pub dtype: thalweg_dtype,
    /// How many axes there are, 1 to `THALWEG_MAX_DIMS`.
    pub dims: u32,
    /// How many cells there are along each axis.
    pub domain: [u64; THALWEG_MAX_DIMS],
    /// Where data are reorganised: `THALWEG_RAD`, `THALWEG_RASAR`, `THALWEG_RASIA`, `THALWEG_SAHR` or the default.
    pub strategy: u32,
    /// How many complete versions are kept; 0: all, until they are released.
    pub keep_last: u32,
    /// How many writers must seal a version before it can be read; 0: a region can be read where it is complete.
    pub writers: u32,
    /// How many `fields` there are; 0 for plain elements.
    pub field_count: u32,
    /// The fields of a record.
    pub fields: *const thalweg_field,
    /// The layouts into which `THALWEG_RASIA` brings the data.
    pub layouts: *const thalweg_layout,
    /// How many `layouts` there are.
    pub layout_count: u32,
}

// SAFETY: plain data whose first member is its size.
unsafe impl Versioned for thalweg_definition {
    const WHAT: &'static str = "definition";
    const INIT: &'static str = "THALWEG_DEFINITION_INIT";
    const FIRST: usize = size_of::<thalweg_definition>();
}

const NOTHING: thalweg_definition = thalweg_definition {
    size: size_of::<thalweg_definition>(),
    dtype: 0,
    dims: 0,
    domain: [0; THALWEG_MAX_DIMS],
    strategy: THALWEG_STRATEGY_DEFAULT,
    keep_last: 0,
    writers: 0,
    field_count: 0,
    fields: std::ptr::null(),
    layouts: std::ptr::null(),
    layout_count: 0,
};

/// The strategy of a number; none for the default.
pub fn strategy(operation: &str, given: u32) -> Result<Option<Strategy>> {
    match given {
        THALWEG_STRATEGY_DEFAULT => Ok(None),
        THALWEG_RAD => Ok(Some(Strategy::AtDestination)),
        THALWEG_RASAR => Ok(Some(Strategy::AsRequested)),
        THALWEG_RASIA => Ok(Some(Strategy::InAdvance)),
        THALWEG_SAHR => Ok(Some(Strategy::Adaptive)),
        other => {
            let detail = format!(
                "strategy = {other}; accepted are THALWEG_STRATEGY_DEFAULT, THALWEG_RAD, THALWEG_RASAR, \
                 THALWEG_RASIA and THALWEG_SAHR"
            );
            Err(invalid(operation, detail))
        }
    }
}

fn strategy_out(strategy: Strategy) -> u32 {
    match strategy {
        Strategy::AtDestination => THALWEG_RAD,
        Strategy::AsRequested => THALWEG_RASAR,
        Strategy::InAdvance => THALWEG_RASIA,
        Strategy::Adaptive => THALWEG_SAHR,
    }
}

/// The `count` members of a list that is called `what`.
///
/// # Safety
/// `given` is `NULL` or has `count` readable members that nobody changes during `'a`.
unsafe fn list<'a, T>(operation: &str, what: &str, given: *const T, count: u32) -> Result<&'a [T]> {
    match (count, given.is_null()) {
        (0, _) => Ok(&[]),
        (count, true) => Err(invalid(operation, format!("{what} is NULL, but {count} are counted"))),
        // SAFETY: the caller's promise.
        (count, false) => Ok(unsafe { std::slice::from_raw_parts(given, count as usize) }),
    }
}

/// The definition at `given`.
///
/// # Safety
/// `given` and the pointers in it are `NULL` or valid.
pub unsafe fn definition(operation: &str, given: *const thalweg_definition) -> Result<Definition> {
    if given.is_null() {
        return Err(invalid(operation, "definition is NULL"));
    }
    // SAFETY: the caller's promise.
    let given = unsafe { versioned::taken(operation, given, NOTHING) }?;
    let dims = axes_of(operation, "definition.dims", given.dims)?;
    if dims == 0 {
        let detail = "definition.dims = 0; accepted are 1 to 8";
        return Err(Error::new(Kind::Shape, operation, detail));
    }
    // SAFETY: the caller's promise.
    let fields = unsafe { list(operation, "definition.fields", given.fields, given.field_count) }?;
    // SAFETY: the caller's promise.
    let layouts = unsafe { list(operation, "definition.layouts", given.layouts, given.layout_count) }?;
    let mut made = Definition::new(dtype(operation, given.dtype)?, Extents::new(&given.domain[..dims])?);
    if !fields.is_empty() {
        let field = |f: &thalweg_field| {
            // SAFETY: the names of fields are `NULL` or C strings, by the caller's promise.
            let name = unsafe { name(operation, "a field's name", f.name) }?;
            Ok(Field { name, dtype: dtype(operation, f.dtype)?, offset: f.offset_bytes })
        };
        made.cell = Cell::record(made.cell.dtype().size(), fields.iter().map(field).collect::<Result<_>>()?)?;
    }
    for layout in layouts {
        // SAFETY: a member of the list.
        made.layouts.extend(unsafe { packed(operation, layout, dims) }?);
    }
    made.strategy = strategy(operation, given.strategy)?.unwrap_or_default();
    made.keep_last = (given.keep_last > 0).then_some(given.keep_last);
    made.writers = given.writers;
    Ok(made)
}

/// A definition for C; its lists live as long as this.
pub struct Described {
    plain: thalweg_definition,
    _fields: Vec<thalweg_field>,
    _names: Vec<CString>,
    _layouts: Vec<thalweg_layout>,
}

// SAFETY: the pointers lead into the vectors that lie beside them, and nobody changes these.
unsafe impl Send for Described {}
// SAFETY: as above.
unsafe impl Sync for Described {}

impl Described {
    /// `definition` for C.
    pub fn of(definition: &Definition) -> Described {
        let given = definition.cell.fields();
        let names: Vec<CString> =
            given.iter().map(|f| CString::new(f.name.as_str()).unwrap_or_default()).collect();
        let field = |(f, name): (&Field, &CString)| thalweg_field {
            name: name.as_ptr(),
            dtype: code(f.dtype),
            offset_bytes: f.offset,
        };
        let fields: Vec<thalweg_field> = given.iter().zip(&names).map(field).collect();
        let layouts: Vec<thalweg_layout> =
            definition.layouts.iter().map(crate::geometry::layout_out).collect();
        let dims = definition.domain.as_slice().len();
        let mut domain = [0; THALWEG_MAX_DIMS];
        domain[..dims].copy_from_slice(definition.domain.as_slice());
        let plain = thalweg_definition {
            dtype: code(definition.cell.dtype()),
            dims: dims as u32,
            domain,
            strategy: strategy_out(definition.strategy),
            keep_last: definition.keep_last.unwrap_or(0),
            writers: definition.writers,
            field_count: fields.len() as u32,
            fields: fields.as_ptr(),
            layouts: layouts.as_ptr(),
            layout_count: layouts.len() as u32,
            ..NOTHING
        };
        Described { plain, _fields: fields, _names: names, _layouts: layouts }
    }

    /// What C sees.
    pub fn plain(&self) -> thalweg_definition {
        self.plain
    }
}
