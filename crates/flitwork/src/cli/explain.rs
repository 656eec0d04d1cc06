//! `flitwork explain`: the page of an error code.

use diag::Code;

use super::args::ExplainArgs;
use super::exit::{Exit, Failure};
use super::table::{Align, Table};
use super::terminal::say;

/// Prints the page, or all codes with their titles.
pub fn run(args: &ExplainArgs) -> Result<Exit, Failure> {
    let Some(name) = &args.code else {
        let mut table = Table::new(&[("code", Align::Left), ("title", Align::Left)]);
        for code in Code::ALL {
            table.row(vec![code.name().to_string(), code.title().to_string()]);
        }
        say(&table.text())?;
        return Ok(Exit::Success);
    };
    let Some(code) = Code::parse(name) else {
        return Err(Failure::usage(format!("there is no code `{name}`; `flitwork explain` lists all of them")));
    };
    say(code.page())?;
    Ok(Exit::Success)
}
