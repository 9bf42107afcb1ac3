//! Compiles the protos without `protoc` and keeps their descriptors for reflection and JSON.

use std::{env, error::Error, fs, path::PathBuf};

use prost_build::Config;

const PROTOS: [&str; 5] = [
    // The details of errors, so that reflection and JSON can show them.
    "proto/google/rpc/error_details.proto",
    "proto/pairsight/v1/types.proto",
    "proto/pairsight/v1/prediction.proto",
    "proto/pairsight/v1/catalog.proto",
    "proto/pairsight/v1/profiling.proto",
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    println!("cargo:rerun-if-changed=migrations");

    let descriptors = protox::compile(PROTOS, ["proto"])?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("pairsight.bin"), prost::Message::encode_to_vec(&descriptors))?;

    let mut config = Config::new();
    config.btree_map(["."]).enable_type_names().extern_path(".google.rpc.Status", "::tonic_types::Status");
    tonic_prost_build::configure().compile_fds_with_config(descriptors, config)?;
    Ok(())
}
