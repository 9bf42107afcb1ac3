//! Every statement sent to SQLite, by the names of those for Postgres.
//!
//! The `import_*` statements take rows as one JSON array in `?1` and the device in `?2`.

macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident = $sql:literal;)*) => {
        $($(#[$doc])* pub(super) const $name: &str = $sql;)*
        /// All of them, for the test that prepares each.
        pub(super) const ALL: &[&str] = &[$($name),*];
    };
}

statements! {
    APPLIED_MIGRATION = "-- applied_migration
select version from _sqlx_migrations where success order by version";

    CATALOG_VERSION = "-- catalog_version
select version from catalog";

    NEXT_VERSION = "-- next_version
update catalog set version = version + 1 returning version";

    IMPORT_REQUEST = "-- import_request
select content_sha256, receipt from import_request where import_request_id = ?1";

    KEEP_IMPORT_REQUEST = "-- keep_import_request
insert into import_request (import_request_id, content_sha256, receipt) values (?1, ?2, ?3)";

    DEVICE = "-- device
select spec from device where device_id = ?1";

    KEEP_DEVICE = "-- keep_device
insert into device (device_id, spec, catalog_version) values (?1, ?2, ?3)
on conflict (device_id) do update set spec = excluded.spec, catalog_version = excluded.catalog_version";

    TOUCH_WORKLOADS = "-- touch_workloads
update workload set catalog_version = ?2 where device_id = ?1";

    IMPORT_WORKLOAD = "-- import_workload
insert into workload (device_id, name, family, catalog_version)
select ?2, given.value ->> 'name', coalesce(given.value ->> 'family', present.family, given.value ->> 'default_family'), ?3
from json_each(?1) as given
left join workload as present on present.device_id = ?2 and present.name = given.value ->> 'name'
where true
on conflict (device_id, name) do update set family = excluded.family, catalog_version = excluded.catalog_version";

    CLEAR_SIGNATURE = "-- clear_signature
delete from signature where (workload_id, sm_share) in (
    select present.workload_id, present.sm_share
    from json_each(?1) as given
    cross join workload on workload.device_id = ?2 and workload.name = given.value ->> 'workload'
    join signature as present on present.workload_id = workload.workload_id
      and present.sm_share > (given.value ->> 'sm_share') - 1e-6 and present.sm_share < (given.value ->> 'sm_share') + 1e-6)";

    IMPORT_SIGNATURE = "-- import_signature
insert into signature (workload_id, sm_share, position, operator, grid, block, dtype, launches, duration_us, counters,
                       provenance, clocks_locked)
select workload.workload_id, given.value ->> 'sm_share', given.value ->> 'position', given.value ->> 'operator',
       given.value ->> 'grid', given.value ->> 'block', given.value ->> 'dtype',
       given.value ->> 'launches', given.value ->> 'duration_us', given.value ->> 'counters',
       given.value ->> 'provenance', given.value ->> 'clocks_locked'
from json_each(?1) as given
cross join workload on workload.device_id = ?2 and workload.name = given.value ->> 'workload'";

    CLEAR_SOLO = "-- clear_solo
delete from solo_latency where (workload_id, sm_share) in (
    select present.workload_id, present.sm_share
    from json_each(?1) as given
    cross join workload on workload.device_id = ?2 and workload.name = given.value ->> 'workload'
    join solo_latency as present on present.workload_id = workload.workload_id
      and present.sm_share > (given.value ->> 'sm_share') - 1e-6 and present.sm_share < (given.value ->> 'sm_share') + 1e-6)";

    IMPORT_SOLO = "-- import_solo
insert into solo_latency (workload_id, sm_share, latency_us, stdev_us, samples, provenance, from_kernels)
select workload.workload_id, given.value ->> 'sm_share', given.value ->> 'latency_us', given.value ->> 'stdev_us',
       given.value ->> 'samples', given.value ->> 'provenance',
       given.value ->> 'from_kernels'
from json_each(?1) as given
cross join workload on workload.device_id = ?2 and workload.name = given.value ->> 'workload'";

    CLEAR_TRACE = "-- clear_trace
delete from trace_entry where workload_id in (
    select workload.workload_id
    from json_each(?1) as given
    cross join workload on workload.device_id = ?2 and workload.name = given.value ->> 'workload')";

    IMPORT_TRACE = "-- import_trace
insert into trace_entry (workload_id, position, operator, gap_before_us)
select workload.workload_id, given.value ->> 'position', given.value ->> 'operator', given.value ->> 'gap_before_us'
from json_each(?1) as given
cross join workload on workload.device_id = ?2 and workload.name = given.value ->> 'workload'";

    IMPORT_PAIR = "-- import_pair
insert into pair_sample (device_id, sharing_mode, pair_id, a_workload, b_workload, a_sm_share, b_sm_share, a_solo_us,
                         b_solo_us, a_corun_us, b_corun_us, a_stdev_us, b_stdev_us, campaign, provenance)
select ?2, given.value ->> 'sharing_mode', given.value ->> 'pair_id', given.value ->> 'a_workload',
       given.value ->> 'b_workload', given.value ->> 'a_sm_share', given.value ->> 'b_sm_share',
       given.value ->> 'a_solo_us', given.value ->> 'b_solo_us', given.value ->> 'a_corun_us',
       given.value ->> 'b_corun_us', given.value ->> 'a_stdev_us', given.value ->> 'b_stdev_us',
       given.value ->> 'campaign', given.value ->> 'provenance'
from json_each(?1) as given
where true
on conflict (device_id, sharing_mode, pair_id) do update set
    a_workload = excluded.a_workload, b_workload = excluded.b_workload, a_sm_share = excluded.a_sm_share,
    b_sm_share = excluded.b_sm_share, a_solo_us = excluded.a_solo_us, b_solo_us = excluded.b_solo_us,
    a_corun_us = excluded.a_corun_us, b_corun_us = excluded.b_corun_us, a_stdev_us = excluded.a_stdev_us,
    b_stdev_us = excluded.b_stdev_us, campaign = excluded.campaign, provenance = excluded.provenance";

    DELETE_WORKLOAD = "-- delete_workload
delete from workload where device_id = ?1 and name = ?2";

    DELETE_PAIR = "-- delete_pair
delete from pair_sample where device_id = ?1 and (a_workload = ?2 or b_workload = ?2)";

    LOAD_DEVICE = "-- load_device
select spec from device";

    LOAD_WORKLOAD = "-- load_workload
select workload_id, device_id, name, family, catalog_version from workload";

    LOAD_SOLO = "-- load_solo
select workload_id, name as workload, sm_share, latency_us, stdev_us, samples, provenance, from_kernels
from workload join solo_latency using (workload_id)
where catalog_version > ?1";

    /// Columns are read by their place.
    LOAD_SIGNATURE = "-- load_signature
select workload_id, sm_share, operator, launches, duration_us, counters, provenance, clocks_locked
from signature
where workload_id in (select workload_id from workload where catalog_version > ?1)
order by workload_id, sm_share, position";

    LOAD_PREDICTOR = "-- load_predictor
select predictor_id, content_sha256, device_id, sharing_mode, samples, provenance, held_out_mean_error_pct, created_at,
       predictor_id = (
           select newest.predictor_id from predictor_activation as newest
           where newest.device_id = predictor.device_id and newest.sharing_mode = predictor.sharing_mode
           order by newest.predictor_activation_id desc limit 1) is true as active
from predictor
order by predictor.created_at desc, predictor_id";

    PREDICTOR_ARTEFACT = "-- predictor_artefact
select artefact from predictor where predictor_id = ?1";

    PREDICTOR_SCOPE = "-- predictor_scope
select device_id, sharing_mode from predictor where predictor_id = ?1";

    KEEP_PREDICTOR = "-- keep_predictor
insert into predictor (predictor_id, device_id, sharing_mode, content_sha256, artefact, samples, provenance,
                       held_out_mean_error_pct)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
on conflict (predictor_id) do nothing";

    NEWEST_ACTIVATION = "-- newest_activation
select predictor_activation_id, predictor_id, previous_activation_id from predictor_activation
where device_id = ?1 and sharing_mode = ?2
order by predictor_activation_id desc limit 1";

    ACTIVATION = "-- activation
select predictor_activation_id, predictor_id, previous_activation_id from predictor_activation
where predictor_activation_id = ?1";

    ACTIVATE = "-- activate
insert into predictor_activation (device_id, sharing_mode, predictor_id, previous_activation_id) values (?1, ?2, ?3, ?4)";

    SIGNATURE_PAGE = "-- signature_page
select name as workload, family, sm_share, position, operator, grid, block, dtype, launches, duration_us,
       counters, provenance, clocks_locked
from workload join signature using (workload_id)
where device_id = ?1 and name = ?2 and instr(operator, ?3) > 0
  and sm_share > ?4 - 1e-6 and (sm_share >= ?4 + 1e-6 or position > ?5)
order by sm_share, position
limit ?6";

    SIGNATURE = "-- signature
select name as workload, family, sm_share, position, operator, grid, block, dtype, launches, duration_us,
       counters, provenance, clocks_locked
from workload join signature using (workload_id)
where device_id = ?1 and name = ?2 and sm_share > ?3 - 1e-6 and sm_share < ?3 + 1e-6 and position = ?4";

    PAIR_SAMPLES = "-- pair_samples
select pair_id, sharing_mode, a_workload, b_workload, a_sm_share, b_sm_share, a_solo_us, b_solo_us, a_corun_us, b_corun_us,
       a_stdev_us, b_stdev_us, campaign, provenance
from pair_sample
where device_id = ?1 and sharing_mode = ?2
order by pair_id";

    TRACE = "-- trace
select name as workload, position, operator, gap_before_us
from workload join trace_entry using (workload_id)
where device_id = ?1 and name = ?2
order by position";
}
