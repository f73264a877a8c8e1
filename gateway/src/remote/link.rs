//! A connection to the queue manager of a source: made, checked and introduced; and what errors on it mean for the source.

use mq_client::{ClientError, Connection};
use mq_wire::{CloseOptions, Mqod, ObjectName, ObjectType, OpenOptions, QMgrName, QName, Reason, Selector};

use super::settings::RemoteSettings;
use crate::net;

/// A connection, and who is at its other end.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) connection: Connection,
    pub(crate) q_mgr: QMgrName,
    /// The queue manager's identifier: never that of another one, also not of a copy with the same name.
    pub(crate) q_mgr_id: String,
    pub(crate) dead_letter_queue: Option<QName>,
    /// Where it is.
    pub(crate) address: String,
}

/// Why something could not be done on a connection.
#[derive(Debug)]
pub(crate) enum Failed {
    /// The connection is gone, or the queue manager is going: connect again later.
    Gone(String),
    /// The call was refused; the connection is good.
    Refused(Reason, String),
    /// Whether the unit of work was committed is not known: connect again, and look.
    Unknown(String),
}

impl Failed {
    /// The same for a put in a unit of work: one that was backed out is not the message's fault, and what was put before
    /// it is gone too. The whole unit is done again on a new connection.
    pub(crate) fn in_unit(self) -> Self {
        match self {
            Self::Refused(Reason::BACKED_OUT, why) => Self::Gone(why),
            other => other,
        }
    }

    /// The same for people.
    pub(crate) fn why(&self) -> &str {
        match self {
            Self::Gone(why) | Self::Refused(_, why) | Self::Unknown(why) => why,
        }
    }
}

impl From<ClientError> for Failed {
    fn from(error: ClientError) -> Self {
        let (reason, why) = (error.reason(), error.to_string());
        match error {
            ClientError::OutcomeUnknown { .. } => Self::Unknown(why),
            // Controlled and immediate shutdown: what is asked now and later ends like that (mq-objects.md 2.2).
            _ if is_ending(reason) => Self::Gone(why),
            ClientError::Call { reason, .. } => Self::Refused(reason, why),
            ClientError::TooLongForChannel { .. } => Self::Refused(reason, why),
            _ => Self::Gone(why),
        }
    }
}

/// Whether a reason says that the queue manager or the connection ends.
fn is_ending(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::Q_MGR_QUIESCING
            | Reason::Q_MGR_STOPPING
            | Reason::CONNECTION_QUIESCING
            | Reason::CONNECTION_STOPPING
            | Reason::CONNECTION_BROKEN
    )
}

impl Link {
    /// Connects to the first address that answers and has the right queue manager. The error names all that were tried.
    pub(crate) async fn connect(settings: &RemoteSettings) -> Result<Self, String> {
        let mut wrong = Vec::new();
        for address in &settings.addresses {
            let options = settings.connect_options(address);
            let connected = match net::connect(&options).await {
                Ok(connection) => Self::introduced(connection, address.to_string()).await,
                Err(error) => Err(error.to_string()),
            };
            match connected {
                Ok(link) if settings.q_mgr.is_none_or(|wanted| wanted == link.q_mgr) => return Ok(link),
                Ok(link) => {
                    let wanted = settings.q_mgr.unwrap_or_default();
                    wrong.push(format!("{address}: the queue manager is {}, not {wanted}", link.q_mgr));
                }
                Err(why) => wrong.push(format!("{address}: {why}")),
            }
        }
        Err(wrong.join("; "))
    }

    async fn introduced(mut connection: Connection, address: String) -> Result<Self, String> {
        let od = Mqod { object_type: ObjectType::Q_MGR, ..Mqod::default() };
        let asking = OpenOptions::INQUIRE | OpenOptions::FAIL_IF_QUIESCING;
        let asked = async {
            let object = connection.open(od, asking).await?;
            let selectors = vec![Selector::CA_DEAD_LETTER_Q_NAME, Selector::CA_Q_MGR_IDENTIFIER];
            let found = connection.inquire(object.handle, selectors, 96).await?;
            connection.close(object.handle, CloseOptions::empty()).await?;
            Ok::<_, ClientError>(found)
        };
        let found = asked.await.map_err(|error| {
            format!("its attributes cannot be inquired (the user needs +inq on the queue manager): {error}")
        })?;
        let text =
            |range| found.chars.get(range).map(|bytes| String::from_utf8_lossy(bytes).trim_end().to_owned());
        let dead_letter_queue = text(0..48).filter(|name| !name.is_empty());
        let dead_letter_queue = dead_letter_queue.and_then(|name| QName::new(&name).ok());
        let q_mgr_id = text(48..96).filter(|id| !id.is_empty()).ok_or("it has no identifier")?;
        let q_mgr = connection.qmgr_name();
        Ok(Self { connection, q_mgr, q_mgr_id, dead_letter_queue, address })
    }

    /// MQOPEN of a queue.
    pub(crate) async fn open(&mut self, queue: QName, options: OpenOptions) -> Result<i32, Failed> {
        let od = Mqod { object_name: ObjectName::from(queue), ..Mqod::default() };
        let opened = self.connection.open(od, options | OpenOptions::FAIL_IF_QUIESCING).await;
        opened.map(|opened| opened.handle).map_err(|error| match Failed::from(error) {
            Failed::Refused(reason, why) => Failed::Refused(reason, format!("{queue}: {why}")),
            other => other,
        })
    }
}
