//! What the administrator of an IBM MQ queue manager must run, so that a gateway can drain a transmission queue there: MQSC
//! with the objects and the rights of the channel's user, and nothing more.

use std::fmt::Write;

use crate::config::{Config, MessageContext, SourceSection};

/// The channel and the user that the commands make, where the configuration names none.
const CHANNEL: &str = "MQE.GATEWAY";
const USER: &str = "mqegate";

/// The commands for all sources of a configuration; for one by default if it has none. Behind them the configuration.
pub(super) fn commands(config: &Config) -> String {
    let example = [SourceSection::default()];
    let sources = if config.sources.is_empty() { &example[..] } else { &config.sources };
    let mut out = String::new();
    for source in sources {
        commands_for(config, source, &mut out);
    }
    out
}

fn commands_for(config: &Config, source: &SourceSection, out: &mut String) {
    let gateway = config.gateway.name;
    let queue = config.transmission_queue_of(source);
    let address = source.connect.0.first();
    let channel = address.map_or_else(|| CHANNEL.to_owned(), |address| address.channel.to_string());
    let user = if source.user.is_empty() { USER } else { &source.user };
    let dead = source.dead_letter_queue.map(|queue| queue.to_string());
    let mut line = |text: String| {
        // A string takes all that is written to it.
        let _ = writeln!(out, "{text}");
    };
    let name = source.queue_manager.map_or_else(String::new, |name| format!(" {name}"));
    line(format!("* For runmqsc on the queue manager{name}, as an administrator of it."));
    line(format!("* The transmission queue: applications put to QUEUE%DEVICE at queue manager {gateway}."));
    line(format!(
        "DEFINE QLOCAL('{queue}') USAGE(XMITQ) DEFPSIST(YES) MAXDEPTH(999999999) MAXMSGL(4194304) NOREPLACE"
    ));
    if queue.0 != gateway.0 {
        line("* The gateway's name leads to it.".to_owned());
        line(format!(
            "DEFINE QREMOTE('{gateway}') RNAME('') RQMNAME('{gateway}') XMITQ('{queue}') NOREPLACE"
        ));
    }
    for alias in &config.gateway.aliases {
        line(format!("DEFINE QREMOTE('{alias}') RNAME('') RQMNAME('{alias}') XMITQ('{queue}') NOREPLACE"));
    }
    if let Some(sync) = source.sync_queue {
        line(
            "* The gateway's own notes of its units of work: one message for each direction. Never clear it."
                .to_owned(),
        );
        line(format!("DEFINE QLOCAL('{sync}') DEFPSIST(YES) MAXDEPTH(5000) NOREPLACE"));
    }
    line(
        "* The channel: whoever comes acts as this user. Put the gateway's address in place of the star."
            .to_owned(),
    );
    line(format!(
        "DEFINE CHANNEL('{channel}') CHLTYPE(SVRCONN) TRPTYPE(TCP) MCAUSER('{user}') MAXMSGL(104857600) NOREPLACE"
    ));
    line(format!(
        "SET CHLAUTH('{channel}') TYPE(ADDRESSMAP) ADDRESS('*') USERSRC(CHANNEL) CHCKCLNT(ASQMGR) ACTION(REPLACE)"
    ));
    line("* Rights: connecting, and its own queues.".to_owned());
    let rights = |profile: &str, kind: &str, rights: &str| {
        let profile = if profile.is_empty() { String::new() } else { format!("PROFILE('{profile}') ") };
        format!("SET AUTHREC {profile}OBJTYPE({kind}) PRINCIPAL('{user}') AUTHADD({rights})")
    };
    let identity = source.context == MessageContext::SetIdentity;
    // What context a put may set is a right at the queue manager and at the queue.
    line(rights("", "QMGR", if identity { "CONNECT,INQ,SETALL,SETID" } else { "CONNECT,INQ,SETALL" }));
    line(rights(&queue.to_string(), "QUEUE", "GET,BROWSE,INQ"));
    if let Some(sync) = source.sync_queue {
        line(rights(&sync.to_string(), "QUEUE", "PUT,GET,BROWSE,INQ"));
    }
    line("* Dead letters keep the context of their messages; without SETALL they have that of the channel's user.".to_owned());
    line(
        "* The queue manager's dead-letter queue (DISPLAY QMGR DEADQ), if it has another name than this."
            .to_owned(),
    );
    line(rights(dead.as_deref().unwrap_or("SYSTEM.DEAD.LETTER.QUEUE"), "QUEUE", "PUT,SETALL"));
    line("* What devices put into, and where reports go: one for each queue or generic profile, without the star.".to_owned());
    line("* Until then their puts are dead letters with reason 2035.".to_owned());
    let set = if identity { "PUT,SETID" } else { "PUT" };
    line(format!("* {}", rights("APP.**", "QUEUE", set)));
    line("REFRESH SECURITY TYPE(AUTHSERV)".to_owned());
    line(String::new());
    line("* And in the gateway's configuration:".to_owned());
    line("*   [[source]]".to_owned());
    let connect = address.map_or_else(|| format!("{channel}/TCP/HOST(1414)"), ToString::to_string);
    line(format!("*   connect = \"{connect}\""));
    line(format!("*   user = \"{user}\""));
    line("*   password_file = \"FILE\"".to_owned());
    line(format!("*   transmission_queue = \"{queue}\""));
    line(format!(
        "*   sync_queue = \"{}\"",
        source.sync_queue.map_or_else(String::new, |queue| queue.to_string())
    ));
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_commands_name_what_the_configuration_names() {
        let text = "[gateway]\nname = 'EAST'\naliases = ['WEST']\n[[source]]\nconnect = 'A.B/TCP/h(1)'\nuser = 'gw'\n\
                    transmission_queue = 'TO.EAST'\nsync_queue = 'MY.SYNC'\n";
        let (config, problems) = Config::parse(Path::new("f.toml"), text);
        assert!(problems.is_empty(), "{problems:?}");
        let commands = commands(&config);
        for part in [
            "DEFINE QLOCAL('TO.EAST') USAGE(XMITQ)",
            "DEFINE QREMOTE('EAST') RNAME('') RQMNAME('EAST') XMITQ('TO.EAST')",
            "DEFINE QREMOTE('WEST')",
            "DEFINE QLOCAL('MY.SYNC')",
            "DEFINE CHANNEL('A.B') CHLTYPE(SVRCONN) TRPTYPE(TCP) MCAUSER('gw')",
            "SET AUTHREC OBJTYPE(QMGR) PRINCIPAL('gw') AUTHADD(CONNECT,INQ,SETALL)",
            "*   sync_queue = \"MY.SYNC\"",
            "SET AUTHREC PROFILE('TO.EAST') OBJTYPE(QUEUE) PRINCIPAL('gw') AUTHADD(GET,BROWSE,INQ)",
        ] {
            assert!(commands.contains(part), "{part} in:\n{commands}");
        }
        assert!(super::commands(&Config::default()).contains("DEFINE QLOCAL('GATE1') USAGE(XMITQ)"));
    }
}
