//! The annotated file against the code, and what is said about mistakes.

use std::collections::BTreeSet;

use super::*;

/// The keys of an `[[exit]]`, which its own crate declares.
const EXIT_KEYS: &[&str] =
    &["kind", "name", "data", "time_limit_ms", "start_limit_ms", "message_bytes_max", "on_failure"];

#[test]
fn the_annotated_file_is_the_default() {
    let (config, problems) = Config::parse(Path::new("mqe-gateway.toml"), ANNOTATED);
    assert_eq!(problems, []);
    assert_eq!(config, Config::default());
    assert_eq!(config.contradictions(), []);
}

/// The annotated file with what it shows of a source taken out of its comment.
fn with_a_source() -> String {
    let line = |line: &str| {
        let shown = line.strip_prefix('#').filter(|rest| !rest.is_empty() && !rest.starts_with(' '));
        format!("{}\n", shown.unwrap_or(line))
    };
    ANNOTATED.lines().map(line).collect()
}

#[test]
fn the_annotated_source_is_the_default_one() {
    let (config, problems) = Config::parse(Path::new("mqe-gateway.toml"), &with_a_source());
    assert_eq!(problems, []);
    let [source] = &config.sources[..] else { panic!("{:?}", config.sources) };
    let connect = source.connect.clone();
    assert_eq!(*source, SourceSection { connect, ..SourceSection::default() });
}

#[test]
fn the_annotated_file_has_the_keys_of_the_code() {
    let table: toml::Table = with_a_source().parse().unwrap();
    let mut in_file = BTreeSet::new();
    for (section, value) in &table {
        let value = value.as_array().map_or(value, |array| &array[0]);
        in_file.extend(value.as_table().unwrap().keys().map(|key| format!("{section}.{key}")));
    }
    let of_source = ("source", SourceSection::KEYS);
    let all = sections().into_iter().chain([("exit", EXIT_KEYS), of_source]);
    let in_code =
        all.flat_map(|(section, keys)| keys.iter().map(move |key| format!("{section}.{key}"))).collect();
    assert_eq!(in_file, in_code);

    let (_, problems) = Config::parse(Path::new("x"), "[[exit]]\nzzzzzzzz = 1");
    let expected: Vec<String> = EXIT_KEYS.iter().map(|key| format!("`{key}`")).collect();
    for key in &expected {
        assert!(problems[0].message.contains(key), "{key} is not a key of exits: {}", problems[0]);
    }
    assert_eq!(problems[0].message.matches('`').count() / 2 - 1, expected.len(), "{}", problems[0]);
}

#[test]
fn every_key_has_a_sentence() {
    let mut commented = false;
    for line in with_a_source().lines() {
        if line.contains(" = ") && !line.starts_with('#') {
            assert!(commented, "no sentence above {line}");
        }
        commented = line.starts_with("# ");
    }
}

/// All problems of a text, one a line.
#[track_caller]
fn check(text: &str, expected: &str) {
    let (_, problems) = Config::parse(Path::new("f.toml"), text);
    assert_eq!(Problems(problems).to_string(), expected, "{text}");
}

#[test]
fn mistakes_and_what_is_said_about_them() {
    check("", "");
    check(
        "[devices]\npattren = 'A*'",
        "f.toml:2:1: unknown key `pattren` in [devices], did you mean `pattern`?",
    );
    check(
        "[gateway]\nheartbeat_seconds = 3",
        "f.toml:2:1: unknown key `heartbeat_seconds` in [gateway]: it belongs to [devices]",
    );
    check("[log]\ncolour = 1", "f.toml:2:1: unknown key `colour` in [log]: it has format, level");
    check("[device]", "f.toml:1:2: unknown section `device`, did you mean `devices`?");
    check(
        "[zebra]",
        "f.toml:1:2: unknown section `zebra`: there are queue_manager, gateway, park, devices, store, admin, log, limits, exit, source",
    );
    check("gateway = 1", "f.toml:1:11: `gateway` is a section: write [gateway] above its keys");
    check("[tls]\nkey = 'x'", "f.toml:1:2: [tls] is not supported by this version: leave it out");
}

#[test]
fn values_that_do_not_fit() {
    check(
        "[queue_manager]\nname = 'QM 1'",
        "f.toml:2:8: [queue_manager] name: \"QM 1\" has the character ' ', names have only A-Z a-z 0-9 . / _ %",
    );
    check("[queue_manager]\nname = ''", "f.toml:2:8: [queue_manager] name: the name is blank");
    check(
        "[queue_manager]\nlisten = 'localhost:1414'",
        "f.toml:2:10: [queue_manager] listen: expected an address with port such as \"127.0.0.1:1414\" or \
         \"[::1]:1414\", found the string \"localhost:1414\"",
    );
    check(
        "[queue_manager]\n\n  dev_objects = 'yes'",
        "f.toml:3:17: [queue_manager] dev_objects: expected true or false, found the string \"yes\"",
    );
    check(
        "[devices]\nheartbeat_seconds = 0",
        "f.toml:2:21: [devices] heartbeat_seconds: 0 does not fit: must be from 1 to 3600",
    );
    check(
        "[devices]\nheartbeat_seconds = -5",
        "f.toml:2:21: [devices] heartbeat_seconds: -5 does not fit: must be from 0 to 4294967295",
    );
    check(
        "[devices]\nheartbeat_seconds = '60s'",
        "f.toml:2:21: [devices] heartbeat_seconds: expected a whole number, found the string \"60s\"",
    );
    check(
        "[devices]\nonboarding = 'registered'",
        "f.toml:2:14: [devices] onboarding: \"registered\" is not supported by this version: it knows auto, listed, \
         pattern, open",
    );
    check(
        "[devices]\nonboarding = 'patern'",
        "f.toml:2:14: [devices] onboarding: \"patern\" is not one of auto, listed, pattern, open, did you mean \
         `pattern`?",
    );
    check(
        "[devices]\nlisted = ['A', 7]",
        "f.toml:2:10: [devices] listed: expected the name of a queue manager, found the number 7",
    );
    check(
        "[gateway]\nseparator = '#'",
        "f.toml:2:13: [gateway] separator: \"#\" cannot separate names: use one of % / . _",
    );
    check(
        "[log]\nlevel = 'inf'",
        "f.toml:2:9: [log] level: \"inf\" is not one of error, warn, info, debug, trace, off, did you mean `info`?",
    );
}

#[test]
fn exits() {
    check("exit = []", "");
    check("exit = 1", "f.toml:1:8: exits are a list: write [[exit]] above the keys of each");
    check("[[exit]]\nkind = 'a'\nkund = 1", "f.toml:3:1: [[exit]] unknown key `kund`, did you mean `kind`?");
    check("[[exit]]\nname = 'a'", "f.toml:1:1: [[exit]] missing field `kind`");
    let (config, problems) =
        Config::parse(Path::new("x"), "[[exit]]\nkind = 'a'\n[[exit]]\nkind = 'b'\ndata = 'x=1'");
    assert_eq!(problems, []);
    assert_eq!(config.exits, [ExitConfig::new("a"), ExitConfig::new("b").with_data("x=1")]);
    let (config, _) = Config::parse(Path::new("x"), "exit = []");
    assert_eq!(config.exits, []);
}

#[test]
fn all_mistakes_are_reported_in_the_order_of_the_file() {
    check(
        "[store]\nsegment_bytes = 1\nsise = 2\n[log]\nformat = 'xml'\n",
        "f.toml:2:17: [store] segment_bytes: 1 does not fit: must be from 1048576 to 1073741824\n\
         f.toml:3:1: unknown key `sise` in [store]: it has directory, segment_bytes, index_bytes_max\n\
         f.toml:5:10: [log] format: \"xml\" is not one of text, json",
    );
}

#[test]
fn broken_syntax_has_a_place() {
    let (_, problems) = Config::parse(Path::new("f.toml"), "[log]\nformat = \n");
    assert!(problems[0].to_string().starts_with("f.toml:2:"), "{}", problems[0]);
    let (_, problems) = Config::parse(Path::new("f.toml"), "[log]\nlevel = 'info'\nlevel = 'info'\n");
    assert!(problems[0].to_string().starts_with("f.toml:3:1: "), "{}", problems[0]);
}

#[test]
fn columns_are_characters() {
    check(
        "[log] # ä\nformat = 1",
        "f.toml:2:10: [log] format: expected \"text\" or \"json\", found the number 1",
    );
    let text = "log = { \"ä\" = 1 }";
    check(text, "f.toml:1:9: unknown key `ä` in [log]: it has format, level");
    check("log = { 'ä'=1, level=1 }", &{
        let first = "f.toml:1:9: unknown key `ä` in [log]: it has format, level\n";
        format!("{first}f.toml:1:22: [log] level: expected a level such as \"info\", found the number 1")
    });
}

#[test]
fn paths_start_from_the_folder_of_the_file() {
    let text = "[store]\ndirectory = 'd'\n[queue_manager]\nmqsc = ['a.mqsc', '/b.mqsc']";
    let (config, _) = Config::parse(Path::new("etc/mqe.toml"), text);
    assert_eq!(config.store.directory, Path::new("etc/d"));
    assert_eq!(config.queue_manager.mqsc, [Path::new("etc/a.mqsc"), Path::new("/b.mqsc")]);
}

#[test]
fn flags_go_before_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("c.toml");
    std::fs::write(
        &file,
        "[store]\ndirectory = '/a'\n[queue_manager]\nmqsc = ['/1']\nlisten = '127.0.0.1:1'",
    )
    .unwrap();
    let overrides = Overrides {
        data: Some("b".into()),
        mqsc: vec!["2".into()],
        listen_mq: Some("127.0.0.1:2".parse().unwrap()),
        no_dev_objects: true,
        ..Overrides::default()
    };
    let config = Config::load(Some(&file), &overrides).unwrap();
    assert_eq!(config.store.directory, Path::new("b"));
    assert_eq!(config.queue_manager.mqsc, [Path::new("/1"), Path::new("2")]);
    assert_eq!(config.queue_manager.listen.port(), 2);
    assert!(!config.queue_manager.dev_objects);
    assert_eq!(config.onboarding(), Onboarding::Listed);
    let config = Config::load(Some(&file), &Overrides::default()).unwrap();
    assert_eq!(config.store.directory, Path::new("/a"));
    assert_eq!(config.onboarding(), Onboarding::Pattern);
    assert_eq!(config.transmission_queue().to_string(), "GATE1");
}

#[test]
fn contradictions() {
    let problems = |text: &str| {
        let (config, problems) = Config::parse(Path::new("x"), text);
        assert_eq!(problems, []);
        Problems(config.contradictions()).to_string()
    };
    assert_eq!(
        problems("[admin]\nlisten = '127.0.0.1:1414'"),
        "[queue_manager] and [admin] both listen on 127.0.0.1:1414: give one another port"
    );
    assert_eq!(problems("admin.listen = '127.0.0.1:0'\ndevices.listen = '127.0.0.1:0'"), "");
    assert!(problems("[gateway]\nname = 'QM1'").contains("both named QM1"));
    assert_eq!(
        problems("[[exit]]\nkind = 'a'\n[[exit]]\nkind = 'b'\nname = 'a'"),
        "two exits are named \"a\": give one another name"
    );
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let message =
        Config::load(Some(Path::new("/nowhere/f.toml")), &Overrides::default()).unwrap_err().to_string();
    assert!(message.starts_with("cannot read the configuration /nowhere/f.toml: "), "{message}");
}

#[test]
fn what_other_machines_can_reach() {
    let (config, _) =
        Config::parse(Path::new("x"), "devices.listen = '0.0.0.0:7414'\nadmin.listen = '[::1]:9414'");
    assert_eq!(config.exposed(), [("devices", "0.0.0.0:7414".parse().unwrap())]);
    assert_eq!(config.onboarding(), Onboarding::Listed);
}

#[test]
fn the_separator_reaches_the_exit_that_needs_it() {
    let data = |text: &str| {
        let (config, _) = Config::parse(Path::new("x"), text);
        config.chain().into_iter().map(|exit| exit.data).collect::<Vec<_>>()
    };
    assert_eq!(data(""), ["sep=%"]);
    let slash = "gateway.separator = '/'\n";
    assert_eq!(data(slash), ["sep=/"]);
    assert_eq!(data(&format!("{slash}[[exit]]\nkind = 'destination-rewrite'\ndata = 'sep=.'")), ["sep=."]);
    assert_eq!(
        data(&format!("{slash}[[exit]]\nkind = 'destination-rewrite'\ndata = 'prefix=D'")),
        ["sep=/ prefix=D"]
    );
    assert_eq!(data(&format!("{slash}[[exit]]\nkind = 'other'")), [""]);
}
