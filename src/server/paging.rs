//! Pages after AIP-158. A token holds the last key of its page and a hash of the call that gave it out, filter included.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use prost::Message;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};

use super::ServiceError;

const DEFAULT_SIZE: usize = 100;
const MAX_SIZE: usize = 1000;
/// Longest token that is read; ours are far shorter.
const MAX_TOKEN_BYTES: usize = 8 * 1024;
/// Total size at which a page ends early, below the 4 MiB that clients take.
const MAX_PAGE_BYTES: usize = 3 << 20;

/// The page that a call asks for.
pub(super) struct Page<K> {
    scope: String,
    size: usize,
    after: Option<K>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Token<K> {
    scope: String,
    after: K,
}

impl<K: Serialize + DeserializeOwned> Page<K> {
    /// Reads what a call asks for. `scope` is the name of the call and all its fields but size and token.
    pub(super) fn read(scope: &[&str], page_size: i32, page_token: &str) -> Result<Self, ServiceError> {
        let size = match usize::try_from(page_size) {
            Err(_) => return Err(ServiceError::field("page_size", "must not be negative")),
            Ok(0) => DEFAULT_SIZE,
            Ok(size) => size.min(MAX_SIZE),
        };
        let scope = hash(scope);
        let after = if page_token.is_empty() { None } else { Some(open(&scope, page_token)?) };
        Ok(Self { scope, size, after })
    }

    /// Most entries of the page.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Key after which the page begins.
    pub(super) fn after(&self) -> Option<&K> {
        self.after.as_ref()
    }

    /// Takes the page from the entries after [`Page::after`]; returns it with the token of the next one, empty on the last.
    pub(super) fn fill<T: Message>(&self, entries: impl IntoIterator<Item = (K, T)>) -> (Vec<T>, String) {
        let (mut page, mut bytes, mut last) = (Vec::new(), 0, None);
        for (key, entry) in entries {
            bytes += entry.encoded_len();
            if page.len() == self.size || (bytes > MAX_PAGE_BYTES && !page.is_empty()) {
                return (page, last.map(|key| self.token(key)).unwrap_or_default());
            }
            page.push(entry);
            last = Some(key);
        }
        (page, String::new())
    }

    fn token(&self, after: K) -> String {
        // Keys are strings and numbers, which always have a JSON form.
        let json = serde_json::to_vec(&Token { scope: self.scope.clone(), after }).unwrap_or_default();
        BASE64_URL_SAFE_NO_PAD.encode(json)
    }
}

fn open<K: DeserializeOwned>(scope: &str, token: &str) -> Result<K, ServiceError> {
    if token.len() > MAX_TOKEN_BYTES {
        return Err(ServiceError::PageTokenInvalid);
    }
    let json = BASE64_URL_SAFE_NO_PAD.decode(token).map_err(|_| ServiceError::PageTokenInvalid)?;
    let token: Token<K> = serde_json::from_slice(&json).map_err(|_| ServiceError::PageTokenInvalid)?;
    if token.scope == scope { Ok(token.after) } else { Err(ServiceError::PageTokenInvalid) }
}

/// A hash in which `["a", "bc"]` and `["ab", "c"]` differ.
fn hash(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_be_bytes());
        hash.update(part);
    }
    format!("{:x}", hash.finalize())[..16].to_owned()
}
