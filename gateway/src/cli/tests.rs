//! What the command line takes and what it does not.

use clap::CommandFactory;

use super::*;

#[test]
fn the_definitions_hold_together() {
    Cli::command().debug_assert();
}

#[test]
fn what_is_understood() {
    for line in [
        "run",
        "run --config c.toml --data d --mqsc a.mqsc --mqsc b.mqsc --mqsc-continue --no-dev-objects --insecure",
        "run --listen-mq 127.0.0.1:0 --listen-devices [::1]:0 --listen-admin 127.0.0.1:9 --log-format json",
        "init",
        "init there",
        "check --config c.toml --mqsc a --mqsc b --json",
        "status --json --admin 127.0.0.1:9414 --data d",
        "devices list --json",
        "devices show DEV1 --admin localhost:1",
        "amqsput Q",
        "amqsput ORDERS%DEV1 GATE1 --connect A/TCP/h(1) --persistent --count 3 --file f --reply-to R",
        "amqsget Q QM1 --wait 0 --count 1 --user u --password-file p",
        "mqrc 2085 --json",
    ] {
        let args = std::iter::once(PROGRAM).chain(line.split(' '));
        if let Err(error) = Cli::try_parse_from(args) {
            panic!("{line}: {error}");
        }
    }
}

#[test]
fn what_is_not() {
    for (line, part) in [
        ("run --listen-mq 1414", "--listen-mq"),
        ("run --log-format xml", "not one of text, json"),
        ("devices", "list"),
        ("devices show", "<D>"),
        ("amqsput", "<QUEUE>"),
        ("amqsget Q --wait soon", "--wait"),
        ("amqsget Q --password-file p", "--user"),
        ("amqsput Q --password secret", "--password"),
        ("mqrc", "<CODE|NAME>"),
    ] {
        let args = std::iter::once(PROGRAM).chain(line.split(' '));
        let error = Cli::try_parse_from(args).unwrap_err();
        assert_eq!(error.exit_code(), 2, "{line}");
        assert!(error.to_string().contains(part), "{line}: {error}");
    }
}

#[test]
fn every_command_has_an_example() {
    fn look(command: &clap::Command) {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        assert!(help.contains("Example:\n  "), "no example in the help of {}", command.get_name());
        command.get_subcommands().filter(|sub| sub.get_name() != "help").for_each(look);
    }
    look(&Cli::command());
}

#[test]
fn an_error_is_one_line() {
    assert_eq!(one_line("a\n  b\n\nc"), "a; b; c");
}
