//! `ProfilingService`: declared in full, not built yet.

use std::pin::Pin;

use futures::Stream;
use tonic::{Request, Response, Status};

use crate::proto::{
    CancelProfileJobRequest, CancelProfileJobResponse, GetProfileJobRequest, GetProfileJobResponse, ListProfileJobsRequest,
    ListProfileJobsResponse, ProfileModelRequest, ProfileModelResponse, WatchProfileJobRequest, WatchProfileJobResponse,
    profiling_service_server::ProfilingService,
};

use super::ServiceError;

/// Answers every call with `NOT_BUILT`.
pub(super) struct Profiling;

#[tonic::async_trait]
impl ProfilingService for Profiling {
    async fn profile_model(&self, _: Request<ProfileModelRequest>) -> Result<Response<ProfileModelResponse>, Status> {
        Err(ServiceError::NotBuilt("ProfileModel").into())
    }

    async fn get_profile_job(&self, _: Request<GetProfileJobRequest>) -> Result<Response<GetProfileJobResponse>, Status> {
        Err(ServiceError::NotBuilt("GetProfileJob").into())
    }

    async fn list_profile_jobs(&self, _: Request<ListProfileJobsRequest>) -> Result<Response<ListProfileJobsResponse>, Status> {
        Err(ServiceError::NotBuilt("ListProfileJobs").into())
    }

    async fn cancel_profile_job(
        &self,
        _: Request<CancelProfileJobRequest>,
    ) -> Result<Response<CancelProfileJobResponse>, Status> {
        Err(ServiceError::NotBuilt("CancelProfileJob").into())
    }

    type WatchProfileJobStream = Pin<Box<dyn Stream<Item = Result<WatchProfileJobResponse, Status>> + Send>>;

    async fn watch_profile_job(
        &self,
        _: Request<WatchProfileJobRequest>,
    ) -> Result<Response<Self::WatchProfileJobStream>, Status> {
        Err(ServiceError::NotBuilt("WatchProfileJob").into())
    }
}
