//! Signals by name, and control files.
//!
//! A control file has one signal a line: `[@TIME] instance.signal [value…] [name=value…]`, comments from `#`. TIME is seconds
//! since the epoch with a fraction, `+1.5s` from the first packet, or `end`: when nothing else is left to do. `cursor=all` calls a
//! listing signal again and again, with the `next` that it gave, until that is 0. The file is read twice, checked first and then
//! line by line as its lines come due, so that a table of a million lines is not held as a million calls.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use ir::{Field, Value, Verified};

use crate::signal_value::{fit, parse_value};

/// A bad line of a control file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlError {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// What is wrong and what to write instead.
    pub message: String,
}

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for ControlError {}

/// Why a signal could not be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignalError {
    /// What is wrong and what to write instead.
    pub message: String,
}

impl fmt::Display for SignalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SignalError {}

/// A signal that a control file called, and what it gave.
///
/// Not recorded are signals without results, and those whose only result is an `ok` that is true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignalCall {
    /// Line of the control file, from 1.
    pub line: u32,
    /// When it ran.
    pub time_ns: u64,
    /// Instance name.
    pub instance: String,
    /// Signal name.
    pub signal: String,
    /// Results by name, in order.
    pub results: Vec<(String, Value)>,
}

/// The signals of a design, by name.
#[derive(Debug)]
pub(crate) struct SignalTable {
    elements: Vec<ElementSignals>,
    by_name: BTreeMap<String, usize>,
}

#[derive(Debug)]
struct ElementSignals {
    name: String,
    is_controlled: bool,
    signals: Vec<SignalInfo>,
}

#[derive(Debug)]
struct SignalInfo {
    name: String,
    params: Vec<Field>,
    defaults: Vec<Option<Value>>,
    /// Position of the argument `cursor`, if there is a result `next`: the signal lists something.
    cursor: Option<usize>,
}

impl SignalInfo {
    fn new(signal: &ir::Signal) -> SignalInfo {
        let lists = signal.results.iter().any(|result| result.name == LISTING_NEXT);
        let cursor = signal.params.iter().position(|param| lists && param.name == LISTING_CURSOR);
        SignalInfo {
            name: signal.name.clone(),
            params: signal.params.clone(),
            defaults: signal.defaults.clone(),
            cursor,
        }
    }
}

/// The argument of listing signals that says where to go on; 0 begins.
const LISTING_CURSOR: &str = "cursor";

/// The result of listing signals that is their next cursor; 0 ends.
pub(crate) const LISTING_NEXT: &str = "next";

/// The result of listing signals that says whether there is an entry at the cursor.
pub(crate) const LISTING_VALID: &str = "valid";

/// A signal of an element, both by position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) element: u32,
    pub(crate) signal: u32,
}

/// A line that has come due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) line: u32,
    pub(crate) target: Target,
    pub(crate) values: Vec<Value>,
    /// The argument that goes through a whole listing, for `cursor=all`.
    pub(crate) cursor: Option<usize>,
}

impl SignalTable {
    pub(crate) fn new(design: Verified<'_>) -> SignalTable {
        let elements = design.design().elements.iter().map(|element| ElementSignals {
            name: element.name.clone(),
            is_controlled: element.host_control,
            signals: element.signals.iter().map(SignalInfo::new).collect(),
        });
        let elements: Vec<ElementSignals> = elements.collect();
        let by_name = elements.iter().enumerate().map(|(idx, element)| (element.name.clone(), idx)).collect();
        SignalTable { elements, by_name }
    }

    fn find(&self, instance: &str, signal: &str) -> Result<Target, String> {
        let Some(&element) = self.by_name.get(instance) else {
            let known =
                self.elements.iter().filter(|element| element.is_controlled).map(|element| element.name.as_str());
            return Err(format!("no element is called `{instance}`{}", suggestion(instance, known, "with signals: ")));
        };
        let found = &self.elements[element];
        if !found.is_controlled {
            return Err(format!("`{instance}` is not host-controlled; write `@` behind its declaration in the graph"));
        }
        let Some(position) = found.signals.iter().position(|known| known.name == signal) else {
            let known = found.signals.iter().map(|signal| signal.name.as_str());
            return Err(format!("`{instance}` has no signal `{signal}`{}", suggestion(signal, known, "it has ")));
        };
        Ok(Target { element: element as u32, signal: position as u32 })
    }

    fn info(&self, target: Target) -> &SignalInfo {
        &self.elements[target.element as usize].signals[target.signal as usize]
    }

    /// The signal and its arguments in order, from arguments by name.
    pub(crate) fn resolve(
        &self,
        instance: &str,
        signal: &str,
        arguments: &[(&str, Value)],
    ) -> Result<(Target, Vec<Value>), SignalError> {
        let in_order = || {
            let target = self.find(instance, signal)?;
            let info = self.info(target);
            let mut values = Arguments::new(info);
            for (name, value) in arguments {
                let position = values.position(name)?;
                let field = &info.params[position];
                values.set(position, fit(value.clone(), field)?)?;
            }
            Ok((target, values.finish()?))
        };
        in_order().map_err(|message| SignalError { message })
    }
}

/// `; did you mean …?`, or the list of what is known.
fn suggestion<'a>(name: &str, known: impl Iterator<Item = &'a str>, introduction: &str) -> String {
    let known: Vec<&str> = known.collect();
    let nearest = known.iter().map(|candidate| (distance(name, candidate), candidate)).min();
    match nearest {
        Some((difference, candidate)) if difference <= 1 + name.chars().count() / 3 => {
            format!("; did you mean `{candidate}`?")
        }
        Some(_) => format!("; {introduction}{}", known.join(", ")),
        None => String::new(),
    }
}

/// Levenshtein distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// Arguments being gathered.
struct Arguments<'a> {
    info: &'a SignalInfo,
    values: Vec<Option<Value>>,
}

impl<'a> Arguments<'a> {
    fn new(info: &'a SignalInfo) -> Self {
        Arguments { info, values: vec![None; info.params.len()] }
    }

    fn position(&self, name: &str) -> Result<usize, String> {
        let found = self.info.params.iter().position(|field| field.name == name);
        found.ok_or_else(|| {
            let known = self.info.params.iter().map(|field| field.name.as_str());
            format!("`{}` has no argument `{name}`{}", self.info.name, suggestion(name, known, "it takes "))
        })
    }

    fn set(&mut self, position: usize, value: Value) -> Result<(), String> {
        match self.values[position].replace(value) {
            None => Ok(()),
            Some(_) => Err(format!("`{}` is given twice", self.info.params[position].name)),
        }
    }

    fn finish(self) -> Result<Vec<Value>, String> {
        let values = self.values.into_iter().zip(&self.info.defaults).map(|(given, default)| given.or(default.clone()));
        let values: Vec<Option<Value>> = values.collect();
        let missing = values.iter().zip(&self.info.params).filter(|(value, _)| value.is_none());
        let missing: Vec<String> = missing.map(|(_, field)| format!("{}=…", field.name)).collect();
        if !missing.is_empty() {
            return Err(format!("`{}` also needs {}", self.info.name, missing.join(" ")));
        }
        Ok(values.into_iter().flatten().collect())
    }
}

/// Bad lines after which a control file is not read further: it is another kind of file, or its generator is wrong throughout.
const ERRORS_MAX: usize = 100;

/// The lines of a control file that have not come due.
#[derive(Debug, Default)]
pub(crate) struct Control {
    text: String,
    /// Where the next untimed line is looked for: offset and line number.
    untimed_at: usize,
    untimed_line: u32,
    /// Lines with a time, in order of time, then place; the next one is at `next_timed`.
    timed: Vec<Timed>,
    next_timed: usize,
}

#[derive(Clone, Debug)]
struct Timed {
    time: When,
    time_ns: u64,
    line: u32,
    range: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Absolute(u64),
    /// After the first packet.
    Relative(u64),
    /// When nothing else is left to do.
    End,
}

impl Control {
    /// Checks every line; gives those that are bad, up to [`ERRORS_MAX`].
    pub(crate) fn new(signals: &SignalTable, text: String) -> Result<Control, Vec<ControlError>> {
        let mut errors = Vec::new();
        let mut timed = Vec::new();
        let mut at = 0;
        for (idx, content) in text.split('\n').enumerate() {
            let line = idx as u32 + 1;
            match parse_line(signals, content) {
                Ok(None) => {}
                Ok(Some(parsed)) => {
                    if let Some(time) = parsed.time {
                        timed.push(Timed { time, time_ns: 0, line, range: at..at + content.len() });
                    }
                }
                Err(bad) => {
                    let column = content[..bad.at].chars().count() as u32 + 1;
                    errors.push(ControlError { line, column, message: bad.message });
                    if errors.len() == ERRORS_MAX {
                        return Err(errors);
                    }
                }
            }
            at += content.len() + 1;
        }
        if errors.is_empty() {
            Ok(Control { text, untimed_at: 0, untimed_line: 0, timed, next_timed: 0 })
        } else {
            Err(errors)
        }
    }

    /// Fixes the times that count from the first packet.
    pub(crate) fn fix_times(&mut self, first_packet_ns: u64) {
        for timed in &mut self.timed {
            timed.time_ns = match timed.time {
                When::Absolute(time_ns) => time_ns,
                When::Relative(offset_ns) => first_packet_ns.saturating_add(offset_ns),
                When::End => u64::MAX,
            };
        }
        self.timed.sort_by_key(|timed| (timed.time == When::End, timed.time_ns));
    }

    /// The next line without a time.
    pub(crate) fn next_untimed(&mut self, signals: &SignalTable) -> Option<Call> {
        while self.untimed_at < self.text.len() {
            let rest = &self.text[self.untimed_at..];
            let content = rest.split('\n').next().unwrap_or_default();
            self.untimed_at += content.len() + 1;
            self.untimed_line += 1;
            let parsed = parse_line(signals, content).expect("all lines were checked");
            if let Some(Parsed { time: None, target, values, cursor }) = parsed {
                return Some(Call { line: self.untimed_line, target, values, cursor });
            }
        }
        None
    }

    /// Whether there may be a line without a time that was not called.
    pub(crate) fn has_untimed(&self) -> bool {
        self.untimed_at < self.text.len()
    }

    /// Time of the next line that has one.
    pub(crate) fn next_time(&self) -> Option<u64> {
        let next = self.timed.get(self.next_timed).filter(|timed| timed.time != When::End);
        next.map(|timed| timed.time_ns)
    }

    /// The next line whose time has come.
    pub(crate) fn next_timed(&mut self, signals: &SignalTable, now_ns: u64) -> Option<Call> {
        self.next_time().filter(|&time_ns| time_ns <= now_ns)?;
        self.take_timed(signals)
    }

    /// Leaves out the lines whose time has not come; those for the end of the run stay.
    pub(crate) fn skip_to_end(&mut self) {
        let rest = &self.timed[self.next_timed..];
        self.next_timed += rest.iter().take_while(|timed| timed.time != When::End).count();
    }

    /// The call of a line that is not in the file.
    pub(crate) fn single(signals: &SignalTable, line: &str) -> Result<Call, SignalError> {
        match parse_line(signals, line) {
            Ok(Some(Parsed { time: None, target, values, cursor })) => Ok(Call { line: 0, target, values, cursor }),
            Ok(_) => Err(SignalError { message: "write `instance.signal name=value …`, without a time".to_string() }),
            Err(bad) => Err(SignalError { message: bad.message }),
        }
    }

    /// The next line for the end of the run, once no other is left.
    pub(crate) fn next_end(&mut self, signals: &SignalTable) -> Option<Call> {
        if self.next_time().is_some() { None } else { self.take_timed(signals) }
    }

    fn take_timed(&mut self, signals: &SignalTable) -> Option<Call> {
        let timed = self.timed.get(self.next_timed)?;
        self.next_timed += 1;
        let content = &self.text[timed.range.clone()];
        let Parsed { target, values, cursor, .. } =
            parse_line(signals, content).expect("all lines were checked").expect("it has a time");
        Some(Call { line: timed.line, target, values, cursor })
    }
}

/// A line that says something.
#[derive(Debug)]
struct Parsed {
    time: Option<When>,
    target: Target,
    values: Vec<Value>,
    cursor: Option<usize>,
}

/// What is wrong with a line, at a byte offset in it.
#[derive(Debug)]
struct Bad {
    at: usize,
    message: String,
}

/// Words of a line with their offsets, up to a comment. A `#` inside a word belongs to it: anonymous instances have one.
fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = &line[at..];
        let start = at + (rest.len() - rest.trim_start().len());
        let rest = &line[start..];
        if rest.is_empty() || rest.starts_with('#') {
            return None;
        }
        let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
        at = start + length;
        Some((start, &rest[..length]))
    })
}

fn parse_line(signals: &SignalTable, line: &str) -> Result<Option<Parsed>, Bad> {
    let mut words = words(line).peekable();
    let bad = |at: usize| move |message: String| Bad { at, message };
    let time = match words.next_if(|(_, word)| word.starts_with(['@', '+'])) {
        Some((at, word)) => Some(parse_time(word).map_err(bad(at))?),
        None => None,
    };
    let Some((at, name)) = words.next() else {
        return match time {
            None => Ok(None),
            Some(_) => {
                Err(Bad { at: 0, message: "a time without a signal; write `@TIME instance.signal …`".to_string() })
            }
        };
    };
    let Some((instance, signal)) = name.rsplit_once('.') else {
        return Err(Bad { at, message: format!("`{name}` is no signal; write `instance.signal name=value …`") });
    };
    let target = signals.find(instance, signal).map_err(bad(at))?;
    let info = signals.info(target);
    let mut values = Arguments::new(info);
    let mut is_named = false;
    let mut cursor = None;
    for (position, (at, word)) in words.enumerate() {
        let (position, value, value_at) = match word.split_once('=') {
            Some((name, value)) => {
                is_named = true;
                (values.position(name).map_err(bad(at))?, value, at + name.len() + 1)
            }
            None if is_named => {
                return Err(Bad {
                    at,
                    message: format!("`{word}` stands behind a named argument; write `name={word}`"),
                });
            }
            None if position >= info.params.len() => {
                let message = format!("`{}` takes {} arguments, this is one too many", info.name, info.params.len());
                return Err(Bad { at, message });
            }
            None => (position, word, at),
        };
        let value = if value == "all" && info.cursor == Some(position) {
            cursor = info.cursor;
            Value::ZERO
        } else {
            parse_value(value, &info.params[position]).map_err(bad(value_at))?
        };
        values.set(position, value).map_err(bad(at))?;
    }
    let values = values.finish().map_err(bad(at))?;
    Ok(Some(Parsed { time, target, values, cursor }))
}

/// `@SECONDS[.FRACTION]`, `@end`, `@+DURATION` or `+DURATION`, where a duration is in seconds or ends in `s`, `ms`, `us` or `ns`.
fn parse_time(word: &str) -> Result<When, String> {
    let usage = || {
        format!(
            "`{word}` is no time; write `@1700000000.25` (seconds since 1970), `+1.5s` (from the first packet) or `@end`"
        )
    };
    let text = word.strip_prefix('@').unwrap_or(word);
    if text == "end" {
        return Ok(When::End);
    }
    match text.strip_prefix('+') {
        Some(offset) => {
            let units = [("ns", 0), ("us", 3), ("ms", 6), ("s", 9)];
            let unit = units.into_iter().find_map(|(unit, digits)| Some((offset.strip_suffix(unit)?, digits)));
            let (number, digits) = unit.unwrap_or((offset, 9));
            decimal(number, digits).map(When::Relative).ok_or_else(usage)
        }
        None => decimal(text, 9).map(When::Absolute).ok_or_else(usage),
    }
}

/// A decimal number times 10^`digits`; further digits are cut.
fn decimal(text: &str, digits: usize) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let kept = &fraction[..fraction.len().min(digits)];
    format!("{whole}{kept:0<digits$}").parse().ok()
}
