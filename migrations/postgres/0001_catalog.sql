-- The catalog: devices, the workloads measured on them, and the predictors fitted from those.

create table catalog (
    -- One row: its lock puts all writes in one order, so that versions appear in the order of their commits.
    catalog_id smallint primary key default 1 check (catalog_id = 1),
    version bigint not null
);

insert into catalog (version) values (0);

create table device (
    device_id text primary key,
    -- json, not jsonb: read as a whole and never searched, so it is kept as it came.
    spec json not null,
    -- Version at which the spec last changed.
    catalog_version bigint not null
);

create table workload (
    workload_id bigint generated always as identity primary key,
    device_id text not null references device (device_id),
    name text not null,
    family text not null,
    -- Version at which anything that a snapshot reads of the workload last changed.
    catalog_version bigint not null,
    -- A workload is known by its name on its device.
    unique (device_id, name)
);

-- Snapshots read the workloads that changed after a version.
create index workload_by_version on workload (catalog_version);

create table signature (
    -- Signatures are nothing without their workload.
    workload_id bigint not null references workload (workload_id) on delete cascade,
    -- Kept to the bit; equal shares (closer than 1e-6) are found by a range.
    sm_share double precision not null check (sm_share > 0 and sm_share <= 1),
    position integer not null,
    operator text not null,
    grid text not null,
    block text not null,
    dtype text not null,
    launches double precision not null,
    duration_us double precision not null,
    counters json not null,
    provenance text not null,
    clocks_locked boolean not null,
    -- Also the order in which snapshots and pages read.
    primary key (workload_id, sm_share, position)
);

create table solo_latency (
    workload_id bigint not null references workload (workload_id) on delete cascade,
    sm_share double precision not null check (sm_share > 0 and sm_share <= 1),
    latency_us double precision not null,
    stdev_us double precision,
    samples bigint,
    provenance text not null,
    from_kernels boolean not null,
    -- One latency for a workload and share.
    primary key (workload_id, sm_share)
);

create table trace_entry (
    workload_id bigint not null references workload (workload_id) on delete cascade,
    position bigint not null,
    operator text not null,
    gap_before_us double precision not null,
    -- One launch for a place in the sequence.
    primary key (workload_id, position)
);

create table pair_sample (
    device_id text not null references device (device_id),
    sharing_mode text not null,
    pair_id text not null,
    -- Names, not keys of workload: a co-run is worth keeping before the signatures of its workloads come.
    a_workload text not null,
    b_workload text not null,
    a_sm_share double precision not null,
    b_sm_share double precision not null,
    a_solo_us double precision not null,
    b_solo_us double precision not null,
    a_corun_us double precision,
    b_corun_us double precision,
    a_stdev_us double precision,
    b_stdev_us double precision,
    campaign text not null,
    provenance text not null,
    -- The same row of a source imported again replaces itself.
    primary key (device_id, sharing_mode, pair_id)
);

create table predictor (
    -- The version that answers name.
    predictor_id text primary key,
    -- Not a key of device: a predictor may come before the first signature of its device.
    device_id text not null,
    sharing_mode text not null,
    content_sha256 text not null,
    -- text: the hash is over these bytes.
    artefact text not null,
    samples bigint not null,
    provenance text not null,
    held_out_mean_error_pct double precision not null,
    created_at timestamptz not null default now()
);

-- What answered when: rows are only added, and the newest of a device and mode answers.
create table predictor_activation (
    predictor_activation_id bigint generated always as identity primary key,
    device_id text not null,
    sharing_mode text not null,
    predictor_id text not null references predictor (predictor_id),
    -- The activation to which a roll back returns. A roll back takes over the one of the activation that it returns to, so
    -- that the next roll back goes further into the past instead of forth again.
    previous_activation_id bigint references predictor_activation (predictor_activation_id),
    created_at timestamptz not null default now()
);

create index predictor_activation_newest on predictor_activation (device_id, sharing_mode, predictor_activation_id desc);

create table import_request (
    -- One import for a request, however often it is sent.
    import_request_id text primary key,
    content_sha256 text not null,
    receipt json not null,
    created_at timestamptz not null default now()
);
