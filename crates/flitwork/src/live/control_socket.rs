//! `run --control-socket PATH`: questions and answers as JSON, one object a line, over a Unix socket that only its owner may open.
//!
//! ```text
//! {"call": "inbound.insert priority=5 accept=true"}            {"ok":true,"results":{"ok":true}}
//! {"call": "inbound.insert", "args": {"priority": 5}, "id": 7}  {"id":7,"ok":false,"error":"…"}
//! {"signals": true}   {"counters": true}   {"load": "/path/of/a/control/file"}   {"stop": true}
//! ```

use std::fs;
use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ir::Design;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::requests::{ASKERS_MAX, Answer, Asker, Question};
use crate::FileError;
use crate::run::SignalCall;

/// A longer line is a mistake; control files come by name.
const LINE_BYTES_MAX: u64 = 64 * 1024;
/// Lines of one connection that are answered together.
const BATCH_LINES_MAX: usize = 64;
/// Longest control file: some millions of lines.
const CONTROL_BYTES_MAX: u64 = 256 << 20;
/// How long the last answers may take to be written when the run ends.
const FAREWELL: Duration = Duration::from_millis(500);

/// The listening socket; its file goes when it is dropped.
#[derive(Debug)]
pub struct ControlSocket {
    path: PathBuf,
    /// Connections that owe an answer.
    n_owing: Arc<AtomicUsize>,
}

impl ControlSocket {
    /// Makes the socket file and answers whoever connects, in threads of their own, until the program ends.
    ///
    /// A socket file that nobody listens to any more is replaced; one with a listener, and any other file, is left alone.
    pub fn listen(path: &Path, design: &Design, asker: Asker) -> Result<ControlSocket, FileError> {
        let listener = bind(path).map_err(|source| FileError::writing(path, source))?;
        let signals = Arc::new(signals(design));
        let n_connections = Arc::new(AtomicUsize::new(0));
        let n_owing = Arc::new(AtomicUsize::new(0));
        let owing = Arc::clone(&n_owing);
        std::thread::spawn(move || {
            for stream in listener.incoming().filter_map(Result::ok) {
                if n_connections.fetch_add(1, Ordering::SeqCst) >= ASKERS_MAX {
                    n_connections.fetch_sub(1, Ordering::SeqCst);
                    let refusal = json!({"ok": false, "error": format!("at most {ASKERS_MAX} connections")});
                    let _ = writeln!(&stream, "{refusal}");
                    continue;
                }
                let (asker, signals, n_connections) = (asker.clone(), Arc::clone(&signals), Arc::clone(&n_connections));
                let owing = Arc::clone(&owing);
                std::thread::spawn(move || {
                    // A connection that breaks ends; nobody is left to be told.
                    let _ = serve(&stream, &asker, &signals, &owing);
                    n_connections.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Ok(ControlSocket { path: path.to_path_buf(), n_owing })
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        // Whoever asked the run to end is told that it does, unless nobody reads there.
        let begin = Instant::now();
        while self.n_owing.load(Ordering::SeqCst) > 0 && begin.elapsed() < FAREWELL {
            std::thread::sleep(Duration::from_millis(1));
        }
        // If it cannot be removed, the next run finds that nobody listens.
        let _ = fs::remove_file(&self.path);
    }
}

fn bind(path: &Path) -> io::Result<UnixListener> {
    use std::os::unix::fs::FileTypeExt as _;
    // Clients reach it by this name, which has to be short.
    SocketAddr::from_pathname(path)?;
    if fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_socket()) {
        match UnixStream::connect(path) {
            Ok(_) => return Err(io::Error::new(io::ErrorKind::AddrInUse, "another run listens there")),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path)?,
            Err(error) => return Err(error),
        }
    }
    // The file must never be open to others, not even for the moment before its permissions are set: it is made under another
    // name in a folder that only the owner may enter.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let private = folder.join(format!(".flitwork-{}", std::process::id()));
    fs::create_dir(&private)?;
    let bound = (|| {
        fs::set_permissions(&private, fs::Permissions::from_mode(0o700))?;
        let inside = private.join("s");
        let listener = UnixListener::bind(&inside)?;
        fs::set_permissions(&inside, fs::Permissions::from_mode(0o600))?;
        // Unlike a rename, a link does not replace a file that has come meanwhile.
        let linked = fs::hard_link(&inside, path);
        fs::remove_file(&inside)?;
        linked.map(|()| listener)
    })();
    fs::remove_dir(&private)?;
    bound
}

/// One line of a client.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Line {
    /// Comes back with the answer.
    id: Option<Value>,
    call: Option<String>,
    args: Option<Map<String, Value>>,
    load: Option<PathBuf>,
    signals: bool,
    counters: bool,
    stop: bool,
}

/// What a line wants.
enum Wanted {
    Question(Question),
    Signals,
}

fn serve(stream: &UnixStream, asker: &Asker, signals: &Value, n_owing: &AtomicUsize) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(LINE_BYTES_MAX as usize, stream);
    let mut text = Vec::new();
    loop {
        let mut ids = Vec::new();
        let mut questions = Vec::new();
        // All whole lines that are there, but no waiting for more once there is one.
        while ids.is_empty() || (ids.len() < BATCH_LINES_MAX && reader.buffer().contains(&b'\n')) {
            text.clear();
            let n_bytes = (&mut reader).take(LINE_BYTES_MAX).read_until(b'\n', &mut text)?;
            if n_bytes == 0 {
                break;
            }
            if n_bytes as u64 == LINE_BYTES_MAX && !text.ends_with(b"\n") {
                let refusal = json!({"ok": false, "error": format!("a line has at most {LINE_BYTES_MAX} bytes")});
                return writeln!(&*stream, "{refusal}");
            }
            if text.trim_ascii().is_empty() {
                continue;
            }
            let (id, wanted) = wanted(&text);
            let question = match wanted {
                Wanted::Question(question) => {
                    questions.push(question);
                    true
                }
                Wanted::Signals => false,
            };
            ids.push((id, question));
        }
        if ids.is_empty() {
            return Ok(());
        }
        n_owing.fetch_add(1, Ordering::SeqCst);
        let outcome = answer_all(stream, asker.ask(questions), ids, signals);
        n_owing.fetch_sub(1, Ordering::SeqCst);
        outcome?;
    }
}

/// Writes the answers to lines with these identifications; those that are no question ask for the signals.
fn answer_all(
    stream: &UnixStream,
    answers: Option<Vec<Answer>>,
    ids: Vec<(Option<Value>, bool)>,
    signals: &Value,
) -> io::Result<()> {
    let mut answers = answers.ok_or(io::ErrorKind::BrokenPipe)?.into_iter();
    let mut reply = Vec::new();
    for (id, is_question) in ids {
        let answer = match is_question {
            true => answers.next().map_or(Value::Null, answer_json),
            false => json!({"ok": true, "signals": signals}),
        };
        writeln!(reply, "{}", with_id(id, answer))?;
    }
    let mut stream = stream;
    stream.write_all(&reply)
}

/// The answer, behind the identification that its line had.
fn with_id(id: Option<Value>, answer: Value) -> Value {
    let Some(id) = id else { return answer };
    let mut object = Map::from_iter([("id".to_string(), id)]);
    if let Value::Object(fields) = answer {
        object.extend(fields);
    }
    Value::Object(object)
}

fn wanted(text: &[u8]) -> (Option<Value>, Wanted) {
    let line: Line = match serde_json::from_slice(text) {
        Ok(line) => line,
        Err(error) => return (None, Wanted::Question(Question::Bad(format!("not understood: {error}")))),
    };
    let n_wanted = usize::from(line.call.is_some())
        + usize::from(line.load.is_some())
        + [line.signals, line.counters, line.stop].into_iter().map(usize::from).sum::<usize>();
    if n_wanted != 1 {
        let message = "a line has one of `call`, `load`, `signals`, `counters` and `stop`".to_string();
        return (line.id, Wanted::Question(Question::Bad(message)));
    }
    let question = match (line.call, line.load) {
        (Some(call), _) => call_line(&call, line.args.as_ref()).map_or_else(Question::Bad, Question::Call),
        (None, Some(path)) => read_file(&path).map_or_else(Question::Bad, Question::Load),
        (None, None) if line.signals => return (line.id, Wanted::Signals),
        (None, None) if line.counters => Question::Report,
        (None, None) => Question::Stop,
    };
    (line.id, Wanted::Question(question))
}

/// A call and its arguments as a line of a control file.
fn call_line(call: &str, args: Option<&Map<String, Value>>) -> Result<String, String> {
    let mut line = call.to_string();
    for (name, value) in args.into_iter().flatten() {
        let value = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Bool(truth) => truth.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => {
                return Err(format!("the value of `{name}` is no number, truth value or text"));
            }
        };
        if name.contains(char::is_whitespace) || value.contains(char::is_whitespace) || value.is_empty() {
            return Err(format!("`{name}` has a value that is empty or has spaces in it"));
        }
        line.push_str(&format!(" {name}={value}"));
    }
    if line.contains('\n') || line.trim_start().starts_with(['@', '+', '#']) {
        return Err("a call has no time and one line; it runs at once".to_string());
    }
    Ok(line)
}

fn read_file(path: &Path) -> Result<String, String> {
    if !path.is_absolute() {
        return Err(format!("{}: write the whole path, from `/` on", path.display()));
    }
    let told = |source| FileError::reading(path, source).to_string();
    let meta = fs::metadata(path).map_err(told)?;
    // A device or a pipe may have no end.
    if !meta.is_file() {
        return Err(format!("{}: a control file is a regular file", path.display()));
    }
    if meta.len() > CONTROL_BYTES_MAX {
        return Err(format!("{}: larger than {} MiB", path.display(), CONTROL_BYTES_MAX >> 20));
    }
    let mut text = String::new();
    let file = fs::File::open(path).map_err(told)?;
    file.take(CONTROL_BYTES_MAX).read_to_string(&mut text).map_err(told)?;
    Ok(text)
}

fn answer_json(answer: Answer) -> Value {
    match answer {
        Answer::Done => json!({"ok": true}),
        Answer::Error(message) => json!({"ok": false, "error": message}),
        Answer::Report(report) => json!({"ok": true, "counters": report}),
        Answer::Calls(calls) => match calls.as_slice() {
            [call] => json!({"ok": true, "results": results(call)}),
            calls => json!({"ok": true, "entries": calls.iter().map(results).collect::<Vec<_>>()}),
        },
    }
}

fn results(call: &SignalCall) -> Value {
    Value::Object(call.results.iter().cloned().collect())
}

/// Every signal that can be called, with its arguments and results.
fn signals(design: &Design) -> Value {
    let fields = |fields: &[ir::Field]| -> Vec<Value> {
        fields
            .iter()
            .map(|field| json!({"name": field.name, "bits": field.width.bits(), "signed": field.signed}))
            .collect()
    };
    let controlled = design.elements.iter().filter(|element| element.host_control);
    let signals = controlled.flat_map(|element| element.signals.iter().map(move |signal| (element, signal)));
    signals
        .map(|(element, signal)| {
            let call = format!("{}.{}", element.name, signal.name);
            json!({"call": call, "arguments": fields(&signal.params), "results": fields(&signal.results)})
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Question, Wanted, wanted};

    fn question(line: &str) -> Question {
        match wanted(line.as_bytes()).1 {
            Wanted::Question(question) => question,
            Wanted::Signals => panic!("asks for signals"),
        }
    }

    #[test]
    fn calls_become_control_lines() {
        let line = r#"{"call": "fw.insert", "args": {"accept": true, "priority": 5, "src": "10.0.0.0"}, "id": [1]}"#;
        assert_eq!(question(line), Question::Call("fw.insert accept=true priority=5 src=10.0.0.0".to_string()));
        assert_eq!(question(r#"{"call": "a.b 1 x=2"}"#), Question::Call("a.b 1 x=2".to_string()));
        assert_eq!(question(r#"{"counters": true}"#), Question::Report);
        assert_eq!(question(r#"{"stop": true}"#), Question::Stop);
    }

    #[test]
    fn what_could_be_taken_for_something_else_is_refused() {
        for bad in [
            "",
            "7",
            "{}",
            r#"{"call": "a.b", "stop": true}"#,
            r#"{"call": "a.b\nc.d"}"#,
            r#"{"call": "@1 a.b"}"#,
            r#"{"call": "a.b", "args": {"x": "1 y=2"}}"#,
            r#"{"call": "a.b", "args": {"x": [1]}}"#,
            r#"{"load": "relative"}"#,
            r#"{"reboot": true}"#,
        ] {
            assert!(matches!(question(bad), Question::Bad(_)), "{bad}");
        }
    }
}
