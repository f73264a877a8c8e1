//! `mqe-gateway check` and `init` as processes: what they print, where, and how they end.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Runs the program in a folder, without what the environment of the tests says.
#[expect(clippy::unwrap_used, reason = "without the program there is nothing to test")]
fn program(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mqe-gateway"))
        .args(args)
        .current_dir(folder)
        .env_remove("MQE_DATA")
        .env_remove("MQSERVER")
        .env_remove("MQE_ADMIN_TOKEN")
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn all_mistakes_are_named_with_their_places() {
    let folder = tempfile::tempdir().unwrap();
    let config = "[queue_manager]\nmqsc = [\"broken.mqsc\", \"missing.mqsc\"]\n\n[devices]\npattren = \"DEV*\"\n\
                  heartbeat_seconds = 0\n\n[[exit]]\nkind = \"destination-rewrit\"\n";
    fs::write(folder.path().join("broken.toml"), config).unwrap();
    let script = "* A script\nDEFINE QLOCAL(A) MAXDEPTH(ten)\nDEFNE QLOCAL(B)\nDEFINE QLOCAL('C D')\n";
    fs::write(folder.path().join("broken.mqsc"), script).unwrap();

    let output = program(folder.path(), &["check", "--config", "broken.toml"]);
    assert_eq!(output.status.code(), Some(1));
    let errors = text(&output.stderr);
    for part in [
        "mqe-gateway: broken.toml:5:1: unknown key `pattren` in [devices], did you mean `pattern`?\n",
        "mqe-gateway: broken.toml:6:21: [devices] heartbeat_seconds: 0 does not fit: must be from 1 to 3600\n",
        "no exit is of kind \"destination-rewrit\"",
        "did you mean `destination-rewrite`?\n",
        "mqe-gateway: broken.mqsc:2:",
        "mqe-gateway: broken.mqsc:3:1: AMQ8405: ",
        "mqe-gateway: broken.mqsc:4:",
        "mqe-gateway: cannot read the script missing.mqsc: ",
    ] {
        assert!(errors.contains(part), "{part:?} is not in:\n{errors}");
    }
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "check left something behind: {left:?}");
}

#[test]
fn problems_as_json() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mqe-gateway.toml"), "[log]\nformat = 1\n").unwrap();
    let output = program(folder.path(), &["check", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let problem = &report["problems"][0];
    assert_eq!(problem["file"], "mqe-gateway.toml");
    assert_eq!((problem["line"].as_u64(), problem["column"].as_u64()), (Some(2), Some(10)));
}

#[test]
fn what_init_writes_is_right_and_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let output = program(folder.path(), &["init", "new"]);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
    assert_eq!(text(&output.stdout), "wrote new/mqe-gateway.toml\nwrote new/objects.mqsc\n");

    let new = folder.path().join("new");
    let output = program(&new, &["check", "--mqsc", "objects.mqsc"]);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
    let out = text(&output.stdout);
    assert!(
        out.contains("mqe-gateway.toml: nothing is wrong\nobjects.mqsc: 3 commands, nothing is wrong\n"),
        "{out}"
    );

    fs::remove_file(new.join("mqe-gateway.toml")).unwrap();
    fs::write(new.join("objects.mqsc"), "* mine\n").unwrap();
    let output = program(folder.path(), &["init", "new"]);
    assert_eq!(output.status.code(), Some(1));
    let errors = text(&output.stderr);
    assert!(errors.starts_with("mqe-gateway: new/objects.mqsc is there already"), "{errors}");
    assert_eq!(fs::read_to_string(new.join("objects.mqsc")).unwrap(), "* mine\n");
    assert!(!new.join("mqe-gateway.toml").exists());
}

#[test]
fn wrong_usage_is_2_and_a_refusal_is_1() {
    let folder = tempfile::tempdir().unwrap();
    let check = |args: &[&str], status: i32, part: &str| {
        let output = program(folder.path(), args);
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{args:?}: {errors}");
        assert!(errors.contains(part), "{args:?}: {part:?} is not in: {errors}");
        if status == 1 {
            assert_eq!(errors.lines().count(), 1, "one line: {errors}");
        }
    };
    check(&[], 2, "Usage");
    check(&["ruin"], 2, "run");
    check(&["run", "--listen-mq", "here"], 2, "--listen-mq");
    check(&["run", "--config", "missing.toml"], 1, "cannot read the configuration missing.toml");
    check(&["run", "--listen-mq", "0.0.0.0:0"], 1, "--insecure");
    check(&["status"], 1, "no admin token in mqe-data/admin.token");
    check(&["mqrc", "MQRC_NOT_AUTHORISED"], 1, "did you mean `NOT_AUTHORIZED`?");
    check(&["amqsput", "Q", "--connect", "nonsense"], 1, "CHANNEL/TCP/host(port)");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "a refusal left something behind");
}
