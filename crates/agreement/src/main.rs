//! Runs random designs on every engine until the time is up, and keeps what differs in a folder.
//!
//! Reached as `cargo xtask fuzz engines`. A difference is shrunk and saved; the exit code is 1 if there was any.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use agreement::{Case, Difference, difference, shrink};
use clap::Parser;

#[derive(Parser)]
#[command(name = "agreement", about = "Runs random designs on every engine and keeps those that differ")]
struct Arguments {
    /// Minutes to run.
    #[arg(long, default_value_t = 5.0)]
    minutes: f64,
    /// The first seed; each design takes the next one.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// At most so many designs.
    #[arg(long)]
    designs: Option<u64>,
    /// A folder for files that name the seeds being run, one a thread: what is left there after a crash did it.
    #[arg(long)]
    working: Option<PathBuf>,
    /// Where differences are kept.
    #[arg(long, default_value = "tests/crashers")]
    keep: PathBuf,
}

const PROGRESS_EVERY: Duration = Duration::from_secs(10);
const SHRINK_TIME: Duration = Duration::from_secs(60);
/// A design that takes longer hangs: ordinary ones take milliseconds.
const HANG_AFTER: Duration = Duration::from_secs(120);
/// Enough to see what is wrong.
const DIFFERENCES_MAX: usize = 10;

/// What the threads share.
struct Search {
    next_seed: AtomicU64,
    n_done: AtomicU64,
    found: Mutex<Vec<PathBuf>>,
    /// What each thread works on, and since when.
    working: Vec<Mutex<Option<(u64, Instant)>>>,
    working_folder: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let deadline = Instant::now() + Duration::from_secs_f64((arguments.minutes * 60.0).clamp(0.0, 1e9));
    let end_seed = arguments.designs.map_or(u64::MAX, |n| arguments.seed.saturating_add(n));
    let n_threads = thread::available_parallelism().map_or(1, usize::from);
    let search = Search {
        next_seed: AtomicU64::new(arguments.seed),
        n_done: AtomicU64::new(0),
        found: Mutex::new(Vec::new()),
        working: (0..n_threads).map(|_| Mutex::new(None)).collect(),
        working_folder: arguments.working,
    };
    // Panics of engines are differences, and told as such.
    std::panic::set_hook(Box::new(|_| {}));
    thread::scope(|scope| {
        let workers: Vec<_> = (0..n_threads)
            .map(|thread| {
                scope.spawn({
                    let (search, keep) = (&search, &arguments.keep);
                    move || search.work(thread, end_seed, deadline, keep)
                })
            })
            .collect();
        search.watch(&|| workers.iter().all(|worker| worker.is_finished()));
    });
    let found = search.found.into_inner().unwrap_or_default();
    let n_done = search.n_done.into_inner();
    println!("engines: {n_done} designs from seed {}, {} differences", arguments.seed, found.len());
    if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl Search {
    fn work(&self, thread: usize, end_seed: u64, deadline: Instant, keep: &Path) {
        let n_found = || self.found.lock().map_or(0, |found| found.len());
        while Instant::now() < deadline && n_found() < DIFFERENCES_MAX {
            let seed = self.next_seed.fetch_add(1, Ordering::Relaxed);
            if seed >= end_seed {
                return;
            }
            self.set_working(thread, Some((seed, Instant::now())));
            let case = Case::random(seed);
            if let Some(found) = difference(&case) {
                println!("seed {seed}: {} and {} differ\n{}", found.judge, found.engine, shortened(&found.text));
                self.set_working(thread, None);
                self.keep(seed, &case, &found, keep);
            }
            self.set_working(thread, None);
            self.n_done.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn set_working(&self, thread: usize, on: Option<(u64, Instant)>) {
        if let Ok(mut working) = self.working[thread].lock() {
            *working = on;
        }
        let Some(folder) = &self.working_folder else { return };
        let path = folder.join(format!("{thread}"));
        // Without the file a crash is harder to find, no more.
        let _ = match on {
            Some((seed, _)) => std::fs::write(path, seed.to_string()),
            None => std::fs::remove_file(path),
        };
    }

    /// Shrinks a case and saves it.
    fn keep(&self, seed: u64, case: &Case, found: &Difference, keep: &Path) {
        // A step must not turn one fault into another.
        let mut same = |candidate: &Case| {
            difference(candidate).is_some_and(|other| (other.judge, other.engine) == (found.judge, found.engine))
        };
        let small = shrink(case, SHRINK_TIME, &mut same);
        let folder = keep.join(format!("seed_{seed}"));
        let last = difference(&small).map_or_else(|| found.text.clone(), |difference| difference.text);
        let note =
            format!("Seed {seed}: {} and {} differed.\n\n```\n{}\n```\n", found.judge, found.engine, shortened(&last));
        let saved = small.save(&folder).and_then(|()| std::fs::write(folder.join("README.md"), note));
        match saved {
            Ok(()) => println!("seed {seed}: kept in {}", folder.display()),
            Err(error) => eprintln!("seed {seed}: {}: {error}", folder.display()),
        }
        if let Ok(mut found) = self.found.lock() {
            found.push(folder);
        }
    }

    /// Shows progress until all is done; ends the process if a design hangs.
    fn watch(&self, is_done: &dyn Fn() -> bool) {
        let mut shown = Instant::now();
        while !is_done() {
            thread::sleep(Duration::from_millis(20));
            for working in &self.working {
                if let Ok(Some((seed, since))) = working.lock().map(|working| *working)
                    && since.elapsed() > HANG_AFTER
                {
                    eprintln!("seed {seed}: no end after {} s", HANG_AFTER.as_secs());
                    std::process::exit(1);
                }
            }
            if shown.elapsed() > PROGRESS_EVERY {
                shown = Instant::now();
                let (n_done, seed) = (self.n_done.load(Ordering::Relaxed), self.next_seed.load(Ordering::Relaxed));
                println!("{n_done} designs agree; at seed {seed}");
            }
        }
    }
}

fn shortened(text: &str) -> String {
    const SHOWN_CHARS: usize = 400;
    text.lines()
        .map(|line| line.chars().take(SHOWN_CHARS).collect::<String>() + "\n")
        .collect::<String>()
        .trim_end()
        .to_string()
}
