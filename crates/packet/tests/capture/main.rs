//! Capture files: what is read, what is refused, and what is written.

mod damage;
mod layouts;
mod round_trip;
mod saved_captures;
mod support;
