//! How the queue manager tools connect: `--connect`, else MQSERVER, else the developer channel on this machine.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use mq_channel::Password;
use mq_client::ConnectOptions;
use mq_wire::Chars;

/// Where a tool connects when nobody says.
const DEFAULT: &str = "DEV.APP.SVRCONN/TCP/127.0.0.1(1414)";

#[derive(Debug, Args)]
pub(super) struct ConnectArgs {
    /// Channel and address [default: DEV.APP.SVRCONN/TCP/127.0.0.1(1414)]
    #[arg(long, value_name = "CHANNEL/TCP/host(port)", env = "MQSERVER")]
    connect: Option<String>,
    /// User to connect as; the password comes from MQ_PASSWORD or --password-file
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// File whose first line is the password
    #[arg(long, value_name = "FILE", requires = "user")]
    password_file: Option<PathBuf>,
}

impl ConnectArgs {
    /// What the client needs to know.
    pub(super) fn options(&self, appl_name: &str) -> anyhow::Result<ConnectOptions> {
        let text = self.connect.as_deref().filter(|text| !text.is_empty()).unwrap_or(DEFAULT);
        let mut options =
            ConnectOptions::parse(text).with_context(|| format!("cannot connect to {text:?}"))?;
        options.appl_name = Chars::cut(appl_name);
        if let Some(user) = &self.user {
            options.user.clone_from(user);
            options.password = Some(self.password()?);
        }
        Ok(options)
    }

    fn password(&self) -> anyhow::Result<Password> {
        if let Some(file) = &self.password_file {
            let text = std::fs::read_to_string(file)
                .with_context(|| format!("cannot read the password file {}", file.display()))?;
            return Ok(Password::new(text.lines().next().unwrap_or_default()));
        }
        let password = std::env::var("MQ_PASSWORD")
            .ok()
            .context("--user needs a password: set MQ_PASSWORD, or give --password-file FILE")?;
        Ok(Password::new(password))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_to_and_as_whom() {
        let args = ConnectArgs { connect: None, user: None, password_file: None };
        let options = args.options("amqsput").unwrap();
        assert_eq!((options.channel.to_string().as_str(), options.port), ("DEV.APP.SVRCONN", 1414));
        assert_eq!((options.user.as_str(), options.password), ("", None));

        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("password");
        std::fs::write(&file, "secret\nmore\n").unwrap();
        let connect = Some("A/TCP/host(1)".to_owned());
        let args = ConnectArgs { connect, user: Some("app".to_owned()), password_file: Some(file) };
        let options = args.options("amqsput").unwrap();
        assert_eq!((options.host.as_str(), options.user.as_str()), ("host", "app"));
        assert_eq!(options.password, Some(Password::new("secret")));

        let args = ConnectArgs { connect: Some("A".to_owned()), user: None, password_file: None };
        let message = format!("{:#}", args.options("amqsput").unwrap_err());
        assert!(message.contains("CHANNEL/TCP/host(port)"), "{message}");
    }
}
