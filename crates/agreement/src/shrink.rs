//! Makes a case small while it stays interesting: delta debugging over packets, signals, elements, channels, sections and ops.
//!
//! Every candidate must verify and survive its text form. Steps are repeated until none helps, or the time is up.

mod edit;

use std::time::{Duration, Instant};

use ir::{Design, ElementId, Spans};

use crate::case::{Case, Settings};

/// The smallest case found in about that time for which `differs` still holds, as it does for the case given.
pub fn shrink(case: &Case, time: Duration, differs: &mut dyn FnMut(&Case) -> bool) -> Case {
    let mut shrinker = Shrinker { best: case.clone(), deadline: Instant::now() + time, differs };
    // Without places in sources the text form is short.
    let bare = ir::parse(&ir::print(&case.design, Spans::Omit)).expect("printed designs parse");
    shrinker.offer(Case { design: bare, ..case.clone() });
    while shrinker.round() && !shrinker.is_late() {}
    shrinker.best
}

struct Shrinker<'a> {
    best: Case,
    deadline: Instant,
    differs: &'a mut dyn FnMut(&Case) -> bool,
}

impl Shrinker<'_> {
    fn is_late(&self) -> bool {
        Instant::now() >= self.deadline
    }

    /// Takes a candidate if it is still interesting.
    fn offer(&mut self, candidate: Case) -> bool {
        if self.is_late() || candidate == self.best || ir::verify(&candidate.design).is_err() {
            return false;
        }
        let taken = (self.differs)(&candidate);
        if taken {
            self.best = candidate;
        }
        taken
    }

    fn offer_design(&mut self, design: Design) -> bool {
        let case = Case { design, ..self.best.clone() };
        self.offer(case)
    }

    /// Every kind of step once; tells whether anything helped.
    fn round(&mut self) -> bool {
        let mut helped = self.thin(|case| case.arrivals.len(), |case, keep| retain(&mut case.arrivals, keep));
        helped |= self.thin(|case| case.control.len(), |case, keep| retain(&mut case.control, keep));
        helped |= self.fewer_elements();
        helped |= self.fewer_sections();
        helped |= self.fewer_ops();
        helped |= self.smaller_constants();
        helped |= self.plainer_surroundings();
        helped |= self.shorter_packets();
        helped
    }

    /// Removes runs of items, long ones first.
    fn thin(&mut self, count: impl Fn(&Case) -> usize, keep: impl Fn(&mut Case, &dyn Fn(usize) -> bool)) -> bool {
        let mut helped = false;
        let mut run = count(&self.best);
        while run > 0 {
            let mut at = 0;
            while at < count(&self.best) {
                let mut candidate = self.best.clone();
                keep(&mut candidate, &|idx| idx < at || idx >= at + run);
                if self.offer(candidate) {
                    helped = true;
                } else {
                    at += run;
                }
            }
            run /= 2;
        }
        helped
    }

    fn fewer_elements(&mut self) -> bool {
        let mut helped = false;
        let mut idx = self.best.design.elements.len();
        while idx > 0 {
            idx -= 1;
            let id = ElementId(idx as u32);
            let name = format!("{}.", self.best.design.elements[idx].name);
            let removed = [edit::without_element(&self.best.design, id), edit::without_path(&self.best.design, id)];
            helped |= removed.into_iter().any(|design| {
                let mut case = Case { design, ..self.best.clone() };
                case.control.retain(|line| !line.contains(&name));
                self.offer(case)
            });
        }
        helped
    }

    fn fewer_sections(&mut self) -> bool {
        let mut helped = false;
        for idx in 0..self.best.design.elements.len() {
            for section in edit::SECTIONS {
                helped |= self.offer_design(edit::without_section(&self.best.design, idx, section));
            }
            let mut signal = self.best.design.elements[idx].signals.len();
            while signal > 0 {
                signal -= 1;
                let mut case = self.best.clone();
                let element = &mut case.design.elements[idx];
                let call = format!("{}.{}", element.name, element.signals.remove(signal).name);
                case.control.retain(|line| !line.contains(&call));
                helped |= self.offer(case);
            }
        }
        helped
    }

    fn fewer_ops(&mut self) -> bool {
        let mut helped = false;
        for element in 0..self.best.design.elements.len() {
            for body in 0..self.best.design.elements[element].bodies().len() {
                helped |= self.thin(
                    |case| edit::n_removable(case.design.elements[element].bodies()[body].1),
                    |case, keep| {
                        let mut bodies = case.design.elements[element].bodies_mut();
                        *bodies[body] = edit::with_ops(bodies[body], keep);
                    },
                );
            }
        }
        helped
    }

    fn smaller_constants(&mut self) -> bool {
        let mut helped = false;
        for element in 0..self.best.design.elements.len() {
            for body in 0..self.best.design.elements[element].bodies().len() {
                for op in 0..self.best.design.elements[element].bodies()[body].1.ops.len() {
                    for smaller in [0, 1] {
                        let mut design = self.best.design.clone();
                        if edit::set_constant(design.elements[element].bodies_mut()[body], op, smaller) {
                            helped |= self.offer_design(design);
                        }
                    }
                }
            }
        }
        helped
    }

    fn plainer_surroundings(&mut self) -> bool {
        let mut helped = false;
        for idx in 0..self.best.design.channels.len() {
            let mut design = self.best.design.clone();
            (design.channels[idx].depth, design.channels[idx].lossy) = (64, false);
            helped |= self.offer_design(design);
        }
        for idx in 0..self.best.design.boundaries.len() {
            let mut design = self.best.design.clone();
            design.boundaries[idx].rate_bps = None;
            helped |= self.offer_design(design);
        }
        for idx in 0..self.best.design.elements.len() {
            helped |= self.offer_design(edit::without_idle_state(&self.best.design, idx));
            let mut design = self.best.design.clone();
            design.elements[idx].vars.iter_mut().for_each(|var| var.reset.clear());
            helped |= self.offer_design(design);
        }
        let usual = Settings { loop_rounds_max: 1 << 20, bounds: runtime::Bounds::Lenient };
        let case = Case { settings: usual, ..self.best.clone() };
        helped | self.offer(case)
    }

    fn shorter_packets(&mut self) -> bool {
        let mut helped = false;
        for idx in 0..self.best.arrivals.len() {
            let n_bytes = self.best.arrivals[idx].bytes.len();
            for length in [0, n_bytes / 2, n_bytes.saturating_sub(1)] {
                let mut case = self.best.clone();
                case.arrivals[idx].bytes.truncate(length);
                helped |= self.offer(case);
            }
            let mut case = self.best.clone();
            case.arrivals[idx].bytes.fill(0);
            helped |= self.offer(case);
        }
        helped
    }
}

fn retain<T>(items: &mut Vec<T>, keep: &dyn Fn(usize) -> bool) {
    let mut idx = 0;
    items.retain(|_| {
        idx += 1;
        keep(idx - 1)
    });
}
