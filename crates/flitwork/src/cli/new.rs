//! `flitwork new`: a project folder that runs at once.

use std::fs;
use std::path::{Path, PathBuf};

use super::args::NewArgs;
use super::exit::{Exit, Failure};
use super::terminal::say;
use crate::{FileError, library, output};

/// What a project starts from; `{name}` in the README stands for the project's name.
const STARTER: &[(&str, &[u8])] = &[
    ("app.clnp", include_bytes!("../../starter/app.clnp")),
    ("control", include_bytes!("../../starter/control")),
    ("README.md", include_bytes!("../../starter/README.md")),
    ("in.pcap", include_bytes!("../../../../tests/data/pcaps/tcp-ethernet.pcap")),
];

/// Makes the folder; refuses one that exists and is not empty.
pub fn run(args: &NewArgs) -> Result<Exit, Failure> {
    let files = match &args.from {
        None => starter_files(&args.name),
        Some(example) => example_files(example)?,
    };
    let is_occupied = fs::read_dir(&args.name).is_ok_and(|mut entries| entries.next().is_some());
    if is_occupied || args.name.is_file() {
        return Err(Failure::file(format!("{} exists already; choose another name", args.name.display())));
    }
    for (name, bytes) in &files {
        let path = args.name.join(name);
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(|source| FileError::writing(folder, source))?;
        output::write_whole(&path, bytes)?;
    }
    let name = args.name.display();
    say(&format!("Made {name} with {} files. Run it:\n  flitwork run {name}\n", files.len()))?;
    Ok(Exit::Success)
}

fn starter_files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let name = folder.file_name().map_or("project".into(), |name| name.to_string_lossy());
    let filled = STARTER.iter().map(|(path, bytes)| match *path {
        "README.md" => (path.to_string(), String::from_utf8_lossy(bytes).replace("{name}", &name).into_bytes()),
        path => (path.to_string(), bytes.to_vec()),
    });
    filled.collect()
}

/// The files of an example: of a folder, if there is one, else of the program itself.
fn example_files(example: &str) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let folders = [PathBuf::from(example), Path::new("examples").join(example)];
    if let Some(folder) = folders.iter().find(|folder| folder.join("app.clnp").is_file()) {
        return folder_files(folder);
    }
    let prefix = format!("{example}/");
    let of_example =
        library::EXAMPLE_FILES.iter().filter_map(|(path, bytes)| Some((path.strip_prefix(&prefix)?, bytes)));
    let files: Vec<(String, Vec<u8>)> = of_example.map(|(path, bytes)| (path.to_string(), bytes.to_vec())).collect();
    match files.is_empty() {
        true => Err(Failure::usage(format!(
            "there is no example `{example}`; there are {}",
            library::examples().join(", ")
        ))),
        false => Ok(files),
    }
}

/// The plain files of a folder, without what made or judged the example.
fn folder_files(folder: &Path) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(|source| FileError::reading(folder, source))? {
        let path = entry.map_err(|source| FileError::reading(folder, source))?.path();
        let is_program = path.extension().is_some_and(|extension| extension == "py" || extension == "sh");
        if path.is_file() && !is_program && !path.ends_with("oracle") {
            let bytes = fs::read(&path).map_err(|source| FileError::reading(&path, source))?;
            let name = path.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned());
            files.push((name, bytes));
        }
    }
    files.sort();
    Ok(files)
}
