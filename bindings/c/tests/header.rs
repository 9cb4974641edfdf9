//! The committed header is what the crate's source says.
#![allow(clippy::unwrap_used)]

use std::path::Path;

/// Makes the header from the source; with `THALWEG_WRITE_HEADER` set (`scripts/header`) it becomes the committed one.
#[test]
fn the_header_is_up_to_date() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(here.join("cbindgen.toml")).unwrap();
    let mut made = Vec::new();
    cbindgen::generate_with_config(here, config).unwrap().write(&mut made);
    let committed = here.join("include/thalweg.h");
    if std::env::var_os("THALWEG_WRITE_HEADER").is_some() {
        std::fs::write(&committed, &made).unwrap();
    }
    let same = std::fs::read(&committed).is_ok_and(|bytes| bytes == made);
    assert!(same, "include/thalweg.h is not what the source says; run scripts/header and commit it");
}
