//! Versions of places: as long as a place has the same one, reads of it give the same.

use std::collections::BTreeMap;

use crate::places::Place;

#[derive(Default)]
pub(super) struct Versions {
    /// Of places written so far; others have 0.
    known: BTreeMap<Place, u64>,
    last: u64,
    /// In a chain, while no member changed the packet: version of the window by its width.
    views: BTreeMap<u64, u64>,
    /// The width of the window, if no length changed since `pkt.enter`.
    view: Option<u64>,
}

impl Versions {
    pub(super) fn of(&self, place: Place) -> u64 {
        self.known.get(&place).copied().unwrap_or(0)
    }

    /// A place is written.
    pub(super) fn write(&mut self, place: Place) {
        self.last += 1;
        self.known.insert(place, self.last);
        match place {
            Place::Window => self.views.clear(),
            Place::View => self.view = None,
            Place::Var(_) | Place::Local(_) | Place::Meta(_) | Place::Inputs | Place::Missing => {}
        }
    }

    /// The next member of a chain begins, which sees so much of the packet; None: not known here.
    pub(super) fn enter(&mut self, window: Option<u64>) {
        if let Some(before) = self.view {
            let version = self.of(Place::Window);
            self.views.insert(before, version);
        }
        let known = window.and_then(|window| self.views.get(&window).copied());
        match known {
            Some(version) => {
                self.known.insert(Place::Window, version);
            }
            None => {
                self.last += 1;
                self.known.insert(Place::Window, self.last);
            }
        }
        self.view = window;
    }

    /// Forgets that windows of members before this showed the same bytes.
    pub(super) fn forget_views(&mut self) {
        self.views.clear();
        self.view = None;
    }

    /// What holds where a branch begins.
    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot { known: self.known.clone(), views: self.views.clone(), view: self.view }
    }

    /// Another branch begins where the snapshot was made. Versions given since are not given again.
    pub(super) fn restore(&mut self, snapshot: &Snapshot) {
        self.known.clone_from(&snapshot.known);
        self.views.clone_from(&snapshot.views);
        self.view = snapshot.view;
    }
}

pub(super) struct Snapshot {
    known: BTreeMap<Place, u64>,
    views: BTreeMap<u64, u64>,
    view: Option<u64>,
}
