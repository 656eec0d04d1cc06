//! Which crate may use which: the table of ARCHITECTURE.md, checked against every `Cargo.toml`.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::process::output;

/// A crate and the crates of this workspace that it may depend on. Dependencies of tests alone are free.
const ALLOWED: &[(&str, &[&str])] = &[
    ("diag", &[]),
    ("syntax", &["diag"]),
    ("ir", &["diag"]),
    ("sema", &["diag", "syntax", "ir"]),
    ("opt", &["ir"]),
    ("interp", &["ir"]),
    ("jit", &["ir", "crypto"]),
    ("packet", &[]),
    ("crypto", &[]),
    ("runtime", &["ir", "interp", "jit", "packet"]),
    ("agreement", &["ir", "opt", "interp", "jit", "packet", "runtime"]),
    ("flitwork", &["diag", "syntax", "ir", "sema", "opt", "interp", "jit", "packet", "runtime"]),
    ("xtask", &["diag", "ir", "flitwork"]),
    ("bench-native", &["flitwork", "ir", "opt", "packet", "runtime"]),
];

/// Heavy dependencies and the one crate that uses each.
const SINGLE_USER: &[(&str, &str)] =
    &[("annotate-snippets", "diag"), ("cranelift-codegen", "jit"), ("indicatif", "flitwork")];

/// Every edge that the tables forbid, as a sentence.
pub fn violations() -> Result<Vec<String>, String> {
    let text = output("cargo", &["metadata", "--format-version", "1", "--no-deps"])?;
    let metadata: Value = serde_json::from_str(&text).map_err(|error| format!("cargo metadata: {error}"))?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata lists no packages")?;
    let names: BTreeSet<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    Ok(packages.iter().flat_map(|package| package_violations(package, &names)).collect())
}

fn package_violations(package: &Value, workspace: &BTreeSet<&str>) -> Vec<String> {
    let name = package["name"].as_str().unwrap_or_default();
    let Some(&(_, allowed)) = ALLOWED.iter().find(|&&(known, _)| known == name) else {
        return vec![format!("crate `{name}` is not in the table of crates/xtask/src/crate_edges.rs")];
    };
    let dependencies = package["dependencies"].as_array().map(Vec::as_slice).unwrap_or_default();
    let normal = dependencies.iter().filter(|dependency| dependency["kind"] != "dev");
    let mut found = Vec::new();
    for dependency in normal.filter_map(|dependency| dependency["name"].as_str()) {
        if workspace.contains(dependency) && !allowed.contains(&dependency) {
            found.push(format!("crate `{name}` must not depend on `{dependency}`"));
        }
        if let Some((_, user)) = SINGLE_USER.iter().find(|&&(heavy, user)| heavy == dependency && user != name) {
            found.push(format!("only `{user}` may use `{dependency}`, not `{name}`"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{package_violations, violations};

    #[test]
    fn the_workspace_keeps_to_the_table() {
        assert_eq!(violations().expect("cargo metadata runs"), Vec::<String>::new());
    }

    #[test]
    fn a_forbidden_edge_is_named() {
        let package = serde_json::json!({
            "name": "ir",
            "dependencies": [{ "name": "sema", "kind": null }, { "name": "runtime", "kind": "dev" }, { "name": "indicatif", "kind": null }],
        });
        let workspace = ["ir", "sema", "runtime"].into();
        assert_eq!(
            package_violations(&package, &workspace),
            ["crate `ir` must not depend on `sema`", "only `flitwork` may use `indicatif`, not `ir`"]
        );
    }
}
