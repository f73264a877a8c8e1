//! UID, who the client says it is (mq-wire.md 3.5). No answer is sent to it.

use crate::{Chars, Secret, UserId};

sized_struct! {
    /// The user identification; 28 bytes below FAP 5, 132 since.
    pub struct UserIdData, "UID", id b"UID ", least 28, whole 132 {
        /// The first 12 characters of the user.
        user_id: UserId = Chars::BLANK,
        /// Blank, or the password in clear (compatibility mode).
        password: Secret<Chars<12>> = Secret(Chars::BLANK),
        /// The user.
        long_user_id: Chars<64> = Chars::BLANK,
        /// Length of `sid`.
        sid_length: u8 = 0,
        /// 0 none, 1 Windows, 2 WebSphere.
        sid_type: u8 = 0,
        /// Security identifier.
        sid: [u8; 38] = [0; 38],
    }
}
