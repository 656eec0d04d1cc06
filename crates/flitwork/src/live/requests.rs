//! What is asked of a run while it goes on, and the answers.
//!
//! Whoever asks (a connection of the control socket, the Prometheus endpoint) is a thread of its own and hands over a batch of
//! questions; the run answers a few between two batches of packets and hands the whole batch back. Each asker has one batch under
//! way, and a batch is bounded, so neither work between packets nor memory grows with what is asked.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use runtime::Report;

use super::ffi::Waker;
use crate::run::SignalCall;

/// Askers that may wait at one time.
pub const ASKERS_MAX: usize = 32;
/// Time for answers between two batches of packets.
const TURN: Duration = Duration::from_micros(200);

/// One question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// Call a signal, as a line of a control file.
    Call(String),
    /// Call all lines of a control file; none if one is bad.
    Load(String),
    /// What was counted so far.
    Report,
    /// End the run.
    Stop,
    /// It makes no sense; the answer is this error.
    Bad(String),
}

/// Its answer.
#[derive(Debug)]
pub enum Answer {
    /// What the calls gave; one for a signal, several for a listing.
    Calls(Vec<SignalCall>),
    /// What was counted.
    Report(Box<Report>),
    /// It is done.
    Done,
    /// It cannot be done.
    Error(String),
}

/// What questions are put to.
pub trait Answerer {
    /// Calls a signal, as a line of a control file.
    fn call(&mut self, line: &str) -> Result<Vec<SignalCall>, String>;
    /// Calls all lines of a control file.
    fn load(&mut self, text: String) -> Result<(), String>;
    /// What was counted so far.
    fn report(&mut self) -> Report;
    /// Ends the run.
    fn stop(&mut self);
}

#[derive(Debug)]
struct Batch {
    questions: VecDeque<Question>,
    answers: Vec<Answer>,
    reply: SyncSender<Vec<Answer>>,
}

/// The asking side; clones ask on their own.
#[derive(Clone, Debug)]
pub struct Asker {
    batches: SyncSender<Batch>,
    waker: Arc<Waker>,
}

impl Asker {
    /// Asks and waits for the answers, as many and in the same order. Nothing if the run is over.
    pub fn ask(&self, questions: Vec<Question>) -> Option<Vec<Answer>> {
        let (reply, answers) = sync_channel(1);
        let capacity = questions.len();
        let batch = Batch { questions: questions.into(), answers: Vec::with_capacity(capacity), reply };
        self.batches.send(batch).ok()?;
        self.waker.wake();
        answers.recv().ok()
    }
}

/// The answering side.
#[derive(Debug)]
pub struct Desk {
    batches: Receiver<Batch>,
    current: Option<Batch>,
}

/// A desk, and an asker for it that wakes the run through `waker`.
pub fn desk(waker: Arc<Waker>) -> (Asker, Desk) {
    let (batches, received) = sync_channel(ASKERS_MAX);
    (Asker { batches, waker }, Desk { batches: received, current: None })
}

impl Desk {
    /// Answers for a short while; gives whether something is left to answer.
    pub fn turn(&mut self, answerer: &mut dyn Answerer) -> bool {
        let begin = Instant::now();
        loop {
            let Some(mut batch) = self.current.take().or_else(|| self.batches.try_recv().ok()) else { return false };
            while let Some(question) = batch.questions.pop_front() {
                batch.answers.push(answer(question, answerer));
                if begin.elapsed() > TURN {
                    break;
                }
            }
            if batch.questions.is_empty() {
                // An asker that has gone does not miss the answers.
                let _ = batch.reply.try_send(batch.answers);
            } else {
                self.current = Some(batch);
            }
            if begin.elapsed() > TURN {
                return true;
            }
        }
    }
}

fn answer(question: Question, answerer: &mut dyn Answerer) -> Answer {
    match question {
        Question::Call(line) => answerer.call(&line).map_or_else(Answer::Error, Answer::Calls),
        Question::Load(text) => answerer.load(text).map_or_else(Answer::Error, |()| Answer::Done),
        Question::Report => Answer::Report(Box::new(answerer.report())),
        Question::Stop => {
            answerer.stop();
            Answer::Done
        }
        Question::Bad(message) => Answer::Error(message),
    }
}
