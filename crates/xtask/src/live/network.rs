//! Network namespaces: host A, host B, and the box in the middle with one interface to each.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::process::command;

/// Three namespaces: `a` and `b` with the interface `host` each, and `m` with the interfaces `left` and `right`.
pub struct Network {
    prefix: String,
}

/// Address of host A, with the length of the network.
pub const ADDRESS_A: &str = "10.211.0.1";
/// Address of host B.
pub const ADDRESS_B: &str = "10.211.0.2";

impl Network {
    /// A box in the middle that nothing passes until a program forwards.
    pub fn with_box(name: &str) -> Result<Network, String> {
        let network = Network::new(name, &["a", "b", "m"])?;
        network.cable(("a", "host"), ("m", "left"))?;
        network.cable(("b", "host"), ("m", "right"))?;
        network.give_addresses()?;
        Ok(network)
    }

    /// The two hosts on one cable.
    pub fn plain(name: &str) -> Result<Network, String> {
        let network = Network::new(name, &["a", "b"])?;
        network.cable(("a", "host"), ("b", "host"))?;
        network.give_addresses()?;
        Ok(network)
    }

    fn new(name: &str, namespaces: &[&str]) -> Result<Network, String> {
        let network = Network { prefix: format!("flitwork{}{name}", std::process::id()) };
        for namespace in namespaces {
            ip(&["netns", "add", &network.namespace(namespace)])?;
            // So that nothing but what the check sends is on the cables.
            let quiet =
                network.command(namespace, "sysctl", &["-q", "-w", "net.ipv6.conf.all.disable_ipv6=1"]).status();
            quiet.map_err(|error| format!("cannot start sysctl: {error}"))?;
        }
        Ok(network)
    }

    fn namespace(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    fn cable(&self, one: (&str, &str), other: (&str, &str)) -> Result<(), String> {
        let [one_space, other_space] = [one.0, other.0].map(|name| self.namespace(name));
        ip(&[
            "link",
            "add",
            one.1,
            "netns",
            &one_space,
            "type",
            "veth",
            "peer",
            "name",
            other.1,
            "netns",
            &other_space,
        ])?;
        for (space, link) in [(&one_space, one.1), (&other_space, other.1)] {
            ip(&["-n", space, "link", "set", link, "up"])?;
        }
        Ok(())
    }

    fn give_addresses(&self) -> Result<(), String> {
        for (name, address) in [("a", ADDRESS_A), ("b", ADDRESS_B)] {
            ip(&["-n", &self.namespace(name), "addr", "add", &format!("{address}/24"), "dev", "host"])?;
        }
        Ok(())
    }

    /// Removes a cable, as when somebody pulls out a card.
    pub fn remove_link(&self, namespace: &str, link: &str) -> Result<(), String> {
        ip(&["-n", &self.namespace(namespace), "link", "delete", link])
    }

    /// A command in a namespace.
    pub fn command(&self, namespace: &str, program: &str, args: &[&str]) -> Command {
        let namespace = self.namespace(namespace);
        let mut words = vec!["netns", "exec", &namespace, program];
        words.extend(args);
        command("ip", &words)
    }

    /// What a command in a namespace prints.
    pub fn output(&self, namespace: &str, program: &str, args: &[&str]) -> Result<String, String> {
        let output = self.command(namespace, program, args).output();
        let output = output.map_err(|error| format!("cannot start {program}: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            Ok(text)
        } else {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(format!("{program} {}: {}\n{said}{text}", args.join(" "), output.status))
        }
    }

    /// What iperf3 measures from A to B; an iperf3 server runs for the time of it.
    pub fn iperf(&self, args: &[&str]) -> Result<Value, String> {
        let mut server = self.command("b", "nice", &["-n", "-20", "iperf3", "-s", "-1"]);
        let server = server.stdout(Stdio::null()).spawn().map_err(|error| format!("cannot start iperf3: {error}"))?;
        let mut server = Background(server);
        std::thread::sleep(Duration::from_millis(300));
        // Hosts of their own would not share the processor with whatever else this machine does.
        let mut words = vec!["-n", "-20", "timeout", "30", "iperf3", "-J", "-c", ADDRESS_B];
        words.extend(args);
        let text = self.output("a", "nice", &words)?;
        server.end(Duration::from_secs(5))?;
        serde_json::from_str(&text).map_err(|error| format!("iperf3 printed no JSON: {error}"))
    }

    /// Starts the program in the middle; it has begun when this returns.
    pub fn start(&self, namespace: &str, flitwork: &Path, args: &[&str]) -> Result<Running, String> {
        let program = flitwork.display().to_string();
        let mut words = vec!["-n", "-20", &program];
        words.extend(args);
        let mut command = self.command(namespace, "nice", &words);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().map_err(|error| format!("cannot start {program}: {error}"))?;
        // Compiling and opening take some ten milliseconds.
        std::thread::sleep(Duration::from_millis(700));
        Ok(Running(Background(child)))
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for name in ["a", "b", "m"] {
            // A namespace that was never made cannot be removed, and that is all right.
            let _ = command("ip", &["netns", "delete", &self.namespace(name)]).stderr(Stdio::null()).status();
        }
    }
}

fn ip(args: &[&str]) -> Result<(), String> {
    crate::process::run("ip", args)
}

/// A program that does not outlive the check.
pub struct Background(pub Child);

impl Background {
    /// Waits for its end, which should come by itself.
    pub fn end(&mut self, patience: Duration) -> Result<std::process::ExitStatus, String> {
        let begin = Instant::now();
        loop {
            match self.0.try_wait().map_err(|error| error.to_string())? {
                Some(status) => return Ok(status),
                None if begin.elapsed() > patience => return Err("it does not end".to_string()),
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The program under test.
pub struct Running(Background);

impl Running {
    /// Its process: `ip netns exec` becomes the program that it starts.
    pub fn id(&self) -> u32 {
        self.0.0.id()
    }

    /// Ends it as `kill -NAME` would.
    pub fn signal(&self, name: &str) -> Result<(), String> {
        crate::process::run("kill", &[name, &self.id().to_string()])
    }

    /// Resident memory in KiB.
    pub fn memory_kib(&self) -> Result<u64, String> {
        let path = format!("/proc/{}/status", self.id());
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.and_then(|line| line.split_whitespace().next()?.parse().ok()).ok_or_else(|| format!("{path} has no VmRSS"))
    }

    /// Waits for its end; gives the exit code and what it said on both streams.
    pub fn end(mut self) -> Result<(Option<i32>, String, String), String> {
        use std::io::Read as _;
        let status = self.0.end(Duration::from_secs(10))?;
        let (mut stdout, mut stderr) = (String::new(), String::new());
        let child = &mut self.0.0;
        if let (Some(out), Some(err)) = (&mut child.stdout, &mut child.stderr) {
            out.read_to_string(&mut stdout).map_err(|error| error.to_string())?;
            err.read_to_string(&mut stderr).map_err(|error| error.to_string())?;
        }
        Ok((status.code(), stdout, stderr))
    }

    /// Ends it with Ctrl-C and reads its `--json` report, which must account for every packet.
    pub fn report(self) -> Result<Value, String> {
        self.signal("-INT")?;
        let (code, stdout, stderr) = self.end()?;
        if code != Some(0) {
            return Err(format!("exit code {code:?}: {stderr}"));
        }
        balanced(&stdout)
    }
}

/// A `--json` report, if its packets add up.
pub fn balanced(text: &str) -> Result<Value, String> {
    let report: Value = serde_json::from_str(text).map_err(|error| format!("the report is no JSON: {error}"))?;
    let total = |name: &str| report["totals"][name].as_u64().unwrap_or(u64::MAX / 8);
    let came = total("in") + total("created");
    let went = total("out") + total("dropped") + total("ended") + total("held");
    if came == went { Ok(report) } else { Err(format!("packets are not accounted for: {}", report["totals"])) }
}
