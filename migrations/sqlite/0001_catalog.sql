-- The catalog: devices, the workloads measured on them, and the predictors fitted from those. The same tables as for Postgres,
-- where SQLite has the type; strict, so that no column takes what Postgres would refuse.

create table catalog (
    -- One row only.
    catalog_id integer primary key default 1 check (catalog_id = 1),
    version integer not null
) strict;

insert into catalog (version) values (0);

create table device (
    device_id text primary key,
    -- JSON, read as a whole.
    spec text not null,
    -- Version at which the spec last changed.
    catalog_version integer not null
) strict;

create table workload (
    -- autoincrement: a key is never used again, so that a snapshot cannot take a new workload for a deleted one.
    workload_id integer primary key autoincrement,
    device_id text not null references device (device_id),
    name text not null,
    family text not null,
    -- Version at which anything that a snapshot reads of the workload last changed.
    catalog_version integer not null,
    -- A workload is known by its name on its device.
    unique (device_id, name)
) strict;

-- Snapshots read the workloads that changed after a version.
create index workload_by_version on workload (catalog_version);

create table signature (
    -- Signatures are nothing without their workload.
    workload_id integer not null references workload (workload_id) on delete cascade,
    -- Kept to the bit; equal shares (closer than 1e-6) are found by a range.
    sm_share real not null check (sm_share > 0 and sm_share <= 1),
    position integer not null,
    operator text not null,
    grid text not null,
    block text not null,
    dtype text not null,
    launches real not null,
    duration_us real not null,
    counters text not null,
    provenance text not null,
    clocks_locked integer not null,
    -- Also the order in which snapshots and pages read.
    primary key (workload_id, sm_share, position)
) strict, without rowid;

create table solo_latency (
    workload_id integer not null references workload (workload_id) on delete cascade,
    sm_share real not null check (sm_share > 0 and sm_share <= 1),
    latency_us real not null,
    stdev_us real,
    samples integer,
    provenance text not null,
    from_kernels integer not null,
    -- One latency for a workload and share.
    primary key (workload_id, sm_share)
) strict, without rowid;

create table trace_entry (
    workload_id integer not null references workload (workload_id) on delete cascade,
    position integer not null,
    operator text not null,
    gap_before_us real not null,
    -- One launch for a place in the sequence.
    primary key (workload_id, position)
) strict, without rowid;

create table pair_sample (
    device_id text not null references device (device_id),
    sharing_mode text not null,
    pair_id text not null,
    -- Names, not keys of workload: a co-run is worth keeping before the signatures of its workloads come.
    a_workload text not null,
    b_workload text not null,
    a_sm_share real not null,
    b_sm_share real not null,
    a_solo_us real not null,
    b_solo_us real not null,
    a_corun_us real,
    b_corun_us real,
    a_stdev_us real,
    b_stdev_us real,
    campaign text not null,
    provenance text not null,
    -- The same row of a source imported again replaces itself.
    primary key (device_id, sharing_mode, pair_id)
) strict;

create table predictor (
    -- The version that answers name.
    predictor_id text primary key,
    -- Not a key of device: a predictor may come before the first signature of its device.
    device_id text not null,
    sharing_mode text not null,
    content_sha256 text not null,
    -- text: the hash is over these bytes.
    artefact text not null,
    samples integer not null,
    provenance text not null,
    held_out_mean_error_pct real not null,
    -- Milliseconds since 1970.
    created_at integer not null default (cast(unixepoch('subsec') * 1000 as integer))
) strict;

-- What answered when: rows are only added, and the newest of a device and mode answers.
create table predictor_activation (
    predictor_activation_id integer primary key autoincrement,
    device_id text not null,
    sharing_mode text not null,
    predictor_id text not null references predictor (predictor_id),
    -- The activation to which a roll back returns. A roll back takes over the one of the activation that it returns to, so
    -- that the next roll back goes further into the past instead of forth again.
    previous_activation_id integer references predictor_activation (predictor_activation_id),
    created_at integer not null default (cast(unixepoch('subsec') * 1000 as integer))
) strict;

create index predictor_activation_newest on predictor_activation (device_id, sharing_mode, predictor_activation_id desc);

create table import_request (
    -- One import for a request, however often it is sent.
    import_request_id text primary key,
    content_sha256 text not null,
    receipt text not null,
    created_at integer not null default (cast(unixepoch('subsec') * 1000 as integer))
) strict;
