//! MQXQH, the transmission queue header (mq-wire.md 5.6, mq-objects.md 1.7).

use crate::{Mqmd, QMgrName, QName};

wire_struct! {
    /// The transmission queue header: where a message goes, and its own descriptor in version 1.
    pub struct Mqxqh, "MQXQH", id b"XQH ", initial version 1 {
        version 1, length 428 {
            /// The queue at its destination.
            remote_q_name: QName = QName::BLANK,
            /// The queue manager of its destination.
            remote_q_mgr_name: QMgrName = QMgrName::BLANK,
            /// The descriptor of the message, always version 1.
            msg_desc: Mqmd = Mqmd::default(),
        }
    }
}

impl Mqxqh {
    /// Length of the header with the embedded descriptor.
    pub const LENGTH: usize = 428;
    /// Offset of the embedded descriptor.
    pub const MSG_DESC_OFFSET: usize = 104;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ByteOrder, Ccsid, Coding, DecodeErrorKind, Reader, Writer};

    const EBCDIC: Coding = Coding { order: ByteOrder::Big, ccsid: Ccsid(500) };

    fn written(coding: Coding) -> bytes::BytesMut {
        let mut out = bytes::BytesMut::new();
        Mqxqh::default().encode(&mut Writer::new(&mut out, coding));
        assert_eq!(out.len(), Mqxqh::LENGTH);
        out
    }

    #[test]
    fn a_bad_embedded_descriptor_is_refused_where_it_is_bad() {
        for coding in [Coding::NATIVE, EBCDIC] {
            let mut bytes = written(coding);
            bytes[104] = 0;
            let error = Mqxqh::decode(&mut Reader::new(&bytes, coding)).unwrap_err();
            assert_eq!((error.structure, error.field, error.offset), ("MQMD", "StrucId", 104));
        }
        let mut bytes = written(Coding::NATIVE);
        bytes[108] = 2;
        let error = Mqxqh::decode(&mut Reader::new(&bytes, Coding::NATIVE)).unwrap_err();
        assert_eq!((error.structure, error.field, error.offset), ("MQMD", "Version", 108));
        assert_eq!(error.kind, DecodeErrorKind::Version { found: 2 });
    }

    #[test]
    fn the_embedded_descriptor_is_always_version_1() {
        let version_2 = Mqmd { version: 2, priority: 4, ..Mqmd::default() };
        let xqh = Mqxqh { msg_desc: version_2, ..Mqxqh::default() };
        let mut out = bytes::BytesMut::new();
        xqh.encode(&mut Writer::new(&mut out, Coding::NATIVE));
        assert_eq!(out.len(), Mqxqh::LENGTH);
        let read = Mqxqh::decode(&mut Reader::new(&out, Coding::NATIVE)).unwrap();
        assert_eq!((read.msg_desc.version, read.msg_desc.priority), (1, 4));
    }
}
