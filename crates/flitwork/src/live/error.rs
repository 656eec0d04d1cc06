//! Faults of live interfaces, with what the user can do about them.

use std::fmt;
use std::io;

/// An interface that cannot be used, or not any longer.
#[derive(Debug)]
pub struct InterfaceError {
    interface: String,
    verb: Verb,
    source: io::Error,
}

/// What was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Opening a packet socket on it.
    Open,
    /// Making or opening a TAP device.
    OpenTap,
    /// Reading from it.
    Receive,
    /// Sending through it.
    Send,
}

impl InterfaceError {
    /// `source` is the operating system's reason.
    pub fn new(interface: &str, verb: Verb, source: io::Error) -> InterfaceError {
        InterfaceError { interface: interface.to_string(), verb, source }
    }

    fn remedy(&self) -> String {
        let capability = match self.verb {
            Verb::Open | Verb::Receive | Verb::Send => "CAP_NET_RAW",
            Verb::OpenTap => "CAP_NET_ADMIN",
        };
        match self.source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => format!(
                "it needs the capability {capability}: run as root, or once `sudo setcap {}+ep $(command -v flitwork)`",
                capability.to_lowercase()
            ),
            Some(libc::ENODEV) => "there is no such interface; `ip link` lists those that there are".to_string(),
            Some(libc::ENETDOWN | libc::ENXIO | libc::EBADFD | libc::EIO) => match self.verb {
                Verb::Open | Verb::OpenTap => format!("switch it on with `ip link set {} up`", self.interface),
                Verb::Receive | Verb::Send => "it was switched off or removed while the run used it".to_string(),
            },
            Some(libc::EBUSY) => "another program holds it".to_string(),
            Some(libc::ENOENT) if self.verb == Verb::OpenTap => {
                "the kernel has no TUN/TAP driver; load it with `modprobe tun`".to_string()
            }
            _ => String::new(),
        }
    }
}

impl fmt::Display for InterfaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match self.verb {
            Verb::Open | Verb::OpenTap => "cannot open",
            Verb::Receive => "cannot receive from",
            Verb::Send => "cannot send through",
        };
        let reason = crate::error::reason(&self.source);
        write!(f, "{verb} interface {}: {reason}", self.interface)?;
        match self.remedy().as_str() {
            "" => Ok(()),
            remedy => write!(f, "; {remedy}"),
        }
    }
}

impl std::error::Error for InterfaceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}
