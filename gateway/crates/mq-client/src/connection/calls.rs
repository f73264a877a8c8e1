//! One method for each verb. What cannot be carried as it is meant is refused before anything is sent.

use std::time::Duration;

use bytes::Bytes;
use mq_channel::{AsyncPuts, ClientEvent, Reply, Request};
use mq_wire::{
    CloseOptions, CompCode, GetOptions, Mqgmo, Mqmd, Mqod, Mqpmo, OpenOptions, PutOptions, Reason, Selector,
};

use super::Connection;
use super::pump::now;
use crate::check;
use crate::error::ClientError;
use crate::results::{Got, Inquired, Opened, Put};

/// MQSTAT_TYPE_ASYNC_ERROR (mq-wire-observed-base.md 4.2).
const STAT_ASYNC_ERROR: u32 = 0;

/// MQRC_OUTCOME_PENDING.
const OUTCOME_PENDING: Reason = Reason(2124);

/// The buffer that a get of unknown length begins with, as IBM's client does (mq-wire.md 4.8): most messages fit, and no
/// queue manager is asked to hold the longest message ready.
const FIRST_BUFFER_BYTES: u32 = 4096;

impl Connection {
    /// MQOPEN.
    pub async fn open(&mut self, od: Mqod, options: OpenOptions) -> Result<Opened, ClientError> {
        let od = self.checked("MQOPEN", check::od(od, self.terms.fap_level))?;
        match self.call(Request::Open { od: Box::new(od), options }).await? {
            Reply::Open { reason, handle, od, defaults, .. } => {
                Ok(Opened { handle, reason, od: *od, defaults })
            }
            _ => Err(self.unexpected()),
        }
    }

    /// MQCLOSE. A warning says what was left unfinished: the handle is closed all the same.
    pub async fn close(&mut self, handle: i32, options: CloseOptions) -> Result<Reason, ClientError> {
        self.call(Request::Close { handle, options }).await.map(|reply| reply.outcome().1)
    }

    /// MQPUT. With a warning the message was put all the same.
    ///
    /// With `PutOptions::ASYNC_RESPONSE`, and a queue manager that agreed to it, nobody waits for the answer: see
    /// [`Put::answered`]. Without that option the answer is awaited, whatever DEFPRESP of the queue says.
    pub async fn put(&mut self, handle: i32, md: Mqmd, pmo: Mqpmo, data: Bytes) -> Result<Put, ClientError> {
        self.put_any(None, handle, md, pmo, data).await
    }

    /// MQPUT1. Otherwise like [`put`](Self::put).
    pub async fn put1(&mut self, od: Mqod, md: Mqmd, pmo: Mqpmo, data: Bytes) -> Result<Put, ClientError> {
        let od = self.checked("MQPUT1", check::od(od, self.terms.fap_level))?;
        self.put_any(Some(Box::new(od)), 0, md, pmo, data).await
    }

    /// MQGET; `None` if no message fits, or none came while it waited (2033). How long it waits is in `gmo`
    /// (`GetOptions::WAIT` and `wait_interval`), and the answer is awaited at least as long.
    ///
    /// A message longer than `buffer_length` is an error and stays on its queue, unless `gmo` has
    /// `ACCEPT_TRUNCATED_MSG`.
    pub async fn get(
        &mut self,
        handle: i32,
        md: Mqmd,
        gmo: Mqgmo,
        buffer_length: u32,
    ) -> Result<Option<Got>, ClientError> {
        let gmo = self.checked("MQGET", check::gmo(gmo, self.terms.fap_level))?;
        match self.call(Request::Get { handle, md, gmo, buffer_length }).await {
            Ok(Reply::Get { reason, md, gmo, total_length, data, .. }) => {
                if reason != Reason::TRUNCATED_MSG_FAILED {
                    return Ok(Some(Got { reason, md, gmo, total_length, data }));
                }
                // A longer buffer would not help: no longer one is ever asked for.
                if total_length > self.terms.max_msg_length {
                    let (length, max) = (total_length as usize, self.terms.max_msg_length);
                    return Err(ClientError::TooLongForChannel { length, max });
                }
                let start = Box::new(Got { reason, md, gmo, total_length, data });
                Err(ClientError::TooLongForBuffer { total_length, start })
            }
            Ok(_) => Err(self.unexpected()),
            Err(ClientError::Call { reason: Reason::NO_MSG_AVAILABLE, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// MQGET of a message whatever its length: it begins with a short buffer and comes back with a longer one after
    /// 2080. The whole waits no longer than `gmo` says. In between others may take the message, and the next one comes;
    /// a browse that ends in 2080 has not moved the cursor (mq-wire-observed-base.md 4.1).
    pub async fn get_whole(&mut self, handle: i32, md: Mqmd, gmo: Mqgmo) -> Result<Option<Got>, ClientError> {
        let interval =
            u64::try_from(gmo.wait_interval).ok().filter(|_| gmo.options.contains(GetOptions::WAIT));
        let until = interval.map(|milliseconds| now() + Duration::from_millis(milliseconds));
        let mut gmo = gmo;
        let mut buffer_length = FIRST_BUFFER_BYTES;
        loop {
            match self.get(handle, md.clone(), gmo.clone(), buffer_length).await {
                Err(ClientError::TooLongForBuffer { total_length, .. }) if total_length > buffer_length => {
                    buffer_length = total_length;
                }
                other => return other,
            }
            if let Some(until) = until {
                let left = until.saturating_duration_since(now()).as_millis();
                gmo.wait_interval = i32::try_from(left).unwrap_or(i32::MAX);
            }
        }
    }

    /// MQINQ. `char_length` is the sum of the lengths of the character attributes.
    pub async fn inquire(
        &mut self,
        handle: i32,
        selectors: Vec<Selector>,
        char_length: u32,
    ) -> Result<Inquired, ClientError> {
        // MQIA_*: up to 2000; MQCA_*: above (mq-wire.md 10.4).
        let ints = selectors.iter().filter(|selector| selector.0 <= 2000).count();
        let int_count = u32::try_from(ints).unwrap_or(u32::MAX);
        match self.call(Request::Inquire { handle, selectors, int_count, char_length }).await? {
            Reply::Inquire { reason, ints, chars, .. } => Ok(Inquired { reason, ints, chars }),
            _ => Err(self.unexpected()),
        }
    }

    /// MQSET: integers and characters (ISO 8859-1, each attribute with its fixed length) in the order of their
    /// selectors. Gives the warning, or NONE.
    pub async fn set(
        &mut self,
        handle: i32,
        selectors: Vec<Selector>,
        ints: Vec<i32>,
        chars: Vec<u8>,
    ) -> Result<Reason, ClientError> {
        let request = Request::Set { handle, selectors, ints, chars };
        self.call(request).await.map(|reply| reply.outcome().1)
    }

    /// MQSTAT: what became of puts that were not answered since it was asked last.
    pub async fn stat(&mut self) -> Result<AsyncPuts, ClientError> {
        match self.call(Request::Stat { kind: STAT_ASYNC_ERROR }).await? {
            Reply::Stat { puts, .. } => Ok(puts),
            _ => Err(self.unexpected()),
        }
    }

    /// MQCMIT. If the connection breaks meanwhile, nobody knows whether the unit of work was committed
    /// ([`ClientError::OutcomeUnknown`]); if the queue manager backed it out instead, that is an error (2003).
    pub async fn commit(&mut self) -> Result<(), ClientError> {
        self.decide(Request::Commit).await
    }

    /// MQBACK.
    pub async fn back(&mut self) -> Result<(), ClientError> {
        self.decide(Request::Back).await
    }

    /// MQDISC, which **commits** an open unit of work, and the end of the socket. To back out, call
    /// [`back`](Self::back) first, or drop the connection.
    pub async fn disconnect(mut self) -> Result<(), ClientError> {
        let outcome = self.decide(Request::Disconnect).await;
        if matches!(outcome, Ok(()) | Err(ClientError::Call { .. })) {
            self.flush_end().await;
        }
        outcome
    }

    /// A call that ends a unit of work. Its warnings are about that unit of work: it was not done as asked (2003), or
    /// nobody can say yet (2124).
    async fn decide(&mut self, request: Request) -> Result<(), ClientError> {
        let call = request.name();
        match self.call(request).await?.outcome() {
            (CompCode::WARNING, reason) if [Reason::BACKED_OUT, OUTCOME_PENDING].contains(&reason) => {
                Err(ClientError::Call { call, reason })
            }
            _ => Ok(()),
        }
    }

    async fn put_any(
        &mut self,
        od: Option<Box<Mqod>>,
        handle: i32,
        md: Mqmd,
        pmo: Mqpmo,
        data: Bytes,
    ) -> Result<Put, ClientError> {
        let call = if od.is_some() { "MQPUT1" } else { "MQPUT" };
        let pmo = self.checked(call, check::pmo(pmo, self.terms.fap_level))?;
        if self.terms.unanswered_puts && check::may_be_unanswered(&md, &pmo) {
            // Without ids of our own the caller would never learn them, so the answer is awaited.
            if let Some((md, pmo)) = self.with_ids(&md, &pmo).await? {
                let request = put_request(od.clone(), handle, md.clone(), pmo.clone(), data);
                self.tell(call, request).await?;
                return Ok(Put { reason: Reason::NONE, answered: false, od, md, pmo });
            }
        }
        self.put_awaited(od, handle, md, pmo, data).await
    }

    async fn put_awaited(
        &mut self,
        od: Option<Box<Mqod>>,
        handle: i32,
        md: Mqmd,
        pmo: Mqpmo,
        data: Bytes,
    ) -> Result<Put, ClientError> {
        match self.call(put_request(od, handle, md, pmo, data)).await? {
            Reply::Put { reason, md, pmo, .. } => Ok(Put { reason, answered: true, od: None, md, pmo }),
            Reply::Put1 { reason, od, md, pmo, .. } => {
                Ok(Put { reason, answered: true, od: Some(od), md, pmo })
            }
            _ => Err(self.unexpected()),
        }
    }

    /// Ids where the queue manager would make them, from those that it reserved for us; `None` if it reserves none.
    async fn with_ids(&mut self, md: &Mqmd, pmo: &Mqpmo) -> Result<Option<(Mqmd, Mqpmo)>, ClientError> {
        let new_msg_id = pmo.options.contains(PutOptions::NEW_MSG_ID) || md.msg_id.is_none();
        let new_correl_id = pmo.options.contains(PutOptions::NEW_CORREL_ID);
        let wanted = u32::from(new_msg_id) + u32::from(new_correl_id);
        if !self.ids.has(wanted) {
            match self.exchange("SPI RESERVE", Request::Reserve).await? {
                ClientEvent::Reserved { ids, .. } => self.ids = ids.into(),
                // Refused.
                ClientEvent::Reply { .. } => return Ok(None),
                _ => return Err(self.unexpected()),
            }
        }
        let (mut md, mut pmo) = (md.clone(), pmo.clone());
        if new_msg_id {
            let Some(id) = self.ids.next() else { return Ok(None) };
            md.msg_id = id;
        }
        if new_correl_id {
            let Some(id) = self.ids.next() else { return Ok(None) };
            md.correl_id = id.into();
        }
        pmo.options -= PutOptions::NEW_MSG_ID | PutOptions::NEW_CORREL_ID;
        Ok(Some((md, pmo)))
    }

    fn checked<T>(&self, call: &'static str, checked: Result<T, Reason>) -> Result<T, ClientError> {
        checked.map_err(|reason| ClientError::Call { call, reason })
    }
}

fn put_request(od: Option<Box<Mqod>>, handle: i32, md: Mqmd, pmo: Mqpmo, data: Bytes) -> Request {
    match od {
        Some(od) => Request::Put1 { od, md, pmo, data },
        None => Request::Put { handle, md, pmo, data },
    }
}
