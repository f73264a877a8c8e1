//! `header-stamp`: marks messages that passed this gateway in their own descriptor, the one inside of the MQXQH.
//!
//! MQ people look at a message's context to see whose it is; its two free fields are for applications:
//! ApplIdentityData (32 characters) and ApplOriginData (4). The data string says what to write there:
//! `identity="VIA GATE1" origin=GW1`. Without either, ApplIdentityData is set to the gateway's own name. What an
//! application has written stays, unless `overwrite=yes`. A message without a whole MQXQH passes unchanged.

use async_trait::async_trait;
use mq_wire::{Chars, Mqxqh};

use crate::{DataOptions, ExitContext, ExitError, ExitMessage, ExitResponse, ReceiveExit};

/// The exit; see the head of its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderStamp {
    identity: Option<Chars<32>>,
    origin: Option<Chars<4>>,
    overwrite: bool,
}

impl HeaderStamp {
    /// Its kind in the configuration.
    pub const KIND: &'static str = "header-stamp";

    /// From the data string.
    pub fn from_data(data: &str) -> Result<Self, ExitError> {
        let mut options = DataOptions::parse(data)?;
        let stamp = Self {
            identity: text(&mut options, "identity")?,
            origin: text(&mut options, "origin")?,
            overwrite: options.take_choice("overwrite", &[("no", false), ("yes", true)])?,
        };
        options.finish(&["identity", "origin", "overwrite"])?;
        Ok(stamp)
    }

    fn stamp(&self, header: &mut Mqxqh, cx: &ExitContext) {
        let own_name = || cx.gateway_names().first().map(|name| Chars::cut(&name.to_string()));
        let identity = match (self.identity, self.origin) {
            (None, None) => own_name(),
            (identity, _) => identity,
        };
        set(&mut header.msg_desc.appl_identity_data, identity, self.overwrite);
        set(&mut header.msg_desc.appl_origin_data, self.origin, self.overwrite);
    }
}

#[async_trait]
impl ReceiveExit for HeaderStamp {
    async fn receive(
        &self,
        cx: &mut ExitContext,
        message: &mut ExitMessage,
    ) -> Result<ExitResponse, ExitError> {
        if let Ok(mut header) = message.xqh_mut() {
            self.stamp(&mut header, cx);
        }
        Ok(ExitResponse::Ok)
    }
}

fn text<const N: usize>(options: &mut DataOptions, option: &str) -> Result<Option<Chars<N>>, ExitError> {
    let Some(text) = options.take(option) else { return Ok(None) };
    if text.len() > N || !text.bytes().all(|b| b == b' ' || b.is_ascii_graphic()) {
        return Err(ExitError::option(option, format!("takes at most {N} ASCII characters")));
    }
    Ok(Some(Chars::cut(&text)))
}

fn set<const N: usize>(field: &mut Chars<N>, text: Option<Chars<N>>, overwrite: bool) {
    if let Some(text) = text
        && (overwrite || field.is_blank())
    {
        *field = text;
    }
}

#[cfg(test)]
mod tests {
    use mq_wire::{Mqmd, QMgrName};

    use super::*;
    use crate::{Direction, InitContext, Origin};

    async fn stamped(data: &str, identity_before: &str) -> (String, String) {
        let exit = HeaderStamp::from_data(data).unwrap();
        let origin = Origin::new("XMITQ", Direction::FromMq);
        let init = InitContext::new(data, &[QMgrName::new("GATE1").unwrap()]);
        let mut cx = ExitContext::new(init, origin.clone());
        let msg_desc = Mqmd { appl_identity_data: Chars::cut(identity_before), ..Mqmd::default() };
        let mut message = ExitMessage::wrap(origin, &Mqxqh { msg_desc, ..Mqxqh::default() }, b"payload");
        assert_eq!(exit.receive(&mut cx, &mut message).await.unwrap(), ExitResponse::Ok);
        assert_eq!(message.payload().unwrap(), b"payload");
        let after = message.xqh().unwrap().msg_desc;
        (after.appl_identity_data.text(), after.appl_origin_data.text())
    }

    #[tokio::test]
    async fn stamps_what_the_data_string_says() {
        let pair = |identity: &str, origin: &str| (identity.to_owned(), origin.to_owned());
        assert_eq!(stamped("", "").await, pair("GATE1", ""));
        assert_eq!(stamped("", "payroll").await, pair("payroll", ""));
        assert_eq!(stamped("overwrite=yes", "payroll").await, pair("GATE1", ""));
        assert_eq!(stamped("origin=GW1", "").await, pair("", "GW1"));
        assert_eq!(stamped("identity=\"VIA GATE1\" origin=GW1", "").await, pair("VIA GATE1", "GW1"));
    }

    #[test]
    fn mistakes_name_the_option() {
        let wrong = |data: &str| HeaderStamp::from_data(data).unwrap_err().to_string();
        assert_eq!(
            wrong("origin=GATE1"),
            "option origin of the exit's data: takes at most 4 ASCII characters"
        );
        assert!(wrong("overwrite=maybe").contains("overwrite"));
        assert!(wrong("text=a").contains("known are identity, origin, overwrite"));
    }

    #[tokio::test]
    async fn a_message_without_header_passes_unchanged() {
        let exit = HeaderStamp::from_data("").unwrap();
        let origin = Origin::new("XMITQ", Direction::FromMq);
        let mut cx = ExitContext::new(InitContext::new("", &[]), origin.clone());
        let mut message = ExitMessage::new(origin, Mqmd::default(), "XQH and then nothing");
        assert_eq!(exit.receive(&mut cx, &mut message).await.unwrap(), ExitResponse::Ok);
        assert_eq!(message.bytes(), b"XQH and then nothing");
    }
}
