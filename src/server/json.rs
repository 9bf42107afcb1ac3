//! Messages as JSON: the proto mapping with proto field names, zeros and defaults written out, enums by full name and 64-bit
//! integers as numbers. An `optional` field or a member of a oneof that is not set is left out.

use std::sync::LazyLock;

use prost::{Message, Name};
use prost_reflect::{DescriptorPool, DynamicMessage, ReflectMessage as _, SerializeOptions, Value};

/// The descriptors of every file of the wire, as `protox` wrote them.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/pairsight.bin"));

static POOL: LazyLock<Result<DescriptorPool, String>> =
    LazyLock::new(|| DescriptorPool::decode(DESCRIPTORS).map_err(|error| error.to_string()));

const OPTIONS: SerializeOptions =
    SerializeOptions::new().stringify_64_bit_integers(false).use_proto_field_name(true).skip_default_fields(false);

/// Why a message has no JSON form.
#[derive(Debug, thiserror::Error)]
pub enum JsonError {
    /// The message is of a type that is not on the wire of this build.
    #[error("{0} is not a message of this build")]
    UnknownType(String),
    /// The descriptors of this build are broken.
    #[error("descriptors: {0}")]
    Descriptors(String),
    /// The message could not be read back.
    #[error("decoding: {0}")]
    Decode(#[from] prost::DecodeError),
    /// It could not be written.
    #[error("writing: {0}")]
    Write(#[from] serde_json::Error),
}

/// `message` as JSON. Keys are in the order of the proto.
pub fn to_json<M: Message + Name>(message: &M) -> Result<serde_json::Value, JsonError> {
    let dynamic = dynamic(message)?;
    Ok(dynamic.serialize_with_options(serde_json::value::Serializer, &OPTIONS)?)
}

/// `message` as indented JSON text.
pub fn to_json_string<M: Message + Name>(message: &M) -> Result<String, JsonError> {
    let mut text = Vec::new();
    let dynamic = dynamic(message)?;
    dynamic.serialize_with_options(&mut serde_json::Serializer::pretty(&mut text), &OPTIONS)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Paths of all methods on the wire, `/package.Service/Method`.
pub(super) fn methods() -> Vec<String> {
    let Ok(pool) = POOL.as_ref() else { return vec![] };
    let services = pool.services();
    services.flat_map(|s| s.methods().map(|m| format!("/{}/{}", s.full_name(), m.name())).collect::<Vec<_>>()).collect()
}

fn dynamic<M: Message + Name>(message: &M) -> Result<DynamicMessage, JsonError> {
    let pool = POOL.as_ref().map_err(|error| JsonError::Descriptors(error.clone()))?;
    let name = M::full_name();
    let descriptor = pool.get_message_by_name(&name).ok_or(JsonError::UnknownType(name))?;
    let mut dynamic = DynamicMessage::decode(descriptor, message.encode_to_vec().as_slice())?;
    drop_unknown_details(&mut dynamic, pool);
    Ok(dynamic)
}

/// Takes out every `Any` whose type is not in `pool`: a newer server may send details that this build cannot show, and the
/// rest of the answer is still good.
fn drop_unknown_details(message: &mut DynamicMessage, pool: &DescriptorPool) {
    for (_, value) in message.fields_mut() {
        match value {
            Value::Message(inner) => drop_unknown_details(inner, pool),
            Value::List(items) => {
                items.retain(|item| is_known(item, pool));
                for item in items {
                    if let Value::Message(inner) = item {
                        drop_unknown_details(inner, pool);
                    }
                }
            }
            _ => {}
        }
    }
}

fn is_known(value: &Value, pool: &DescriptorPool) -> bool {
    let Value::Message(message) = value else { return true };
    if message.descriptor().full_name() != "google.protobuf.Any" {
        return true;
    }
    let url = message.get_field_by_name("type_url");
    let url = url.as_ref().and_then(|url| url.as_str()).unwrap_or_default();
    let name = url.rsplit('/').next().unwrap_or_default();
    pool.get_message_by_name(name).is_some()
}
