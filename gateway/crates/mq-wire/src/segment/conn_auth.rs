//! CAUT, user and password (mq-wire.md 3.5, mq-wire-observed-base.md 3.3). It is answered by a plain STATUS.

use bytes::Bytes;

use crate::{DecodeError, Reader, Secret, Writer};

const TITLE: &str = "CAUT";

/// User and password. Both are in the character set of the segment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConnAuth {
    /// 1 is user and password.
    pub auth_type: u32,
    /// Longest user the sender can hold.
    pub user_id_length_max: u32,
    /// Longest password the sender can hold.
    pub password_length_max: u32,
    /// Two more words, from FAP 17 on.
    pub extension: Option<[u32; 2]>,
    /// The user.
    pub user_id: Bytes,
    /// Length of the password in clear, even when it is sent protected and thereby longer.
    pub password_length: u32,
    /// The rest of the segment: the password, in clear or protected, and padding.
    pub password: Secret<Bytes>,
}

impl ConnAuth {
    /// The structure identifier.
    pub const ID: [u8; 4] = *b"CAUT";
    /// The level from which on the header has 32 bytes instead of 24.
    pub const LONG_HEADER_FAP_LEVEL: u8 = 17;

    /// A user with a password in clear, in the form of the level.
    pub fn new(user_id: Bytes, password: Bytes, fap_level: u8) -> Self {
        Self {
            auth_type: 1,
            user_id_length_max: user_id.len() as u32,
            password_length_max: password.len() as u32,
            extension: (fap_level >= Self::LONG_HEADER_FAP_LEVEL).then_some([0; 2]),
            user_id,
            password_length: password.len() as u32,
            password: Secret(password),
        }
    }

    /// Reads the rest of a segment; the agreed level decides about the length of the header.
    pub fn decode(reader: &mut Reader<'_>, fap_level: u8) -> Result<Self, DecodeError> {
        reader.struc_id(TITLE, Self::ID)?;
        let auth_type = reader.field(TITLE, "AuthType")?;
        let user_id_length_max = reader.field(TITLE, "UserIdMaxLength")?;
        let password_length_max = reader.field(TITLE, "PasswordMaxLength")?;
        let user_id_length: u32 = reader.field(TITLE, "UserIdLength")?;
        let password_length: u32 = reader.field(TITLE, "PasswordLength")?;
        let extension = if fap_level >= Self::LONG_HEADER_FAP_LEVEL {
            Some([reader.field(TITLE, "Extension1")?, reader.field(TITLE, "Extension2")?])
        } else {
            None
        };
        let user_id = Bytes::copy_from_slice(reader.take(TITLE, "UserId", user_id_length as usize)?);
        let at_password = reader.clone();
        reader.take(TITLE, "Password", password_length as usize)?;
        Ok(Self {
            auth_type,
            user_id_length_max,
            password_length_max,
            extension,
            user_id,
            password_length,
            password: Secret(Bytes::copy_from_slice(at_password.rest())),
        })
    }

    /// Appends it.
    pub fn encode(&self, writer: &mut Writer<'_>) {
        writer.struc_id(Self::ID);
        writer.field(&self.auth_type);
        writer.field(&self.user_id_length_max);
        writer.field(&self.password_length_max);
        writer.field(&(self.user_id.len() as u32));
        writer.field(&self.password_length);
        if let Some([first, second]) = &self.extension {
            writer.field(first);
            writer.field(second);
        }
        writer.raw(&self.user_id);
        writer.raw(&self.password.0);
    }

    /// The password, if it was sent in clear.
    pub fn password_in_clear(&self) -> &[u8] {
        &self.password.0[..self.password.0.len().min(self.password_length as usize)]
    }
}
