//! The message that an exit sees, and typed views of its bytes. Byte order and code page are the views' concern.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use mq_wire::{Chars, Coding, DecodeError, FieldInfo, FormatName, Mqmd, Mqxqh, Reader, Writer};

use crate::Origin;

/// A message as the channel delivered it: the descriptor of the transmission queue, and bytes that start with the
/// MQXQH. Cheap to clone until it is changed.
#[derive(Debug, Clone)]
pub struct ExitMessage {
    origin: Origin,
    descriptor: Arc<Mqmd>,
    /// The bytes, which others may hold too; empty when there are own ones.
    shared: Bytes,
    /// Our own copy, once something was to be changed.
    own: Option<BytesMut>,
}

impl ExitMessage {
    /// A message from a transmission queue.
    pub fn new(origin: Origin, descriptor: Mqmd, bytes: impl Into<Bytes>) -> Self {
        Self { origin, descriptor: Arc::new(descriptor), shared: bytes.into(), own: None }
    }

    /// A message with a transmission header made for it, in our own coding: those of devices, and those of tests.
    pub fn wrap(origin: Origin, header: &Mqxqh, payload: &[u8]) -> Self {
        let coding = Coding::NATIVE;
        let mut bytes = BytesMut::with_capacity(Mqxqh::LENGTH + payload.len());
        let mut writer = Writer::new(&mut bytes, coding);
        header.encode(&mut writer);
        writer.raw(payload);
        // The fields that both descriptors have in common (mq-objects.md 1.7).
        let descriptor = Mqmd {
            version: 2,
            encoding: mq_wire::Encoding::NATIVE,
            ccsid: coding.ccsid,
            format: Self::transmission_format(),
            correl_id: header.msg_desc.msg_id.into(),
            ..header.msg_desc.clone()
        };
        Self::new(origin, descriptor, bytes.freeze())
    }

    /// MQFMT_XMIT_Q_HEADER: the format of a message that starts with an MQXQH.
    pub fn transmission_format() -> FormatName {
        Chars::cut("MQXMIT")
    }

    /// Where it came from.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The descriptor with which the message lay on the transmission queue; the message's own is
    /// [`Mqxqh::msg_desc`].
    pub fn descriptor(&self) -> &Mqmd {
        &self.descriptor
    }

    /// The same, to be changed. Its `encoding` and `ccsid` say how the views read the header.
    pub fn descriptor_mut(&mut self) -> &mut Mqmd {
        Arc::make_mut(&mut self.descriptor)
    }

    /// How the header is coded: byte order and code page that the descriptor announces.
    pub fn coding(&self) -> Coding {
        Coding::of(self.descriptor.encoding, self.descriptor.ccsid)
    }

    /// All bytes, from the MQXQH on.
    pub fn bytes(&self) -> &[u8] {
        self.own.as_deref().unwrap_or(&self.shared)
    }

    /// All bytes, to be changed. The first change copies them, so that the chain keeps the message as it came.
    pub fn bytes_mut(&mut self) -> &mut BytesMut {
        let shared = &mut self.shared;
        self.own.get_or_insert_with(|| std::mem::take(shared).into())
    }

    /// Whether the bytes start with the identifier of an MQXQH and are long enough for one.
    pub fn has_xqh(&self) -> bool {
        let reader = Reader::new(self.bytes(), self.coding());
        self.bytes().len() >= Mqxqh::LENGTH && reader.at_struc_id(Mqxqh::ID)
    }

    /// The transmission queue header.
    pub fn xqh(&self) -> Result<Mqxqh, DecodeError> {
        let mut reader = Reader::new(self.bytes(), self.coding());
        let header = Mqxqh::decode(&mut reader)?;
        // As a field of MQXQH a descriptor that is none reads as an empty one; here that is an error.
        let descriptor = &self.bytes()[Mqxqh::MSG_DESC_OFFSET..Mqxqh::LENGTH];
        Mqmd::decode(&mut Reader::new(descriptor, self.coding()))?;
        Ok(header)
    }

    /// The transmission queue header, to be changed: what was changed is written back when the view is dropped, and
    /// bytes of other fields stay exactly as they are.
    pub fn xqh_mut(&mut self) -> Result<XqhMut<'_>, DecodeError> {
        let before = self.xqh()?;
        Ok(XqhMut { header: before.clone(), before, message: self })
    }

    /// What follows the MQXQH: an MQMDE, if there is one, and the application's data.
    pub fn payload(&self) -> Result<&[u8], DecodeError> {
        let mut reader = Reader::new(self.bytes(), self.coding());
        if !self.has_xqh() {
            Mqxqh::decode(&mut reader)?;
        }
        Ok(&self.bytes()[Mqxqh::LENGTH..])
    }

    /// The same, to be changed.
    pub fn payload_mut(&mut self) -> Result<PayloadMut<'_>, DecodeError> {
        self.payload()?;
        Ok(PayloadMut { bytes: self.bytes_mut() })
    }

    /// How the payload is coded: byte order and code page that the message's own descriptor announces.
    pub fn payload_coding(&self) -> Result<Coding, DecodeError> {
        self.xqh().map(|header| Coding::of(header.msg_desc.encoding, header.msg_desc.ccsid))
    }

    /// Descriptor and bytes.
    pub fn into_parts(mut self) -> (Mqmd, Bytes) {
        self.share();
        (Arc::unwrap_or_clone(self.descriptor), self.shared)
    }

    /// Makes clones cheap again after a change.
    pub(crate) fn share(&mut self) {
        if let Some(own) = self.own.take() {
            self.shared = own.freeze();
        }
    }
}

/// The transmission queue header of a message, to be changed. Structure identifiers and versions are not.
#[derive(Debug)]
pub struct XqhMut<'a> {
    message: &'a mut ExitMessage,
    before: Mqxqh,
    header: Mqxqh,
}

impl XqhMut<'_> {
    /// Writes back what was changed, as dropping the view does.
    pub fn write_back(self) {}

    /// Forgets what was changed.
    pub fn discard(mut self) {
        self.header.clone_from(&self.before);
    }
}

impl Deref for XqhMut<'_> {
    type Target = Mqxqh;
    fn deref(&self) -> &Mqxqh {
        &self.header
    }
}

impl DerefMut for XqhMut<'_> {
    fn deref_mut(&mut self) -> &mut Mqxqh {
        &mut self.header
    }
}

impl Drop for XqhMut<'_> {
    fn drop(&mut self) {
        if self.header == self.before {
            return;
        }
        let coding = self.message.coding();
        let (before, after) = (encoded(&self.before, coding), encoded(&self.header, coding));
        let bytes = self.message.bytes_mut();
        // Field by field: what cannot be expressed in our tables of an EBCDIC page survives where nobody changed it.
        for range in changeable_fields() {
            if before[range.clone()] != after[range.clone()] {
                bytes[range.clone()].copy_from_slice(&after[range]);
            }
        }
    }
}

fn encoded(header: &Mqxqh, coding: Coding) -> BytesMut {
    let mut out = BytesMut::with_capacity(Mqxqh::LENGTH);
    header.encode(&mut Writer::new(&mut out, coding));
    out
}

/// The places of the two names and of the fields of the embedded descriptor in version 1.
fn changeable_fields() -> impl Iterator<Item = std::ops::Range<usize>> {
    let place =
        |base: usize| move |field: &FieldInfo| base + field.offset..base + field.offset + field.length;
    let names = Mqxqh::FIELDS.iter().filter(|field| field.version == 1 && field.name != "msg_desc");
    let descriptor = Mqmd::FIELDS.iter().filter(|field| field.version == 1);
    names.map(place(0)).chain(descriptor.map(place(Mqxqh::MSG_DESC_OFFSET)))
}

/// What follows the MQXQH, to be changed in place, replaced, shortened or made longer.
#[derive(Debug)]
pub struct PayloadMut<'a> {
    bytes: &'a mut BytesMut,
}

impl PayloadMut<'_> {
    /// Puts other bytes in its place.
    pub fn replace(&mut self, payload: &[u8]) {
        self.bytes.truncate(Mqxqh::LENGTH);
        self.bytes.extend_from_slice(payload);
    }

    /// Shortens it.
    pub fn truncate(&mut self, length: usize) {
        self.bytes.truncate(Mqxqh::LENGTH.saturating_add(length));
    }

    /// Makes it longer.
    pub fn append(&mut self, more: &[u8]) {
        self.bytes.extend_from_slice(more);
    }
}

impl Deref for PayloadMut<'_> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes[Mqxqh::LENGTH..]
    }
}

impl DerefMut for PayloadMut<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[Mqxqh::LENGTH..]
    }
}

#[cfg(test)]
mod tests {
    use mq_wire::{ByteOrder, Ccsid, Encoding, QMgrName, QName};

    use super::*;
    use crate::Direction;

    const EBCDIC: Ccsid = Ccsid(500);

    fn message(encoding: Encoding, ccsid: Ccsid) -> ExitMessage {
        let header = Mqxqh {
            remote_q_name: QName::new("INBOX").unwrap(),
            remote_q_mgr_name: QMgrName::new("DEV1").unwrap(),
            msg_desc: Mqmd { priority: 5, ccsid: Ccsid::UTF_8, ..Mqmd::default() },
            ..Mqxqh::default()
        };
        let mut bytes = encoded(&header, Coding::of(encoding, ccsid));
        bytes.extend_from_slice(b"data");
        let format = ExitMessage::transmission_format();
        let descriptor = Mqmd { encoding, ccsid, format, ..Mqmd::default() };
        ExitMessage::new(Origin::new("XMITQ", Direction::FromMq), descriptor, bytes.freeze())
    }

    #[test]
    fn views_read_and_write_every_coding() {
        for (encoding, ccsid) in [
            (Encoding::BIG, Ccsid::LATIN_1),
            (Encoding::LITTLE, Ccsid::UTF_8),
            (Encoding::BIG, EBCDIC),
            (Encoding::LITTLE, EBCDIC),
        ] {
            let mut message = message(encoding, ccsid);
            let before = message.clone();
            let mut header = message.xqh_mut().unwrap();
            assert_eq!(header.remote_q_name.to_string(), "INBOX");
            assert_eq!(header.msg_desc.priority, 5);
            header.remote_q_name = QName::new("OUTBOX").unwrap();
            header.msg_desc.priority = 7;
            header.write_back();
            let after = message.xqh().unwrap();
            assert_eq!((after.remote_q_name.to_string().as_str(), after.msg_desc.priority), ("OUTBOX", 7));
            assert_eq!(message.payload().unwrap(), b"data");
            assert_eq!(message.payload_coding().unwrap().ccsid, Ccsid::UTF_8);
            assert_eq!(before.xqh().unwrap().remote_q_name.to_string(), "INBOX", "the clone is as it came");
        }
    }

    #[test]
    fn bytes_of_fields_that_nobody_changed_stay() {
        let mut message = message(Encoding::BIG, EBCDIC);
        // No character of our tables, in UserIdentifier of the embedded descriptor.
        let user_identifier = Mqxqh::MSG_DESC_OFFSET + 196;
        message.bytes_mut()[user_identifier] = 0xB7;
        let before = message.bytes().to_vec();
        message.xqh_mut().unwrap().msg_desc.priority = 7;
        message.xqh_mut().unwrap().discard();
        let changed: Vec<usize> =
            (0..before.len()).filter(|at| before[*at] != message.bytes()[*at]).collect();
        let priority = Mqxqh::MSG_DESC_OFFSET + 40;
        assert_eq!(changed, [priority + 3]);
        let mut header = message.xqh_mut().unwrap();
        header.msg_desc.priority = 1;
        header.discard();
        assert_eq!(message.xqh().unwrap().msg_desc.priority, 7);
    }

    #[test]
    fn what_is_no_header_is_an_error_and_never_a_panic() {
        let whole = message(Encoding::BIG, Ccsid::LATIN_1);
        for length in 0..Mqxqh::LENGTH {
            let bytes = Bytes::copy_from_slice(&whole.bytes()[..length]);
            let mut short = ExitMessage::new(whole.origin().clone(), whole.descriptor().clone(), bytes);
            assert!(short.xqh().is_err() && short.payload().is_err() && !short.has_xqh());
            assert!(short.xqh_mut().is_err() && short.payload_mut().is_err());
        }
        let mut broken = whole.clone();
        broken.bytes_mut()[Mqxqh::MSG_DESC_OFFSET] = b'?';
        assert_eq!(broken.xqh().unwrap_err().structure, "MQMD");
        let mut other = whole;
        other.bytes_mut()[0] = b'?';
        assert!(other.payload().is_err());
    }

    #[test]
    fn payload_is_changed_replaced_and_cut() {
        let mut message = message(Encoding::BIG, Ccsid::LATIN_1);
        let mut payload = message.payload_mut().unwrap();
        payload.make_ascii_uppercase();
        payload.append(b"!");
        assert_eq!(&*payload, b"DATA!");
        payload.truncate(2);
        assert_eq!(message.payload().unwrap(), b"DA");
        message.payload_mut().unwrap().replace(b"other");
        assert_eq!(message.payload().unwrap(), b"other");
        assert!(message.has_xqh());
    }

    #[test]
    fn a_wrapped_message_reads_as_it_was_given() {
        let header = Mqxqh { remote_q_name: QName::new("Q").unwrap(), ..Mqxqh::default() };
        let message = ExitMessage::wrap(Origin::new("DEV1", Direction::FromDevice), &header, b"x");
        assert_eq!(message.xqh().unwrap(), header);
        assert_eq!(message.coding().order, ByteOrder::Little);
        let (descriptor, bytes) = message.into_parts();
        assert_eq!((descriptor.format.text().as_str(), bytes.len()), ("MQXMIT", 429));
    }
}
