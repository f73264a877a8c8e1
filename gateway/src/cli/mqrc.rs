//! `mqrc`: what a reason code means.

use std::io::{self, Write};

use clap::Args;
use mq_wire::Reason;

use crate::config::suggestion;

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  mqe-gateway mqrc 2085\n  mqe-gateway mqrc MQRC_UNKNOWN_OBJECT_NAME")]
pub(super) struct MqrcArgs {
    /// Number (decimal, or hexadecimal with 0x) or name, with or without MQRC_
    #[arg(value_name = "CODE|NAME")]
    code: String,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &MqrcArgs) -> anyhow::Result<()> {
    let reason = find(&args.code)?;
    let (name, meaning) = (reason.name().unwrap_or_default(), reason.meaning().unwrap_or_default());
    let mut out = io::stdout();
    if args.json {
        writeln!(out, "{}", serde_json::json!({ "code": reason.0, "name": name, "meaning": meaning }))?;
    } else {
        writeln!(out, "{:10}  0x{:08x}  {name}\n{meaning}", reason.0, reason.0)?;
    }
    Ok(())
}

fn find(text: &str) -> anyhow::Result<Reason> {
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let number = match hexadecimal {
        Some(digits) => i32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    if let Some(number) = number {
        return Reason::ALL.iter().copied().find(|reason| reason.0 == number).ok_or_else(|| {
            anyhow::anyhow!("{text} is not a reason code that this version knows: see the reason codes in the MQ documentation")
        });
    }
    let name = text.to_ascii_uppercase();
    let name = name.strip_prefix("MQRC_").unwrap_or(&name);
    let short = |reason: &Reason| reason.name().and_then(|name| name.strip_prefix("MQRC_"));
    Reason::ALL.iter().copied().find(|reason| short(reason) == Some(name)).ok_or_else(|| {
        let near = suggestion(name, Reason::ALL.iter().filter_map(short));
        anyhow::anyhow!("{text:?} is not the name of a reason code{near}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_names() {
        let check = |text: &str, code: i32| assert_eq!(find(text).unwrap().0, code, "{text}");
        check("2085", 2085);
        check("0x825", 2085);
        check("MQRC_UNKNOWN_OBJECT_NAME", 2085);
        check("unknown_object_name", 2085);
        check("0", 0);
        let refuse = |text: &str, part: &str| {
            let message = find(text).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        };
        refuse("1", "1 is not a reason code");
        refuse("MQRC_UNKNOWN_OBJET_NAME", "did you mean `UNKNOWN_OBJECT_NAME`?");
    }
}
