//! Messages as JSON.

use pairsight::{
    proto::{PairSample, PredictPairResponse, PredictPairResult, Provenance, TenantPrediction, predict_pair_result},
    server::{ServiceError, json::to_json},
};
use prost::Message;
use serde_json::json;
use tonic::Status;

#[test]
fn zeros_are_written_enums_are_named_and_integers_are_numbers() {
    let answer = PredictPairResponse {
        catalog_version: 1 << 40,
        tenants: vec![TenantPrediction { provenance: Provenance::Simulated.into(), ..TenantPrediction::default() }],
        ..PredictPairResponse::default()
    };
    let json = to_json(&answer).unwrap();
    assert_eq!(json["catalog_version"], json!(1_u64 << 40));
    assert_eq!(json["confidence_class"], "CONFIDENCE_CLASS_UNSPECIFIED");
    assert_eq!(json["reasons"], json!([]));
    assert_eq!(json["predictor_version"], "");
    let tenant = &json["tenants"][0];
    assert_eq!(tenant["slowdown_ratio"], json!(0.0));
    assert_eq!((&tenant["sm_count"], &tenant["provenance"]), (&json!(0), &json!("PROVENANCE_SIMULATED")));
}

#[test]
fn optional_fields_that_are_not_set_are_left_out() {
    let json = to_json(&PairSample { a_corun_us: Some(0.0), ..PairSample::default() }).unwrap();
    assert_eq!(json["a_corun_us"], json!(0.0));
    assert!(json.get("b_corun_us").is_none(), "{json}");
}

#[test]
fn the_details_of_an_error_are_shown_and_unknown_ones_left_out() {
    let status = Status::from(ServiceError::field("tenants[0].sm_share", "must lie in (0, 1]"));
    let mut error = tonic_types::Status::decode(status.details()).unwrap();
    let unknown = prost_types::Any { type_url: "type.googleapis.com/some.Other".to_owned(), value: vec![1, 2, 3] };
    error.details.push(unknown);
    let json = to_json(&PredictPairResult { result: Some(predict_pair_result::Result::Error(error)) }).unwrap();
    let details = json["error"]["details"].as_array().unwrap();
    assert_eq!(details.len(), 2);
    assert_eq!(details[0]["reason"], "INVALID_FIELD");
    assert_eq!(details[1]["field_violations"][0]["field"], "tenants[0].sm_share");
}
