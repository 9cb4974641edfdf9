//! Gives the shared library the name that programs look for when they start.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libthalweg.so.0");
}
