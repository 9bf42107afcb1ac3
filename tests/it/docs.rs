//! The documentation keeps up with the code: every call of the API, every direct dependency and every term is named.

use std::{collections::BTreeSet, fs, path::Path};

use prost_reflect::DescriptorPool;
use toml::Table;

#[test]
fn api_page_names_every_call() {
    let pool = DescriptorPool::decode(include_bytes!(concat!(env!("OUT_DIR"), "/pairsight.bin")).as_slice()).unwrap();
    let page = read("docs/api.md");
    let calls: Vec<_> =
        pool.services().filter(|s| s.package_name() == "pairsight.v1").flat_map(|s| s.methods().collect::<Vec<_>>()).collect();
    assert!(calls.len() >= 18, "only {} calls in the descriptors", calls.len());
    for call in calls {
        assert!(page.contains(&format!("`{}`", call.name())), "docs/api.md does not name {}", call.full_name());
    }
}

#[test]
fn dependencies_page_names_every_direct_dependency_and_no_other() {
    let manifest: Table = read("Cargo.toml").parse().unwrap();
    let direct: BTreeSet<String> = ["dependencies", "build-dependencies", "dev-dependencies"]
        .into_iter()
        .flat_map(|section| manifest[section].as_table().unwrap().keys().cloned())
        .collect();
    let named: BTreeSet<String> = read("docs/dependencies.md").lines().filter_map(crate_of_row).collect();
    assert_eq!(direct, named, "docs/dependencies.md (right) must name the direct dependencies of Cargo.toml (left)");
}

#[test]
fn model_page_names_every_term() {
    let page = read("docs/model.md");
    let source = read("src/interference/terms.rs");
    let terms: Vec<_> = source.lines().filter_map(term_of_line).collect();
    assert!(terms.len() > 20, "found only {} terms in the table", terms.len());
    for term in terms {
        assert!(page.contains(&format!("`{term}`")), "docs/model.md does not name the term {term}");
    }
}

/// The term that a row of the table in `terms.rs` defines: `"name" Channel [needs] |v, p| ...`.
fn term_of_line(line: &str) -> Option<&str> {
    let (name, rest) = line.strip_prefix("    \"")?.split_once("\" ")?;
    rest.contains('[').then_some(name)
}

/// The crate that a row of a table is about.
fn crate_of_row(line: &str) -> Option<String> {
    let (name, _) = line.strip_prefix("| `")?.split_once('`')?;
    Some(name.to_owned())
}

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}
