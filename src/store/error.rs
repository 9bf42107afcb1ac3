use crate::domain::Invalid;

/// Why the store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Other content was imported under this request before.
    #[error("request_id {0:?} was used before for other content")]
    RequestIdReused(String),
    /// The device is stored as another one.
    #[error("device.{0}")]
    DeviceDiffers(Invalid),
    /// No such device.
    #[error("device {0} is not in the catalog")]
    DeviceUnknown(String),
    /// No such workload on the device.
    #[error("workload {workload:?} is not in the catalog of device {device}")]
    WorkloadUnknown {
        /// The device.
        device: String,
        /// The workload.
        workload: String,
    },
    /// No such predictor.
    #[error("predictor {0:?} is not in the catalog")]
    PredictorUnknown(String),
    /// No predictor was active before the present one.
    #[error("no predictor of device {device} was active for {sharing_mode} before the present one")]
    NoEarlierPredictor {
        /// The device.
        device: String,
        /// The sharing mode.
        sharing_mode: String,
    },
    /// The store cannot be opened as it is configured; the text names the setting and never holds a password.
    #[error("{0}")]
    Configuration(String),
    /// The store cannot be reached now; trying again later may help.
    #[error("the store cannot be reached: {0}")]
    Unavailable(String),
    /// The schema is not the one of this build.
    #[error("{0}")]
    Schema(String),
    /// What the store holds cannot be understood.
    #[error("the store holds something that cannot be read: {0}")]
    Corrupt(String),
}
