//! Numbers and checksums, as the first page of FORMAT.md has them. What the bytes mean is told elsewhere.

/// CRC-32 (ISO-HDLC).
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        let [low, ..] = crc.to_le_bytes();
        crc = (crc >> 8) ^ TABLE[usize::from(low ^ byte)];
    }
    !crc
}

static TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut value = index as u32;
        let mut bit = 0;
        while bit < 8 {
            // 0x04C11DB7 with its bits the other way round.
            value = if value & 1 == 1 { (value >> 1) ^ 0xEDB8_8320 } else { value >> 1 };
            bit += 1;
        }
        table[index] = value;
        index += 1;
    }
    table
};

/// Takes from the front; none as soon as there is not enough.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    pub(super) rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(super) fn over(rest: &'a [u8]) -> Self {
        Self { rest }
    }

    pub(super) fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(bytes)?;
        self.rest = rest;
        Some(taken)
    }

    pub(super) fn take_u32(&mut self, bytes: u32) -> Option<&'a [u8]> {
        self.take(usize::try_from(bytes).ok()?)
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    /// That many ids. The length is checked before anything is kept.
    pub(super) fn ids(&mut self, count: u32) -> Option<Vec<u64>> {
        let bytes = usize::try_from(count).ok()?.checked_mul(8)?;
        let mut ids = Cursor::over(self.take(bytes)?);
        std::iter::repeat_with(|| ids.u64()).take_while(Option::is_some).collect()
    }
}
