//! The programs of `interop/java` with IBM's own MQ classes, as a Maven repository has them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::process::{Finished, Process};
use crate::tools;

/// The version of `com.ibm.mq:com.ibm.mq.allclient` that the wire protocol was watched with.
const VERSION: &str = "9.4.1.0";
/// Folders of the repository with what the classes need.
const FOLDERS: &[&str] =
    &["com/ibm/mq/com.ibm.mq.allclient/9.4.1.0", "javax/jms", "org/bouncycastle", "org/json/json"];
/// Compiling the programs.
const COMPILE: Duration = Duration::from_secs(120);

/// Compiled programs, ready to be run.
#[derive(Debug, Clone)]
pub struct Java {
    java: PathBuf,
    class_path: String,
}

impl Java {
    /// Compiles the programs into a folder; `None` after a sentence if Java or the classes are missing.
    pub fn prepare(folder: &Path) -> Option<Self> {
        let (java, javac) = (tools::program("java")?, tools::program("javac")?);
        let jars = jars();
        if !jars.iter().any(|jar| jar.ends_with(format!("com.ibm.mq.allclient-{VERSION}.jar"))) {
            tools::missing(&format!(
                "IBM's classes are not in the Maven repository: \
                 mvn dependency:get -Dartifact=com.ibm.mq:com.ibm.mq.allclient:{VERSION}"
            ));
            return None;
        }
        let classes = folder.join("classes");
        std::fs::create_dir_all(&classes).unwrap();
        let mut entries: Vec<String> = jars.iter().map(|jar| jar.display().to_string()).collect();
        entries.push(classes.display().to_string());
        let class_path = entries.join(":");
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("interop/java");
        let mut command = Command::new(javac);
        command.args(["-nowarn", "-cp", &class_path, "-d"]).arg(&classes);
        command.args(files(&sources, "java"));
        Process::run("javac", command, folder, COMPILE).succeeded();
        Some(Self { java, class_path })
    }

    /// Starts a program in a folder, where IBM's classes may also leave their own log.
    pub fn start(&self, program: &str, args: &[String], folder: &Path) -> Process {
        // Short programs: starting up quickly is worth more than running fast.
        self.start_with(&["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"], program, args, folder)
    }

    fn start_with(&self, options: &[&str], program: &str, args: &[String], folder: &Path) -> Process {
        let mut command = Command::new(&self.java);
        command.args(options).args(["-cp", &self.class_path, program]);
        command.args(args).current_dir(folder);
        Process::start(program, command, folder)
    }

    /// Runs a program whose speed is measured, as Java runs it by default.
    #[track_caller]
    pub fn run_fast(&self, program: &str, args: &[String], folder: &Path, within: Duration) -> Finished {
        self.start_with(&[], program, args, folder).wait(within)
    }

    /// Runs a program to its end.
    #[track_caller]
    pub fn run(&self, program: &str, args: &[String], folder: &Path, within: Duration) -> Finished {
        self.start(program, args, folder).wait(within)
    }
}

fn jars() -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    FOLDERS.iter().flat_map(|folder| files(&home.join(".m2/repository").join(folder), "jar")).collect()
}

/// All files with an extension, in folders below too.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|end| end == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}
