//! Redirected files: what `libthalweg-redirect.so` asks for the programs that it is loaded into.

use crate::handle::{handle, held, hold, taken};
use crate::status::{guarded, invalid, thalweg_status};
use crate::text::{name, optional, place, read, within};
use std::ffi::{c_char, c_int};
use std::os::fd::IntoRawFd;
use thalweg::redirect::{Access, Client, Hole, How, Mode, Rule, Wrote};
use thalweg::{Name, Region, Result};

/// A connection to the redirect service; made by `thalweg_redirect_connect`, ended by `thalweg_redirect_disconnect`.
/// Threads may share it; a forked child must make its own.
pub struct thalweg_redirect {
    _opaque: (),
}

handle!(thalweg_redirect, "redirect connection", Client);

/// The bytes of a file stay in memory.
pub const THALWEG_REDIRECT_MEMORY: u32 = 0;
/// The bytes of a file stay in memory, and behind it in the file.
pub const THALWEG_REDIRECT_BOTH: u32 = 1;

/// To see what is there now; waits for nobody and disturbs nobody.
pub const THALWEG_ACCESS_LOOK: u32 = 0;
/// To read what others wrote.
pub const THALWEG_ACCESS_READ: u32 = 1;
/// To read and write what is there.
pub const THALWEG_ACCESS_UPDATE: u32 = 2;
/// To make the file where it is not there.
pub const THALWEG_ACCESS_CREATE: u32 = 3;
/// To make the file anew, without what was in it.
pub const THALWEG_ACCESS_TRUNCATE: u32 = 4;
/// To make the file, which must not be there.
pub const THALWEG_ACCESS_EXCLUSIVE: u32 = 5;

/// This opening is no turn of the component, only a glance before one or between its calls.
pub const THALWEG_OPEN_GLANCE: u32 = 1;
/// What is not there is not waited for, except for a turn.
pub const THALWEG_OPEN_AT_ONCE: u32 = 2;
/// The bytes of an earlier file of its kind will do, as the caller overwrites them: their memory is at hand.
pub const THALWEG_OPEN_WARM: u32 = 4;

/// How a file is redirected.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct thalweg_file_rule {
    /// `THALWEG_REDIRECT_MEMORY` or `THALWEG_REDIRECT_BOTH`.
    pub mode: u32,
    /// The components that use the file one after the other, separated by commas; `NULL`: there are no turns.
    pub turns: *const c_char,
    /// How long to wait for another component, in seconds.
    pub deadline_s: f64,
}

/// A file that was opened.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct thalweg_opened {
    /// The number under which it is closed.
    pub number: u64,
    /// A descriptor of its bytes, which the caller closes.
    pub descriptor: c_int,
    /// 1 when the file was there before, else 0.
    pub existed: u32,
}

/// The most dimensions of a `thalweg_box`.
pub const THALWEG_BOX_DIMS: usize = 8;

/// The most regions that `thalweg_redirect_holes` tells of.
pub const THALWEG_HOLES_MAX: usize = 512;
const _: () = assert!(THALWEG_HOLES_MAX == thalweg::redirect::HOLES_MAX);

/// A part of a variable: `extent[d]` values from `lower[d]` on, for each of its dimensions, the slowest first.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct thalweg_box {
    /// The variable's number in the file.
    pub variable: u32,
    /// How many dimensions it has.
    pub dims: u32,
    /// Where it begins.
    pub lower: [u64; THALWEG_BOX_DIMS],
    /// How far it goes.
    pub extent: [u64; THALWEG_BOX_DIMS],
}

impl thalweg_box {
    fn region(&self, operation: &str) -> Result<Region> {
        let dims = self.dims as usize;
        if dims > THALWEG_BOX_DIMS {
            let detail = format!("a box of {dims} dimensions; accepted are at most {THALWEG_BOX_DIMS}");
            return Err(invalid(operation, detail));
        }
        Region::new(&self.lower[..dims], &self.extent[..dims])
    }

    fn of(hole: &Hole) -> thalweg_box {
        let (lower, extent) = (hole.region.lower(), hole.region.extent());
        let mut result = thalweg_box {
            variable: hole.variable,
            dims: lower.len() as u32,
            lower: [0; THALWEG_BOX_DIMS],
            extent: [0; THALWEG_BOX_DIMS],
        };
        result.lower[..lower.len()].copy_from_slice(lower);
        result.extent[..extent.len()].copy_from_slice(extent);
        result
    }
}

/// # Safety
/// `boxes` points to `count` of them, or `count` is 0.
unsafe fn boxes<'a>(operation: &str, boxes: *const thalweg_box, count: usize) -> Result<&'a [thalweg_box]> {
    if count == 0 {
        return Ok(&[]);
    }
    if boxes.is_null() {
        return Err(invalid(operation, format!("{count} boxes at NULL")));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(boxes, count) })
}

/// # Safety
/// `rule` is `NULL` or valid.
unsafe fn rule(operation: &str, given: *const thalweg_file_rule) -> Result<Rule> {
    // SAFETY: the caller's promise.
    let given = unsafe { read(operation, "rule", given) }?;
    let mode = match given.mode {
        THALWEG_REDIRECT_MEMORY => Mode::Memory,
        THALWEG_REDIRECT_BOTH => Mode::Both,
        other => {
            let detail =
                format!("mode = {other}; accepted are THALWEG_REDIRECT_MEMORY and THALWEG_REDIRECT_BOTH");
            return Err(invalid(operation, detail));
        }
    };
    // SAFETY: the caller's promise.
    let turns = unsafe { optional(operation, "turns", given.turns) }?.unwrap_or("");
    let turns = turns.split(',').filter(|turn| !turn.is_empty()).map(|turn| Name::new(operation, turn));
    Ok(Rule { mode, turns: turns.collect::<Result<_>>()?, deadline: within(operation, given.deadline_s)? })
}

fn access(operation: &str, given: u32) -> Result<Access> {
    Ok(match given {
        THALWEG_ACCESS_LOOK => Access::Look,
        THALWEG_ACCESS_READ => Access::Read,
        THALWEG_ACCESS_UPDATE => Access::Update,
        THALWEG_ACCESS_CREATE => Access::Create { exclusive: false, truncate: false },
        THALWEG_ACCESS_TRUNCATE => Access::Create { exclusive: false, truncate: true },
        THALWEG_ACCESS_EXCLUSIVE => Access::Create { exclusive: true, truncate: false },
        other => {
            let detail =
                format!("access = {other}; accepted are THALWEG_ACCESS_LOOK to THALWEG_ACCESS_EXCLUSIVE");
            return Err(invalid(operation, detail));
        }
    })
}

/// # Safety
/// `given` is `NULL` or a C string that outlives `'a`.
unsafe fn path<'a>(operation: &str, given: *const c_char) -> Result<&'a str> {
    // SAFETY: the caller's promise.
    unsafe { optional(operation, "path", given) }?.ok_or_else(|| invalid(operation, "path is NULL"))
}

/// Connects to the redirect service at `address`, `unix:NAME`, as a process of `component` in `coupling`. Blocks at most
/// `timeout_s`.
///
/// Errors: `THALWEG_GONE` when nobody answers, `THALWEG_INVALID` for an address or a name that is none.
///
/// # Safety
/// Pointers are `NULL` or valid.
#[no_mangle]
pub unsafe extern "C" fn thalweg_redirect_connect(
    address: *const c_char,
    coupling: *const c_char,
    component: *const c_char,
    timeout_s: f64,
    redirect: *mut *mut thalweg_redirect,
) -> thalweg_status {
    const OPERATION: &str = "redirect.connect";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let redirect = unsafe { place(OPERATION, "redirect", redirect) }?;
        // SAFETY: the caller's promise.
        let address = unsafe { name(OPERATION, "address", address) }?;
        // SAFETY: the caller's promise.
        let coupling = unsafe { name(OPERATION, "coupling", coupling) }?;
        // SAFETY: the caller's promise.
        let component = unsafe { name(OPERATION, "component", component) }?;
        let timeout = within(OPERATION, timeout_s)?;
        *redirect = hold(Client::connect(address.as_str(), coupling, component, timeout)?);
        Ok(())
    })
}

/// Opens the file at `path`, an absolute path, for `access`, one of `THALWEG_ACCESS_…`; `flags` are of `THALWEG_OPEN_…`. Blocks
/// until it is the component's turn, or until other components have written the file, at most for the rule's deadline.
///
/// Errors: `THALWEG_TIMEOUT`, `THALWEG_NOT_FOUND`, `THALWEG_EXISTS`; `THALWEG_ACCESS` for a component without a turn;
/// `THALWEG_GONE` when another component failed.
///
/// # Safety
/// Pointers are `NULL` or valid.
#[no_mangle]
pub unsafe extern "C" fn thalweg_redirect_open(
    redirect: *const thalweg_redirect,
    path: *const c_char,
    rule: *const thalweg_file_rule,
    access: u32,
    flags: u32,
    opened: *mut thalweg_opened,
) -> thalweg_status {
    const OPERATION: &str = "redirect.open";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let opened = unsafe { place(OPERATION, "opened", opened) }?;
        // SAFETY: the caller's promise.
        let (path, rule) = unsafe { (self::path(OPERATION, path)?, self::rule(OPERATION, rule)?) };
        if flags & !(THALWEG_OPEN_GLANCE | THALWEG_OPEN_AT_ONCE | THALWEG_OPEN_WARM) != 0 {
            let detail = format!("flags = {flags:#x}; accepted are those of THALWEG_OPEN_…");
            return Err(invalid(OPERATION, detail));
        }
        let how = How {
            glance: flags & THALWEG_OPEN_GLANCE != 0,
            at_once: flags & THALWEG_OPEN_AT_ONCE != 0,
            warm: flags & THALWEG_OPEN_WARM != 0,
        };
        let access = self::access(OPERATION, access)?;
        let found = held(OPERATION, redirect)?.open(path, rule, access, how)?;
        let (number, existed) = (found.number, u32::from(found.existed));
        *opened = thalweg_opened { number, descriptor: found.bytes.into_raw_fd(), existed };
        Ok(())
    })
}

/// A descriptor of the bytes of the file at `path`, which the caller closes. Blocks until it is the component's turn, where
/// there are turns. Errors: `THALWEG_NOT_FOUND`, and as `thalweg_redirect_open`.
///
/// # Safety
/// Pointers are `NULL` or valid.
#[no_mangle]
pub unsafe extern "C" fn thalweg_redirect_find(
    redirect: *const thalweg_redirect,
    path: *const c_char,
    rule: *const thalweg_file_rule,
    descriptor: *mut c_int,
) -> thalweg_status {
    const OPERATION: &str = "redirect.find";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let descriptor = unsafe { place(OPERATION, "descriptor", descriptor) }?;
        // SAFETY: the caller's promise.
        let (path, rule) = unsafe { (self::path(OPERATION, path)?, self::rule(OPERATION, rule)?) };
        *descriptor = held(OPERATION, redirect)?.find(path, rule)?.into_raw_fd();
        Ok(())
    })
}

/// Has done with the file that `thalweg_redirect_open` gave this number; its descriptor is closed apart. Errors:
/// `THALWEG_INVALID` for a number that is not open, `THALWEG_GONE` when another process that had the file open failed.
#[no_mangle]
pub extern "C" fn thalweg_redirect_close(redirect: *const thalweg_redirect, number: u64) -> thalweg_status {
    const OPERATION: &str = "redirect.close";
    guarded(OPERATION, || held(OPERATION, redirect)?.close(number))
}

/// As `thalweg_redirect_close`, for others: their turns go on, and readers find the file complete. Who says so still looks at it, and
/// closes it later.
#[no_mangle]
pub extern "C" fn thalweg_redirect_hand_over(
    redirect: *const thalweg_redirect,
    number: u64,
) -> thalweg_status {
    const OPERATION: &str = "redirect.hand_over";
    guarded(OPERATION, || held(OPERATION, redirect)?.hand_over(number))
}

/// Tells what was put into variables of the file that `thalweg_redirect_open` gave this number, for writing: `whole` are
/// all of them, each from zeros to its shape, and `parts` what was put into them. More may follow. Who closes a file without a word may have written all of it.
///
/// # Safety
/// `whole` points to `variables` boxes, `parts` to `count`.
#[no_mangle]
pub unsafe extern "C" fn thalweg_redirect_wrote(
    redirect: *const thalweg_redirect,
    number: u64,
    whole: *const thalweg_box,
    variables: usize,
    parts: *const thalweg_box,
    count: usize,
) -> thalweg_status {
    const OPERATION: &str = "redirect.wrote";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let (whole, parts) =
            unsafe { (boxes(OPERATION, whole, variables)?, boxes(OPERATION, parts, count)?) };
        let mut told: Vec<Wrote> = Vec::new();
        for one in whole {
            told.push(Wrote { variable: one.variable, whole: one.region(OPERATION)?, parts: Vec::new() });
        }
        told.sort_by_key(|one| one.variable);
        for part in parts {
            let at = told.binary_search_by_key(&part.variable, |one| one.variable);
            let at = at.map_err(|_| {
                invalid(OPERATION, format!("a part of variable {}, of which nothing is told", part.variable))
            })?;
            told[at].parts.push(part.region(OPERATION)?);
        }
        held(OPERATION, redirect)?.wrote(number, told)
    })
}

/// What nobody has written of the file that `thalweg_redirect_open` gave this number: `count` regions, of which the first
/// `room` go to `holes`. There are none for a component that wrote some of the file itself.
///
/// # Safety
/// `holes` has room for `room` boxes; `count` is `NULL` or valid.
#[no_mangle]
pub unsafe extern "C" fn thalweg_redirect_holes(
    redirect: *const thalweg_redirect,
    number: u64,
    holes: *mut thalweg_box,
    room: usize,
    count: *mut usize,
) -> thalweg_status {
    const OPERATION: &str = "redirect.holes";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let count = unsafe { place(OPERATION, "count", count) }?;
        if holes.is_null() && room > 0 {
            return Err(invalid(OPERATION, "holes is NULL"));
        }
        let found = held(OPERATION, redirect)?.holes(number)?;
        for (n, hole) in found.iter().take(room).enumerate() {
            // SAFETY: n < room, and the caller's promise.
            unsafe { holes.add(n).write(thalweg_box::of(hole)) };
        }
        *count = found.len();
        Ok(())
    })
}

/// Tells that this component cannot go on, for the reason `why`; the others of the coupling hear of it.
///
/// # Safety
/// `why` is `NULL` or a C string.
#[no_mangle]
pub unsafe extern "C" fn thalweg_redirect_fail(
    redirect: *const thalweg_redirect,
    why: *const c_char,
) -> thalweg_status {
    const OPERATION: &str = "redirect.fail";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let why = unsafe { optional(OPERATION, "why", why) }?.unwrap_or("no reason was given");
        held(OPERATION, redirect)?.fail(why.to_string())
    })
}

/// Removes the file at `path`; who has it open keeps it. Errors: `THALWEG_NOT_FOUND`.
///
/// # Safety
/// Pointers are `NULL` or valid.
#[no_mangle]
pub unsafe extern "C" fn thalweg_redirect_remove(
    redirect: *const thalweg_redirect,
    path: *const c_char,
) -> thalweg_status {
    const OPERATION: &str = "redirect.remove";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let path = unsafe { self::path(OPERATION, path) }?;
        held(OPERATION, redirect)?.remove(path)
    })
}

/// Renames the file at `from` to `to`, which matches `rule`; one that was called `to` is gone. Errors: `THALWEG_NOT_FOUND`.
///
/// # Safety
/// Pointers are `NULL` or valid.
#[no_mangle]
pub unsafe extern "C" fn thalweg_redirect_rename(
    redirect: *const thalweg_redirect,
    from: *const c_char,
    to: *const c_char,
    rule: *const thalweg_file_rule,
) -> thalweg_status {
    const OPERATION: &str = "redirect.rename";
    guarded(OPERATION, || {
        // SAFETY: the caller's promise.
        let (from, to, rule) =
            unsafe { (path(OPERATION, from)?, path(OPERATION, to)?, self::rule(OPERATION, rule)?) };
        held(OPERATION, redirect)?.rename(from, to, rule)
    })
}

/// Ends the connection. What is open for writing counts as not finished. Nothing for `NULL`; `THALWEG_INVALID` when it
/// was ended before.
#[no_mangle]
pub extern "C" fn thalweg_redirect_disconnect(redirect: *mut thalweg_redirect) -> thalweg_status {
    const OPERATION: &str = "redirect.disconnect";
    guarded(OPERATION, || taken(OPERATION, redirect).map(drop))
}
