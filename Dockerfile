# The daemon in a small image: docker build -t pairsight .
FROM rust:1.95-slim-bookworm AS build
WORKDIR /src
COPY . .
# A Rust toolchain and a C compiler (for SQLite and ring) are all that the build needs; the image brings both.
RUN cargo build --locked --release --bin pairsight

FROM debian:bookworm-slim
# Roots to check the certificate of a Postgres with; the newest that the release has, not one pinned here.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /var/lib/pairsight --create-home --shell /usr/sbin/nologin pairsight
COPY --from=build /src/target/release/pairsight /usr/local/bin/pairsight

# In a container loopback is nobody's address; who may reach the ports is decided where they are published.
ENV PAIRSIGHT__DATA_DIR=/var/lib/pairsight \
    PAIRSIGHT__SERVER__GRPC_LISTEN=0.0.0.0:50051 \
    PAIRSIGHT__ADMIN__LISTEN=0.0.0.0:9464 \
    PAIRSIGHT__LOG__FORMAT=json
USER 10001
VOLUME /var/lib/pairsight
EXPOSE 50051 9464
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 CMD ["pairsight", "healthcheck"]
# The daemon drains on SIGTERM, which is what a stop sends.
ENTRYPOINT ["pairsight"]
CMD ["serve"]
