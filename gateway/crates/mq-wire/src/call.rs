//! Calls: the API header and the bodies behind it (mq-wire.md 4). A body is read after the segments of its call were
//! joined; bytes after its end are padding and ignored (mq-wire-observed-base.md 2.2).

mod api_header;

pub use api_header::ApiHeader;
