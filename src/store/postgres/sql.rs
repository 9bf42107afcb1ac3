//! Every statement sent to Postgres. Each begins with its name, which so shows in `pg_stat_activity`.
//!
//! The `import_*` statements take rows as one JSON array in `$1` and the device in `$2`.

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

    /// Also takes the lock that puts all writes in one order, so that versions appear in the order of their commits.
    NEXT_VERSION = "-- next_version
update catalog set version = version + 1 returning version";

    NOTIFY = "-- notify
select pg_notify('pairsight_catalog', $1)";

    IMPORT_REQUEST = "-- import_request
select content_sha256, receipt::text as receipt from import_request where import_request_id = $1";

    KEEP_IMPORT_REQUEST = "-- keep_import_request
insert into import_request (import_request_id, content_sha256, receipt) values ($1, $2, $3::json)";

    DEVICE = "-- device
select spec::text as spec from device where device_id = $1";

    KEEP_DEVICE = "-- keep_device
insert into device (device_id, spec, catalog_version) values ($1, $2::json, $3)
on conflict (device_id) do update set spec = excluded.spec, catalog_version = excluded.catalog_version";

    TOUCH_WORKLOADS = "-- touch_workloads
update workload set catalog_version = $2 where device_id = $1";

    IMPORT_WORKLOAD = "-- import_workload
insert into workload (device_id, name, family, catalog_version)
select $2, given.name, coalesce(given.family, present.family, given.default_family), $3
from json_to_recordset($1::json) as given (name text, family text, default_family text)
left join workload as present on present.device_id = $2 and present.name = given.name
on conflict (device_id, name) do update set family = excluded.family, catalog_version = excluded.catalog_version";

    CLEAR_SIGNATURE = "-- clear_signature
delete from signature
using json_to_recordset($1::json) as given (workload text, sm_share double precision), workload
where workload.device_id = $2 and workload.name = given.workload
  and signature.workload_id = workload.workload_id
  and signature.sm_share > given.sm_share - 1e-6 and signature.sm_share < given.sm_share + 1e-6";

    IMPORT_SIGNATURE = "-- import_signature
insert into signature (workload_id, sm_share, position, operator, grid, block, dtype, launches, duration_us, counters,
                       provenance, clocks_locked)
select workload.workload_id, given.sm_share, given.position, given.operator, given.grid, given.block, given.dtype,
       given.launches, given.duration_us, given.counters, given.provenance, given.clocks_locked
from json_to_recordset($1::json) as given (
    workload text, sm_share double precision, position integer, operator text, grid text, block text, dtype text,
    launches double precision, duration_us double precision, counters json, provenance text, clocks_locked boolean)
join workload on workload.device_id = $2 and workload.name = given.workload";

    CLEAR_SOLO = "-- clear_solo
delete from solo_latency
using json_to_recordset($1::json) as given (workload text, sm_share double precision), workload
where workload.device_id = $2 and workload.name = given.workload
  and solo_latency.workload_id = workload.workload_id
  and solo_latency.sm_share > given.sm_share - 1e-6 and solo_latency.sm_share < given.sm_share + 1e-6";

    IMPORT_SOLO = "-- import_solo
insert into solo_latency (workload_id, sm_share, latency_us, stdev_us, samples, provenance, from_kernels)
select workload.workload_id, given.sm_share, given.latency_us, given.stdev_us, given.samples, given.provenance,
       given.from_kernels
from json_to_recordset($1::json) as given (
    workload text, sm_share double precision, latency_us double precision, stdev_us double precision, samples bigint,
    provenance text, from_kernels boolean)
join workload on workload.device_id = $2 and workload.name = given.workload";

    CLEAR_TRACE = "-- clear_trace
delete from trace_entry
using json_to_recordset($1::json) as given (workload text), workload
where workload.device_id = $2 and workload.name = given.workload and trace_entry.workload_id = workload.workload_id";

    IMPORT_TRACE = "-- import_trace
insert into trace_entry (workload_id, position, operator, gap_before_us)
select workload.workload_id, given.position, given.operator, given.gap_before_us
from json_to_recordset($1::json) as given (workload text, position bigint, operator text, gap_before_us double precision)
join workload on workload.device_id = $2 and workload.name = given.workload";

    IMPORT_PAIR = "-- import_pair
insert into pair_sample (device_id, sharing_mode, pair_id, a_workload, b_workload, a_sm_share, b_sm_share, a_solo_us,
                         b_solo_us, a_corun_us, b_corun_us, a_stdev_us, b_stdev_us, campaign, provenance)
select $2, given.sharing_mode, given.pair_id, given.a_workload, given.b_workload, given.a_sm_share, given.b_sm_share,
       given.a_solo_us, given.b_solo_us, given.a_corun_us, given.b_corun_us, given.a_stdev_us, given.b_stdev_us,
       given.campaign, given.provenance
from json_to_recordset($1::json) as given (
    sharing_mode text, pair_id text, a_workload text, b_workload text, a_sm_share double precision,
    b_sm_share double precision, a_solo_us double precision, b_solo_us double precision, a_corun_us double precision,
    b_corun_us double precision, a_stdev_us double precision, b_stdev_us double precision, campaign text, provenance text)
on conflict (device_id, sharing_mode, pair_id) do update set
    a_workload = excluded.a_workload, b_workload = excluded.b_workload, a_sm_share = excluded.a_sm_share,
    b_sm_share = excluded.b_sm_share, a_solo_us = excluded.a_solo_us, b_solo_us = excluded.b_solo_us,
    a_corun_us = excluded.a_corun_us, b_corun_us = excluded.b_corun_us, a_stdev_us = excluded.a_stdev_us,
    b_stdev_us = excluded.b_stdev_us, campaign = excluded.campaign, provenance = excluded.provenance";

    DELETE_WORKLOAD = "-- delete_workload
delete from workload where device_id = $1 and name = $2";

    DELETE_PAIR = "-- delete_pair
delete from pair_sample where device_id = $1 and (a_workload = $2 or b_workload = $2)";

    LOAD_DEVICE = "-- load_device
select spec::text as spec from device";

    LOAD_WORKLOAD = "-- load_workload
select workload_id, device_id, name, family, catalog_version from workload";

    LOAD_SOLO = "-- load_solo
select workload_id, name as workload, sm_share, latency_us, stdev_us, samples, provenance, from_kernels
from workload join solo_latency using (workload_id)
where catalog_version > $1";

    /// Columns are read by their place.
    LOAD_SIGNATURE = "-- load_signature
select workload_id, sm_share, operator, launches, duration_us, counters::text, provenance, clocks_locked
from signature
where workload_id in (select workload_id from workload where catalog_version > $1)
order by workload_id, sm_share, position";

    LOAD_PREDICTOR = "-- load_predictor
select predictor_id, content_sha256, device_id, sharing_mode, samples, provenance, held_out_mean_error_pct,
       (extract(epoch from created_at) * 1000)::bigint as created_at,
       predictor_id = (
           select newest.predictor_id from predictor_activation as newest
           where newest.device_id = predictor.device_id and newest.sharing_mode = predictor.sharing_mode
           order by newest.predictor_activation_id desc limit 1) is true as active
from predictor
order by predictor.created_at desc, predictor_id";

    PREDICTOR_ARTEFACT = "-- predictor_artefact
select artefact from predictor where predictor_id = $1";

    PREDICTOR_SCOPE = "-- predictor_scope
select device_id, sharing_mode from predictor where predictor_id = $1";

    KEEP_PREDICTOR = "-- keep_predictor
insert into predictor (predictor_id, device_id, sharing_mode, content_sha256, artefact, samples, provenance,
                       held_out_mean_error_pct)
values ($1, $2, $3, $4, $5, $6, $7, $8)
on conflict (predictor_id) do nothing";

    NEWEST_ACTIVATION = "-- newest_activation
select predictor_activation_id, predictor_id, previous_activation_id from predictor_activation
where device_id = $1 and sharing_mode = $2
order by predictor_activation_id desc limit 1";

    ACTIVATION = "-- activation
select predictor_activation_id, predictor_id, previous_activation_id from predictor_activation
where predictor_activation_id = $1";

    ACTIVATE = "-- activate
insert into predictor_activation (device_id, sharing_mode, predictor_id, previous_activation_id) values ($1, $2, $3, $4)";

    SIGNATURE_PAGE = "-- signature_page
select name as workload, family, sm_share, position, operator, grid, block, dtype, launches, duration_us,
       counters::text as counters, provenance, clocks_locked
from workload join signature using (workload_id)
where device_id = $1 and name = $2 and strpos(operator, $3) > 0
  and sm_share > $4 - 1e-6 and (sm_share >= $4 + 1e-6 or position > $5)
order by sm_share, position
limit $6";

    SIGNATURE = "-- signature
select name as workload, family, sm_share, position, operator, grid, block, dtype, launches, duration_us,
       counters::text as counters, provenance, clocks_locked
from workload join signature using (workload_id)
where device_id = $1 and name = $2 and sm_share > $3 - 1e-6 and sm_share < $3 + 1e-6 and position = $4";

    PAIR_SAMPLES = "-- pair_samples
select pair_id, sharing_mode, a_workload, b_workload, a_sm_share, b_sm_share, a_solo_us, b_solo_us, a_corun_us, b_corun_us,
       a_stdev_us, b_stdev_us, campaign, provenance
from pair_sample
where device_id = $1 and sharing_mode = $2
order by pair_id collate \"C\"";

    TRACE = "-- trace
select name as workload, position, operator, gap_before_us
from workload join trace_entry using (workload_id)
where device_id = $1 and name = $2
order by position";
}
