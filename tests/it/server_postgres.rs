//! The server on Postgres.

use tonic_health::pb::health_check_response::ServingStatus;

use crate::{store_backend::Backend, support::spawn_unready};

#[tokio::test(flavor = "multi_thread")]
async fn serves_from_postgres_once_it_is_migrated() {
    Backend::postgres()
        .await
        .hold(async |backend| {
            let database = backend.config();
            let app = spawn_unready(|config| config.database = database).await;
            assert_eq!(app.status("").await, ServingStatus::NotServing);
            let store = backend.open().await;
            app.becomes(ServingStatus::Serving).await;
            app.stop().await.unwrap();
            store.close().await;
        })
        .await;
}
