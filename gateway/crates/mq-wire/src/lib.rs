//! MQ as bytes: structures, constants, names, code pages and transport segments. No I/O, no clock.
//!
//! A structure is declared once with [`wire_struct!`] and a family of codes once with [`constants!`]; type, codec,
//! offsets, defaults and documentation follow from the declaration. What a structure *means* is for the queue
//! manager and the channels to say; this crate refuses only what cannot be read.
//!
//! From a socket: [`SegmentHeader::peek`] cuts segments out of the stream, the channel joins those of one call,
//! [`Body::decode`] reads the joined body, and [`Call`] has the call's structures. The way back is [`Body::encode`]
//! (or that of the structure) and [`encode_segment`].

#[macro_use]
mod macros;

mod ccsid;
mod chars;
mod codec;
mod constants;
mod convert;
mod ids;
mod options;

mod dlh;
mod gmo;
mod md;
mod mde;
mod od;
mod pmo;
mod rfh2;
mod tm;
mod xqh;

mod body;
mod call;
mod segment;

#[doc(hidden)]
pub mod fuzz;
#[doc(hidden)]
pub mod samples;

pub use body::Body;
pub use call::{
    ApiHeader, AttributesBody, Call, CloseBody, ConnectBody, ConnectOptionsPart, Fcno, Fopa, GetBody,
    GetReplyBody, InquireBody, Lpoo, Mqsts, OpenBody, Put1Body, Put1ReplyBody, PutBody, PutReplyBody,
    SpiBody, SpiCall, SpiCapability, SpiHeader, SpiOpen, SpiQuery, SpiReserve, SpiVerb, StatBody,
};
pub use ccsid::{Converter, EbcdicNewline, InvalidText, UnknownCcsid, decode_text, encode_text};
pub use chars::{
    ApplName, ChannelName, Chars, FormatName, NameError, ObjectName, QMgrName, QName, UserId, is_name_byte,
};
pub use codec::{
    ByteOrder, Ccsid, Coding, DecodeError, DecodeErrorKind, Encoding, Field, FieldInfo, Reader, Secret,
    Writer,
};
pub use constants::{ApplType, CompCode, Feedback, MsgType, ObjectType, Persistence, Reason, Selector};
pub use convert::{Converted, Described, Wanted, convert_message};
pub use dlh::Mqdlh;
pub use gmo::Mqgmo;
pub use ids::{AccountingToken, CorrelId, GroupId, MsgId, MsgToken};
pub use md::Mqmd;
pub use mde::Mqmde;
pub use od::{Mqcharv, Mqod};
pub use options::{
    CloseOptions, ConnectOptions, GetOptions, MatchOptions, MessageFlags, OpenOptions, PutOptions,
    ReportOptions,
};
pub use pmo::Mqpmo;
pub use rfh2::{
    Folder, FolderError, Mqrfh2, Properties, Property, PropertyControl, PropertyNameError, PropertyValue,
    behind_properties, check_folders, check_property_name, deliver, properties_length, properties_of,
    rfh2_of, without_properties,
};
pub use segment::{
    CapFlags1, CapFlags2, CapFlags3, ConnAuth, ControlFlags1, ControlFlags2, ErrFlags1, ErrFlags2,
    InitialData, SegmentHeader, SegmentKind, SegmentType, SocketAction, SocketActionType, Status, StatusCode,
    UserIdData, encode_segment,
};
pub use tm::Mqtm;
pub use xqh::Mqxqh;
