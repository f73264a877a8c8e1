//! Bodies of calls and of replies, part by part, and the small comforts a script wants: a message descriptor with
//! something in every field, its expectation, an object that opens.

use crate::coding::Coding;
use crate::conversation::{Call, Conversation};
use crate::layout::Fields;
use crate::setting::QUEUE_MANAGER;
use crate::structures::{FOPA, GMO, MD, OD, PMO, STS};

/// A request's body, read from the front. Whatever is left at the end is a fault, the padding of a shared socket apart.
pub(crate) struct Parts<'a> {
    rest: &'a [u8],
    coding: Coding,
    padding: usize,
}

impl Call {
    pub(crate) fn parts(&self, conversation: &Conversation) -> Parts<'_> {
        Parts { rest: &self.body, coding: self.coding, padding: if conversation.shared { 3 } else { 0 } }
    }
}

impl<'a> Parts<'a> {
    pub(crate) fn od(&mut self) -> Fields {
        self.structure(&OD)
    }

    pub(crate) fn md(&mut self) -> Fields {
        self.structure(&MD)
    }

    pub(crate) fn pmo(&mut self) -> Fields {
        self.structure(&PMO)
    }

    pub(crate) fn gmo(&mut self) -> Fields {
        self.structure(&GMO)
    }

    pub(crate) fn sts(&mut self) -> Fields {
        self.structure(&STS)
    }

    pub(crate) fn number(&mut self) -> u32 {
        self.coding.read_u32(self.bytes(4))
    }

    pub(crate) fn numbers(&mut self, count: u32) -> Vec<u32> {
        (0..count).map(|_| self.number()).collect()
    }

    pub(crate) fn text(&mut self, length: usize) -> String {
        let coding = self.coding;
        coding.text(self.bytes(length))
    }

    pub(crate) fn bytes(&mut self, length: usize) -> &'a [u8] {
        assert!(self.rest.len() >= length, "{length} bytes of {}", self.rest.len());
        let (part, rest) = self.rest.split_at(length);
        self.rest = rest;
        part
    }

    /// FOPA at the end of MQOPEN, which may be left out (mq-wire.md 4.4).
    pub(crate) fn fopa(&mut self) -> Option<Fields> {
        (self.rest.len() >= 28).then(|| self.structure(&FOPA))
    }

    pub(crate) fn end(self) {
        assert!(self.rest.len() <= self.padding, "{} bytes that nobody reads", self.rest.len());
    }

    fn structure(&mut self, layout: &crate::layout::Layout) -> Fields {
        let (fields, length) = layout.read(self.rest, self.coding);
        self.rest = &self.rest[length..];
        fields
    }
}

/// Selectors, integers and characters of MQINQ and MQSET (mq-wire.md 4.9).
pub(crate) struct Attributes {
    pub(crate) selectors: Vec<u32>,
    pub(crate) integers: u32,
    pub(crate) chars: u32,
}

impl Parts<'_> {
    pub(crate) fn selectors(&mut self) -> Attributes {
        let (count, integers, chars) = (self.number(), self.number(), self.number());
        Attributes { selectors: self.numbers(count), integers, chars }
    }
}

impl Attributes {
    /// The start of the reply: counts and selectors again.
    pub(crate) fn echo(&self, coding: Coding) -> Vec<u8> {
        let mut bytes = Vec::new();
        for number in [self.selectors.len() as u32, self.integers, self.chars] {
            bytes.extend(coding.u32(number));
        }
        self.selectors.iter().for_each(|selector| bytes.extend(coding.u32(*selector)));
        bytes
    }
}

/// A descriptor with a value of its own in every field, as a queue manager gives it to a get.
pub(crate) fn full_md(version: u32) -> Fields {
    let md = Fields::new(version)
        .set("Report", 0x0100_0840)
        .set("MsgType", 1)
        .set("Expiry", 1234)
        .set("Feedback", 275)
        .set("Encoding", 785)
        .set("CodedCharSetId", 850)
        .set("Format", "MQSTR")
        .set("Priority", 7)
        .set("Persistence", 1)
        .set("MsgId", *b"AMQ QM.PEER     \x11\x12\x13\x14\x15\x16\x17\x18")
        .set("CorrelId", *b"\xFEthe correlation id.....")
        .set("BackoutCount", 3)
        .set("ReplyToQ", "REPLY.Q")
        .set("ReplyToQMgr", "QM.REPLY")
        .set("UserIdentifier", "alice")
        .set("AccountingToken", *b"\x16\x01\x05accounting token of the app\x00\x0B")
        .set("ApplIdentityData", "identity data")
        .set("PutApplType", 28)
        .set("PutApplName", "demo.Main")
        .set("PutDate", "20260102")
        .set("PutTime", "03040567")
        .set("ApplOriginData", "ORIG");
    match version {
        1 => md,
        _ => md
            .set("GroupId", *b"the group id of 24 bytes")
            .set("MsgSeqNumber", 4)
            .set("Offset", 8192)
            .set("MsgFlags", 0x1B)
            .set("OriginalLength", 100_000),
    }
}

impl Conversation {
    /// Answers an MQOPEN well: the structures as received, names resolved, a handle (mq-wire.md 4.4).
    pub(crate) async fn answer_open(&mut self, call: &Call, handle: u32) -> (Fields, u32) {
        let coding = self.coding();
        let mut parts = call.parts(self);
        let od = parts.od();
        let options = parts.number();
        let fopa = parts.fopa();
        parts.end();
        let mut reply = match od.version {
            1 => od.clone(),
            2 => od.clone().set("KnownDestCount", 1),
            _ => od
                .clone()
                .set("KnownDestCount", 1)
                .set("ResolvedQName", od.text("ObjectName").to_owned().as_str())
                .set("ResolvedQMgrName", QUEUE_MANAGER),
        };
        if od.text("ObjectName").ends_with("MODEL.QUEUE") {
            reply = reply.set("ObjectName", "AMQ.69A1B2C3D4");
        }
        let mut body = [OD.write(&reply, coding), coding.u32(options).to_vec()].concat();
        if let Some(fopa) = fopa {
            let fopa = fopa.set("DefPutResponseType", 1).set("PropertyControl", 0).set("DefReadAhead", 2);
            body.extend(FOPA.write(&fopa.set("DefPersistence", 1), coding));
        }
        self.reply(call, (0, 0), handle, &body).await;
        (od, options)
    }

    /// Opens the next object the client asks for, and says nothing about it.
    pub(crate) async fn opened(&mut self, handle: u32) -> (Fields, u32) {
        let call = self.call(0x83).await;
        self.answer_open(&call, handle).await
    }

    /// Answers MQPUT or MQPUT1 (without the MQOD, which the caller gives): MQMD, MQPMO, length.
    pub(crate) async fn answer_put(
        &mut self,
        call: &Call,
        codes: (u32, u32),
        od: Option<&Fields>,
        put: &Put,
        md: &Fields,
    ) {
        let coding = self.coding();
        let mut body = od.map(|od| OD.write(od, coding)).unwrap_or_default();
        let pmo = put.pmo.clone().set("KnownDestCount", 1);
        let pmo = pmo.set("ResolvedQName", "RESOLVED.Q").set("ResolvedQMgrName", "QM.RESOLVED");
        body.extend(MD.write(md, coding));
        body.extend(PMO.write(&pmo, coding));
        body.extend(coding.u32(put.data.len() as u32));
        self.reply(call, codes, call.handle, &body).await;
    }

    /// The body of an MQGET reply: `delivered` of the bytes of a message that is `length` long.
    pub(crate) fn got(&self, md: &Fields, gmo: &Fields, length: usize, delivered: &[u8]) -> Vec<u8> {
        let coding = self.coding();
        let mut body = MD.write(md, coding);
        body.extend(GMO.write(gmo, coding));
        body.extend(coding.u32(length as u32));
        body.extend(delivered);
        body
    }
}

/// What MQPUT and MQPUT1 bring after the MQOD.
#[derive(Debug)]
pub(crate) struct Put {
    pub(crate) md: Fields,
    pub(crate) pmo: Fields,
    pub(crate) data: Vec<u8>,
}

impl Parts<'_> {
    pub(crate) fn put(mut self) -> Put {
        let (md, pmo) = (self.md(), self.pmo());
        let length = self.number() as usize;
        let data = self.bytes(length).to_vec();
        self.end();
        Put { md, pmo, data }
    }
}
