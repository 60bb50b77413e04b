//! Frames: version, length and checksum around every value of the meta store and every piece of a file.
//!
//! ```text
//! byte 0      version of the frame, 1
//! byte 1      1 = last frame of its file or value, 0 = more follow
//! bytes 2-3   zero
//! bytes 4-7   length of the payload, little-endian
//! bytes 8-11  crc32 of salt, bytes 0-7 and payload, little-endian
//! ```
//! The salt is not stored: the key for a value, the frame's number for a file. So bytes that are whole but stand in the
//! wrong place are found, too. Nothing is handed on before its checksum was verified.

use std::io::{self, Read, Write};

use crate::error::{Error, Result};

const VERSION: u8 = 1;
const HEADER: usize = 12;
/// Payload of a full frame in a file: what a reader holds in memory at least.
const FRAME_BYTES: usize = 256 * 1024;

fn header(salt: &[u8], payload: &[u8], last: bool) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[0] = VERSION;
    header[1] = u8::from(last);
    let length = u32::try_from(payload.len()).expect("a frame is shorter than 4 GiB");
    header[4..8].copy_from_slice(&length.to_le_bytes());
    let crc = checksum(salt, &header, payload);
    header[8..].copy_from_slice(&crc.to_le_bytes());
    header
}

fn checksum(salt: &[u8], header: &[u8; HEADER], payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(salt);
    hasher.update(&header[..8]);
    hasher.update(payload);
    hasher.finalize()
}

fn length(header: &[u8; HEADER]) -> usize {
    u32::from_le_bytes([header[4], header[5], header[6], header[7]]) as usize
}

fn verify(salt: &[u8], header: &[u8; HEADER], payload: &[u8]) -> Result<(), String> {
    let stored = u32::from_le_bytes([header[8], header[9], header[10], header[11]]);
    if checksum(salt, header, payload) != stored {
        return Err("checksum does not match".to_string());
    }
    if header[0] != VERSION {
        return Err(format!("frame version {} is unknown", header[0]));
    }
    Ok(())
}

/// The value to store under `key`.
pub(crate) fn seal(key: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut record = Vec::with_capacity(HEADER + payload.len());
    record.extend_from_slice(&header(key, payload, true));
    record.extend_from_slice(payload);
    record
}

/// The payload of a value found under `key`.
pub(crate) fn open<'a>(key: &[u8], record: &'a [u8]) -> Result<&'a [u8]> {
    let damaged = |what: &str| Error::corrupt(crate::layout::describe(key), what);
    let Some((header, payload)) = record.split_first_chunk::<HEADER>() else {
        return Err(damaged("it is shorter than a record's header"));
    };
    if length(header) != payload.len() {
        return Err(damaged("its length does not match"));
    }
    verify(key, header, payload).map_err(|what| damaged(&what))?;
    Ok(payload)
}

/// Writes a stream of bytes as frames.
pub(crate) struct FrameWriter<W: Write> {
    inner: W,
    pending: Vec<u8>,
    frames: u32,
    written: u64,
}

impl<W: Write> FrameWriter<W> {
    pub(crate) fn new(inner: W) -> Self {
        Self {
            inner,
            pending: Vec::with_capacity(FRAME_BYTES),
            frames: 0,
            written: 0,
        }
    }

    fn frame(&mut self, last: bool) -> io::Result<()> {
        let header = header(&self.frames.to_le_bytes(), &self.pending, last);
        self.inner.write_all(&header)?;
        self.inner.write_all(&self.pending)?;
        self.frames += 1;
        self.written += (HEADER + self.pending.len()) as u64;
        self.pending.clear();
        Ok(())
    }

    /// Writes the last frame; what was written and its size in bytes.
    pub(crate) fn finish(mut self) -> io::Result<(W, u64)> {
        self.frame(true)?;
        self.inner.flush()?;
        Ok((self.inner, self.written))
    }
}

impl<W: Write> Write for FrameWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.pending.len() == FRAME_BYTES {
            self.frame(false)?;
        }
        let taken = bytes.len().min(FRAME_BYTES - self.pending.len());
        self.pending.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads what a [`FrameWriter`] wrote. Damage is an error of kind `InvalidData`; the end is reported only after the last
/// frame, so a file cut at any byte is found.
pub(crate) struct FrameReader<R: Read> {
    inner: R,
    payload: Vec<u8>,
    position: usize,
    frames: u32,
    last: bool,
}

impl<R: Read> FrameReader<R> {
    pub(crate) fn new(inner: R) -> Self {
        Self {
            inner,
            payload: Vec::new(),
            position: 0,
            frames: 0,
            last: false,
        }
    }

    fn next_frame(&mut self) -> io::Result<()> {
        let mut header = [0; HEADER];
        read_whole(&mut self.inner, &mut header)?;
        // The length is not verified yet; a frame of ours is never longer.
        if length(&header) > FRAME_BYTES {
            return Err(damaged("a frame's length is out of range"));
        }
        self.payload.resize(length(&header), 0);
        self.position = 0;
        read_whole(&mut self.inner, &mut self.payload)?;
        verify(&self.frames.to_le_bytes(), &header, &self.payload).map_err(|what| damaged(&what))?;
        self.frames += 1;
        self.last = header[1] == 1;
        if self.last && self.inner.read(&mut [0])? != 0 {
            return Err(damaged("bytes follow the last frame"));
        }
        Ok(())
    }
}

impl<R: Read> Read for FrameReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.position == self.payload.len() {
            if self.last || buffer.is_empty() {
                return Ok(0);
            }
            self.next_frame()?;
        }
        let taken = buffer.len().min(self.payload.len() - self.position);
        buffer[..taken].copy_from_slice(&self.payload[self.position..self.position + taken]);
        self.position += taken;
        Ok(taken)
    }
}

fn read_whole(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<()> {
    reader.read_exact(buffer).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => damaged("it ends too early"),
        _ => error,
    })
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(bytes: &[u8]) -> Vec<u8> {
        let mut writer = FrameWriter::new(Vec::new());
        writer.write_all(bytes).unwrap();
        let (file, written) = writer.finish().unwrap();
        assert_eq!(file.len() as u64, written);
        file
    }

    fn unframed(file: &[u8]) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        FrameReader::new(file).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    #[test]
    fn values_come_back_and_only_under_their_own_key() {
        let record = seal(b"key", b"value");
        assert_eq!(open(b"key", &record).unwrap(), b"value");
        assert!(matches!(open(b"other", &record), Err(Error::Corrupt { .. })));
        for length in 0..record.len() {
            assert!(open(b"key", &record[..length]).is_err(), "cut to {length}");
        }
        for bit in 0..record.len() * 8 {
            let mut flipped = record.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(open(b"key", &flipped).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn files_of_any_length_come_back() {
        for length in [
            0,
            1,
            FRAME_BYTES - 1,
            FRAME_BYTES,
            FRAME_BYTES + 1,
            3 * FRAME_BYTES,
        ] {
            let bytes = (0..length).map(|i| (i * 31 % 251) as u8).collect::<Vec<_>>();
            assert_eq!(unframed(&framed(&bytes)).unwrap(), bytes);
        }
    }

    #[test]
    fn damage_anywhere_in_a_file_is_found() {
        let file = framed(&vec![7; FRAME_BYTES + 100]);
        for cut in (0..file.len())
            .step_by(9973)
            .chain([file.len() - 1, FRAME_BYTES + HEADER])
        {
            assert_eq!(
                unframed(&file[..cut]).unwrap_err().kind(),
                io::ErrorKind::InvalidData,
                "cut to {cut}"
            );
            let mut flipped = file.clone();
            flipped[cut] ^= 0x10;
            assert_eq!(
                unframed(&flipped).unwrap_err().kind(),
                io::ErrorKind::InvalidData,
                "flipped at {cut}"
            );
        }
        let longer = [file.as_slice(), b"x"].concat();
        assert!(unframed(&longer).is_err());
        let first = &file[..FRAME_BYTES + HEADER];
        assert!(
            unframed(&[first, first, &file[FRAME_BYTES + HEADER..]].concat()).is_err(),
            "a repeated frame"
        );
    }
}
