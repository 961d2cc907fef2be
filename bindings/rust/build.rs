//! Finds libkalstream.so: in the folder KALSTREAM_LIB_DIR, or where pkg-config says it is.
use std::env;
use std::process::{exit, Command};

fn folder_by_pkg_config() -> Option<String> {
    let output = Command::new("pkg-config").args(["--variable=libdir", "kalstream-c"]).output().ok()?;
    let folder = String::from_utf8(output.stdout).ok()?.trim().to_string();
    (output.status.success() && !folder.is_empty()).then_some(folder)
}

fn main() {
    println!("cargo:rerun-if-env-changed=KALSTREAM_LIB_DIR");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    let Some(folder) = env::var("KALSTREAM_LIB_DIR").ok().or_else(folder_by_pkg_config) else {
        eprintln!(
            "libkalstream is not installed: pkg-config knows no kalstream-c. Install libkalstream-dev, or name the \
             folder of libkalstream.so in KALSTREAM_LIB_DIR"
        );
        exit(1);
    };
    println!("cargo:rustc-link-search=native={folder}");
    println!("cargo:rustc-link-lib=dylib=kalstream");
    println!("cargo:rustc-link-arg=-Wl,-rpath,{folder}");
}
