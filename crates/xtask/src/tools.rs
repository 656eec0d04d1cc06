//! The outside programs that tests are judged by.
//!
//! Debian packages through apt, Python packages into a virtual environment in `.env/`. A tool that is there is left alone;
//! one that cannot be had is an error, never a test left out.

use crate::process::{is_installed, run};
use crate::{TaskResult, root};

/// A program and the Debian package that brings it.
const PROGRAMS: &[(&str, &str)] = &[
    ("gcc", "gcc"),
    ("python3", "python3"),
    ("tshark", "tshark"),
    ("capinfos", "wireshark-common"),
    ("editcap", "wireshark-common"),
    ("tcpdump", "tcpdump"),
    ("tcprewrite", "tcpreplay"),
    ("ip", "iproute2"),
    ("iperf3", "iperf3"),
    ("ping", "iputils-ping"),
    ("sysctl", "procps"),
];

/// Installs what is missing.
pub fn install() -> TaskResult {
    install_programs()?;
    install_python()
}

fn install_programs() -> TaskResult {
    let mut packages: Vec<&str> =
        PROGRAMS.iter().filter(|(program, _)| !is_installed(program)).map(|&(_, package)| package).collect();
    if !has_venv() {
        packages.push("python3-venv");
    }
    packages.dedup();
    if packages.is_empty() {
        return Ok(());
    }
    if !is_installed("apt-get") {
        return Err(format!("install these programs with your package manager: {}", packages.join(", ")));
    }
    println!("installing {}", packages.join(", "));
    apt(&["update", "-qq"])?;
    let mut args = vec!["install", "-y", "-qq", "--no-install-recommends"];
    args.extend(&packages);
    apt(&args)
}

fn has_venv() -> bool {
    std::process::Command::new("python3").args(["-c", "import venv, ensurepip"]).status().is_ok_and(|s| s.success())
}

/// Runs apt-get without questions, through sudo if this is not root.
fn apt(args: &[&str]) -> TaskResult {
    let is_root = crate::process::output("id", &["-u"])?.trim() == "0";
    let mut words = vec!["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"];
    words.extend(args);
    if !is_root {
        words.insert(0, "sudo");
    }
    run(words[0], &words[1..])
}

fn install_python() -> TaskResult {
    let requirements = root().join("tests/oracle/requirements.txt");
    let wanted =
        std::fs::read_to_string(&requirements).map_err(|error| format!("{}: {error}", requirements.display()))?;
    let stamp = root().join(".env/installed.txt");
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    println!("installing Python packages into .env");
    run("python3", &["-m", "venv", ".env"])?;
    run(".env/bin/pip", &["install", "--quiet", "--disable-pip-version-check", "-r", "tests/oracle/requirements.txt"])?;
    std::fs::write(&stamp, wanted).map_err(|error| format!("{}: {error}", stamp.display()))
}
