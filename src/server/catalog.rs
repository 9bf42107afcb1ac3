//! `CatalogService`: devices, workloads and predictors from the snapshot, signatures from the store.

use std::{collections::Bound, sync::Arc};

use tonic::{Request, Response, Status, Streaming};

use crate::{
    domain::{DeviceId, SharingMode, SmShare, family_of, validate_workload},
    interference::{Predictor, WorkloadProfile},
    proto::{self, catalog_service_server::CatalogService},
    store::{Catalog, SignatureCursor, StoreError},
};

use super::{
    Resource, ServiceError, devices,
    filter::{WorkloadFilter, part_of_name},
    import,
    paging::Page,
    samples,
    state::Shared,
    suggestions,
    wire::{device_to_wire, predictor_to_wire, signature_to_wire, workload_to_wire},
};

/// Reads and changes the catalog.
pub(super) struct CatalogCalls {
    shared: Arc<Shared>,
}

impl CatalogCalls {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    async fn get_signature_of(&self, request: proto::GetSignatureRequest) -> Result<proto::Signature, ServiceError> {
        let device = DeviceId::new("device", request.device)?;
        validate_workload("workload", &request.workload)?;
        let sm_share = SmShare::new("sm_share", request.sm_share)?.get();
        let position = i32::try_from(request.position).map_err(|_| ServiceError::field("position", "must be below 2^31"))?;
        find_workload(&self.shared.view()?.catalog, &device, &request.workload)?;
        let found = self.shared.store.signature(&device, &request.workload, SignatureCursor { sm_share, position }).await?;
        let name = || format!("{} at share {sm_share}, position {position}", request.workload);
        let signature = found.ok_or_else(|| ServiceError::unknown(Resource::Signature, name()))?;
        Ok(signature_to_wire(&signature))
    }

    async fn signatures_page(
        &self,
        request: proto::ListSignaturesRequest,
    ) -> Result<proto::ListSignaturesResponse, ServiceError> {
        let scope = ["ListSignatures", &request.device, &request.workload, &request.filter];
        let page = Page::<(f64, i32)>::read(&scope, request.page_size, &request.page_token)?;
        let device = DeviceId::new("device", request.device.as_str())?;
        validate_workload("workload", &request.workload)?;
        let filter = part_of_name(&request.filter)?;
        find_workload(&self.shared.view()?.catalog, &device, &request.workload)?;
        let after = page.after().map(|(sm_share, position)| SignatureCursor { sm_share: *sm_share, position: *position });
        // One more than the page holds tells whether there is a next one.
        let limit = u32::try_from(page.size() + 1).unwrap_or(u32::MAX);
        let found = self.shared.store.signatures(&device, &request.workload, filter, after, limit).await?;
        let entries = found.iter().map(|placed| {
            let key = (placed.signature.sm_share.get(), placed.position);
            (key, signature_to_wire(&placed.signature))
        });
        let (signatures, next_page_token) = page.fill(entries);
        Ok(proto::ListSignaturesResponse { signatures, next_page_token })
    }

    async fn predictor(&self, version: &str) -> Result<proto::Predictor, ServiceError> {
        if version.is_empty() || version.len() > 64 {
            return Err(ServiceError::field("predictor_version", "must have 1 to 64 bytes"));
        }
        if version == Predictor::generic().version {
            return Ok(proto::Predictor { predictor_version: version.to_owned(), active: true, ..proto::Predictor::default() });
        }
        let catalog = self.shared.view()?.catalog;
        let info = catalog.predictors.iter().find(|info| info.version == version);
        let info = info.ok_or_else(|| ServiceError::unknown(Resource::Predictor, version))?;
        let json = self.shared.store.predictor_artefact(version).await?;
        let predictor = Predictor::from_json(&json).map_err(|error| ServiceError::Internal(error.to_string()))?;
        Ok(predictor_to_wire(info, Some(&predictor), true))
    }

    async fn delete(&self, request: proto::DeleteWorkloadRequest) -> Result<i64, ServiceError> {
        let device = DeviceId::new("device", request.device)?;
        validate_workload("workload", &request.workload)?;
        let deleted = self.shared.store.delete_workload(&device, &request.workload).await;
        let deleted = deleted.map_err(|error| match error {
            StoreError::DeviceUnknown(_) if devices::built_in(&device).is_some() => {
                ServiceError::unknown(Resource::Workload, request.workload)
            }
            error => error.into(),
        })?;
        self.shared.snapshots.refresh().await;
        Ok(deleted)
    }
}

#[tonic::async_trait]
impl CatalogService for CatalogCalls {
    async fn get_device(&self, request: Request<proto::GetDeviceRequest>) -> Result<Response<proto::GetDeviceResponse>, Status> {
        let catalog = self.shared.view()?.catalog;
        let id = DeviceId::new("device", request.into_inner().device).map_err(ServiceError::from)?;
        let device = device_to_wire(devices::find(&catalog, &id)?, fitted(&catalog, &id));
        Ok(Response::new(proto::GetDeviceResponse { device: Some(device) }))
    }

    async fn list_devices(
        &self,
        request: Request<proto::ListDevicesRequest>,
    ) -> Result<Response<proto::ListDevicesResponse>, Status> {
        Ok(Response::new(devices_page(&self.shared.view()?.catalog, &request.into_inner())?))
    }

    async fn get_workload(
        &self,
        request: Request<proto::GetWorkloadRequest>,
    ) -> Result<Response<proto::GetWorkloadResponse>, Status> {
        let (request, catalog) = (request.into_inner(), self.shared.view()?.catalog);
        let device = DeviceId::new("device", request.device).map_err(ServiceError::from)?;
        validate_workload("workload", &request.workload).map_err(ServiceError::from)?;
        let workload = workload_to_wire(&device, find_workload(&catalog, &device, &request.workload)?);
        Ok(Response::new(proto::GetWorkloadResponse { workload: Some(workload) }))
    }

    async fn list_workloads(
        &self,
        request: Request<proto::ListWorkloadsRequest>,
    ) -> Result<Response<proto::ListWorkloadsResponse>, Status> {
        Ok(Response::new(workloads_page(&self.shared.view()?.catalog, &request.into_inner())?))
    }

    async fn delete_workload(
        &self,
        request: Request<proto::DeleteWorkloadRequest>,
    ) -> Result<Response<proto::DeleteWorkloadResponse>, Status> {
        let catalog_version = self.delete(request.into_inner()).await?;
        Ok(Response::new(proto::DeleteWorkloadResponse { catalog_version }))
    }

    async fn get_signature(
        &self,
        request: Request<proto::GetSignatureRequest>,
    ) -> Result<Response<proto::GetSignatureResponse>, Status> {
        let signature = Some(self.get_signature_of(request.into_inner()).await?);
        Ok(Response::new(proto::GetSignatureResponse { signature }))
    }

    async fn list_signatures(
        &self,
        request: Request<proto::ListSignaturesRequest>,
    ) -> Result<Response<proto::ListSignaturesResponse>, Status> {
        Ok(Response::new(self.signatures_page(request.into_inner()).await?))
    }

    async fn get_predictor(
        &self,
        request: Request<proto::GetPredictorRequest>,
    ) -> Result<Response<proto::GetPredictorResponse>, Status> {
        let predictor = Some(self.predictor(&request.into_inner().predictor_version).await?);
        Ok(Response::new(proto::GetPredictorResponse { predictor }))
    }

    async fn list_predictors(
        &self,
        request: Request<proto::ListPredictorsRequest>,
    ) -> Result<Response<proto::ListPredictorsResponse>, Status> {
        Ok(Response::new(predictors_page(&self.shared.view()?.catalog, &request.into_inner())?))
    }

    async fn import_signatures(
        &self,
        request: Request<Streaming<proto::ImportSignaturesRequest>>,
    ) -> Result<Response<proto::ImportSignaturesResponse>, Status> {
        Ok(Response::new(import::receive(&self.shared, request.into_inner()).await?))
    }

    async fn suggest_samples(
        &self,
        request: Request<proto::SuggestSamplesRequest>,
    ) -> Result<Response<proto::SuggestSamplesResponse>, Status> {
        Ok(Response::new(suggestions::answer(&self.shared, request.into_inner()).await?))
    }

    async fn add_samples(
        &self,
        request: Request<proto::AddSamplesRequest>,
    ) -> Result<Response<proto::AddSamplesResponse>, Status> {
        Ok(Response::new(samples::add(&self.shared, request.into_inner()).await?))
    }
}

/// Modes for which a fitted predictor of the device is active.
fn fitted<'c>(catalog: &'c Catalog, device: &DeviceId) -> impl Iterator<Item = SharingMode> + use<'c> {
    let device = device.clone();
    catalog.active.keys().filter(move |(fitted, _)| *fitted == device).map(|(_, mode)| *mode)
}

fn find_workload<'c>(catalog: &'c Catalog, device: &DeviceId, workload: &str) -> Result<&'c WorkloadProfile, ServiceError> {
    devices::find(catalog, device)?;
    let found = catalog.workloads.get(device).and_then(|workloads| workloads.get(workload));
    found.map(AsRef::as_ref).ok_or_else(|| ServiceError::unknown(Resource::Workload, workload))
}

fn devices_page(catalog: &Catalog, request: &proto::ListDevicesRequest) -> Result<proto::ListDevicesResponse, ServiceError> {
    let page = Page::<String>::read(&["ListDevices", &request.filter], request.page_size, &request.page_token)?;
    let filter = part_of_name(&request.filter)?;
    let wanted = devices::all(catalog)
        .into_iter()
        .filter(|(id, _)| id.as_str().contains(filter) && page.after().is_none_or(|after| id.as_str() > after.as_str()));
    let (devices, next_page_token) =
        page.fill(wanted.map(|(id, device)| (id.to_string(), device_to_wire(device, fitted(catalog, id)))));
    Ok(proto::ListDevicesResponse { devices, next_page_token })
}

fn workloads_page(
    catalog: &Catalog,
    request: &proto::ListWorkloadsRequest,
) -> Result<proto::ListWorkloadsResponse, ServiceError> {
    let page = Page::<(DeviceId, String)>::read(&["ListWorkloads", &request.filter], request.page_size, &request.page_token)?;
    let filter = WorkloadFilter::parse(&request.filter)?;
    let first = page.after().map(|(device, _)| device);
    let devices = catalog.workloads.range((first.map_or(Bound::Unbounded, Bound::Included), Bound::Unbounded));
    let devices = devices.filter(|(device, _)| filter.device.as_deref().is_none_or(|wanted| wanted == device.as_str()));
    let workloads = devices.flat_map(|(device, workloads)| {
        let after = page.after().filter(|(first, _)| first == device).map(|(_, name)| name.as_str());
        let rest = workloads.range::<str, _>((after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded));
        rest.map(move |(name, profile)| (device, name, profile))
    });
    let wanted = workloads.filter(|(_, name, profile)| matches(&filter, name, profile));
    let (workloads, next_page_token) =
        page.fill(wanted.map(|(device, name, profile)| ((device.clone(), name.to_string()), workload_to_wire(device, profile))));
    Ok(proto::ListWorkloadsResponse { workloads, next_page_token })
}

fn matches(filter: &WorkloadFilter, name: &str, profile: &WorkloadProfile) -> bool {
    let family = if profile.family.is_empty() { family_of(name) } else { &profile.family };
    filter.family.as_deref().is_none_or(|wanted| wanted == family) && filter.parts.iter().all(|part| name.contains(part.as_str()))
}

fn predictors_page(
    catalog: &Catalog,
    request: &proto::ListPredictorsRequest,
) -> Result<proto::ListPredictorsResponse, ServiceError> {
    let page = Page::<String>::read(&["ListPredictors", &request.filter], request.page_size, &request.page_token)?;
    let filter = part_of_name(&request.filter)?;
    let first = match page.after() {
        None => 0,
        Some(after) => 1 + catalog.predictors.iter().position(|i| i.version == *after).ok_or(ServiceError::PageTokenInvalid)?,
    };
    let wanted = catalog.predictors[first..].iter().filter(|info| filter.is_empty() || info.device.as_str() == filter);
    let (predictors, next_page_token) = page.fill(wanted.map(|info| {
        let active =
            catalog.active.get(&(info.device.clone(), info.sharing_mode)).filter(|active| active.version == info.version);
        (info.version.clone(), predictor_to_wire(info, active.map(AsRef::as_ref), false))
    }));
    Ok(proto::ListPredictorsResponse { predictors, next_page_token })
}
