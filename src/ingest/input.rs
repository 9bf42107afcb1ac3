//! Opening a text file as people have it: plain or gzip by its first bytes, UTF-8 or UTF-16 by its byte order mark.

use std::{
    fs::File,
    io::{self, BufReader, Chain, Cursor, Read},
    path::Path,
};

use encoding_rs_io::{DecodeReaderBytes, DecodeReaderBytesBuilder};
use flate2::read::MultiGzDecoder;

use super::{IngestError, Place, Progress};

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The decompressed, decoded text of a file.
pub(super) type Text = BufReader<DecodeReaderBytes<Box<dyn Read + Send>, Vec<u8>>>;

/// A text whose first bytes were looked at, and are still in it.
pub(super) type PeekedText = Chain<Cursor<Vec<u8>>, Text>;

/// Opens `path`; bytes read from the disk are told to `progress`.
pub(super) fn open(path: &Path, progress: &Progress) -> Result<Text, IngestError> {
    let failed = |source| IngestError::Open { place: Place::file(path), source };
    let file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        return Err(failed(io::Error::from(io::ErrorKind::IsADirectory)));
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    progress.begin(name, metadata.len());
    from_reader(Counting { inner: file, progress: progress.clone() }).map_err(failed)
}

/// Decompresses and decodes what `reader` gives.
pub(super) fn from_reader(mut reader: impl Read + Send + 'static) -> io::Result<Text> {
    let mut head = Vec::with_capacity(GZIP_MAGIC.len());
    reader.by_ref().take(GZIP_MAGIC.len() as u64).read_to_end(&mut head)?;
    let compressed = head == GZIP_MAGIC;
    let whole: Chain<Cursor<Vec<u8>>, _> = Cursor::new(head).chain(reader);
    let plain: Box<dyn Read + Send> =
        if compressed { Box::new(MultiGzDecoder::new(BufReader::new(whole))) } else { Box::new(whole) };
    // Without a byte order mark the bytes pass as they are: a kernel name that is not UTF-8 is the reader's concern.
    Ok(BufReader::with_capacity(64 * 1024, DecodeReaderBytesBuilder::new().utf8_passthru(true).strip_bom(true).build(plain)))
}

/// The first bytes of `text`, and the text with them still in it.
pub(super) fn peek(mut text: Text, path: &Path) -> Result<(Vec<u8>, PeekedText), IngestError> {
    const HEAD: u64 = 64;
    let mut head = vec![];
    let read = text.by_ref().take(HEAD).read_to_end(&mut head);
    read.map_err(|source| IngestError::Read { place: Place::line(path, 1), source })?;
    Ok((head.clone(), Cursor::new(head).chain(text)))
}

struct Counting<R> {
    inner: R,
    progress: Progress,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.progress.advance(read as u64);
        Ok(read)
    }
}
