//! Postgres' binary format: a signature, rows of fields with their lengths, an end mark.

use arrow::array::RecordBatch;
use bytes::{Buf, BytesMut};

use crate::error::{Result, SessionError};
use crate::pg::encode::RowEncoder;

const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xff\r\n\0";
/// Bit 16 and above of the flags change how the rest is read.
const CRITICAL_FLAGS: u32 = 0xffff_0000;
/// In the place of a number of fields.
const END: i16 = -1;
/// Kind and length of a message of the protocol.
const MESSAGE_HEADER: usize = 5;

/// Signature, no flags, no extension.
pub fn header() -> Vec<u8> {
    [&SIGNATURE[..], &[0; 8]].concat()
}

pub fn trailer() -> Vec<u8> {
    END.to_be_bytes().to_vec()
}

/// The rows of a batch. A row has the form of a DataRow message without its header.
pub fn rows(encoder: &RowEncoder, batch: &RecordBatch) -> Result<Vec<Vec<u8>>> {
    let mut messages = BytesMut::new();
    encoder.encode(batch, 0..batch.num_rows(), usize::MAX, &mut messages)?;
    let mut rows = Vec::with_capacity(batch.num_rows());
    while messages.len() >= MESSAGE_HEADER {
        messages.advance(1);
        let length = (messages.get_u32() as usize)
            .saturating_sub(4)
            .min(messages.len());
        rows.push(messages.split_to(length).to_vec());
    }
    Ok(rows)
}

/// What the bytes at hand begin with.
pub enum Piece<'a> {
    /// More has to come.
    Incomplete,
    /// The fields of a row, and how many bytes it took.
    Row(Vec<Option<&'a [u8]>>, usize),
    End,
}

/// The length of the header; `None` while more has to come.
pub fn read_header(bytes: &[u8]) -> Result<Option<usize>> {
    let known = bytes.len().min(SIGNATURE.len());
    if bytes[..known] != SIGNATURE[..known] {
        return Err(format_error("COPY file signature not recognized"));
    }
    let Some(mut rest) = bytes.get(SIGNATURE.len()..).filter(|rest| rest.len() >= 8) else {
        return Ok(None);
    };
    if rest.get_u32() & CRITICAL_FLAGS != 0 {
        return Err(format_error("unrecognized critical flags in COPY file header"));
    }
    let extension = rest.get_u32() as usize;
    Ok((rest.len() >= extension).then_some(SIGNATURE.len() + 8 + extension))
}

/// Reads a row of so many fields.
pub fn read_row(bytes: &[u8], fields: usize) -> Result<Piece<'_>> {
    let mut rest = bytes;
    if rest.len() < 2 {
        return Ok(Piece::Incomplete);
    }
    let count = rest.get_i16();
    if count == END {
        return Ok(Piece::End);
    }
    if usize::try_from(count) != Ok(fields) {
        let text = format!("row field count is {count}, expected {fields}");
        return Err(format_error(&text));
    }
    let mut values = Vec::with_capacity(fields);
    for _ in 0..fields {
        if rest.len() < 4 {
            return Ok(Piece::Incomplete);
        }
        let length = rest.get_i32();
        if length == -1 {
            values.push(None);
            continue;
        }
        let length = usize::try_from(length).map_err(|_| format_error("invalid field size"))?;
        if rest.len() < length {
            return Ok(Piece::Incomplete);
        }
        let (value, after) = rest.split_at(length);
        values.push(Some(value));
        rest = after;
    }
    Ok(Piece::Row(values, bytes.len() - rest.len()))
}

fn format_error(text: &str) -> crate::error::Error {
    SessionError::CopyFormat(text.to_owned()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_and_rows_come_in_pieces() {
        let header = header();
        for cut in 0..header.len() {
            assert_eq!(read_header(&header[..cut]).unwrap(), None);
        }
        assert_eq!(read_header(&header).unwrap(), Some(header.len()));
        assert!(read_header(b"1\t2\n").is_err());
        let row = [&[0, 2, 0, 0, 0, 1, 7][..], &[0xff; 4]].concat();
        for cut in 0..row.len() {
            assert!(matches!(read_row(&row[..cut], 2).unwrap(), Piece::Incomplete));
        }
        let Piece::Row(values, length) = read_row(&row, 2).unwrap() else {
            panic!("not a row")
        };
        assert_eq!((values, length), (vec![Some(&[7][..]), None], row.len()));
        assert!(read_row(&row, 3).is_err());
        assert!(matches!(read_row(&trailer(), 2).unwrap(), Piece::End));
    }
}
