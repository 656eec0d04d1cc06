//! What the streams are: colours and progress only where somebody looks.

use std::io::{self, IsTerminal as _, Write};

use anstyle::{AnsiColor, Style};
use diag::RenderStyle;

use super::exit::Failure;
use crate::FileError;

/// Colours for reports on standard error: on a terminal, unless `NO_COLOR` is set or the terminal is `dumb`.
pub fn error_style() -> RenderStyle {
    style(io::stderr().is_terminal())
}

/// Colours for text on standard output.
pub fn output_style() -> RenderStyle {
    style(io::stdout().is_terminal())
}

fn style(is_terminal: bool) -> RenderStyle {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    if is_terminal && !refused && !is_dumb { RenderStyle::Coloured } else { RenderStyle::Plain }
}

/// `text` in bold if the style has colours.
pub fn bold(text: &str, style: RenderStyle) -> String {
    painted(text, Style::new().bold(), style)
}

fn painted(text: &str, paint: Style, style: RenderStyle) -> String {
    match style {
        RenderStyle::Plain => text.to_string(),
        RenderStyle::Coloured => format!("{paint}{text}{paint:#}"),
    }
}

/// Tells what went wrong.
pub fn error(message: &str) {
    let label = painted("error:", Style::new().bold().fg_color(Some(AnsiColor::Red.into())), error_style());
    say_aside(&format!("{label} {message}\n"));
}

/// Tells what may surprise.
pub fn warning(message: &str) {
    let label = painted("warning:", Style::new().bold().fg_color(Some(AnsiColor::Yellow.into())), error_style());
    say_aside(&format!("{label} {message}\n"));
}

/// Text on standard error. If nobody can be told, there is nothing more to do.
pub fn say_aside(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Text on standard output. A reader that has gone (`flitwork elements | head`) is no fault.
pub fn say(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(FileError::writing("standard output".as_ref(), error).into())
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// A value as one line of JSON on standard output.
pub fn say_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(value).expect("reports have text keys only");
    say(&format!("{text}\n"))
}
