"""A client as a scheduler would write it: grpcio, stubs generated from proto/, and once without stubs by reflection.

Usage: test_client.py PATH_OF_PAIRSIGHT. Starts the daemon on free ports with a data directory of its own and the bundled catalog.
"""

import contextlib
import json
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
import urllib.request

import grpc
from google.protobuf import message_factory
from google.protobuf.descriptor_pool import DescriptorPool
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from grpc_status import rpc_status
from pairsight.v1 import (
    catalog_pb2,
    catalog_pb2_grpc,
    prediction_pb2,
    prediction_pb2_grpc,
    profiling_pb2,
    profiling_pb2_grpc,
    types_pb2,
)

DEVICE = "sim-qv100-eighth"
START_SECONDS = 60
CALL_SECONDS = 10
EXIT_SECONDS = 30

TESTS = []


def test(function):
    """Registers a test; it gets an open channel."""
    TESTS.append(function)
    return function


def tenant(workload, sm_share=0.5):
    return prediction_pb2.Tenant(workload=workload, sm_share=sm_share)


def pair(a="decode_a", b="mixed_b", device=DEVICE, **fields):
    return prediction_pb2.PredictPairRequest(device=device, tenants=[tenant(a), tenant(b)], **fields)


def predict(channel, request):
    return prediction_pb2_grpc.PredictionServiceStub(channel).PredictPair(request, timeout=CALL_SECONDS)


def equal(got, expected, what):
    assert got == expected, f"{what}: expected {expected!r}, got {got!r}"


def close(got, expected, what):
    assert abs(got - expected) <= 1e-9 * max(abs(got), abs(expected)), f"{what}: expected {expected!r}, got {got!r}"


def failure(call):
    """Makes a call that has to fail; returns its code and its details by message name."""
    try:
        answer = call()
    except grpc.RpcError as error:
        status = rpc_status.from_call(error)
        assert status is not None, f"{error.code()}: no google.rpc.Status in the trailers"
        return error.code(), details_of(status)
    raise AssertionError(f"expected an error, got {answer}")


def details_of(status):
    """The details of a google.rpc.Status, unpacked, by message name."""
    kinds = (error_details_pb2.ErrorInfo, error_details_pb2.BadRequest, error_details_pb2.ResourceInfo)
    found = {}
    for detail in status.details:
        for kind in kinds:
            message = kind()
            if detail.Unpack(message):
                found[kind.__name__] = message
    return found


def check_error(details, reason):
    info = details["ErrorInfo"]
    equal(info.domain, "pairsight", "domain")
    equal(info.reason, reason, "reason")


@test
def health_is_serving(channel):
    answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=CALL_SECONDS)
    equal(answer.status, health_pb2.HealthCheckResponse.SERVING, "health")


@test
def lists_workloads_page_by_page(channel):
    stub = catalog_pb2_grpc.CatalogServiceStub(channel)

    def page(size, token=""):
        request = catalog_pb2.ListWorkloadsRequest(page_size=size, page_token=token)
        return stub.ListWorkloads(request, timeout=CALL_SECONDS)

    names, token = [], ""
    while True:
        answer = page(7, token)
        assert 1 <= len(answer.workloads) <= 7, f"page of {len(answer.workloads)}"
        names += [(workload.device, workload.workload) for workload in answer.workloads]
        token = answer.next_page_token
        if not token:
            break
    whole = [(workload.device, workload.workload) for workload in page(1000).workloads]
    equal(names, whole, "workloads over pages")
    assert len(set(names)) == len(names) > 7, f"{len(names)} workloads, {len(set(names))} distinct"
    assert (DEVICE, "decode_a") in names, names


@test
def page_token_is_bound_to_its_filter(channel):
    stub = catalog_pb2_grpc.CatalogServiceStub(channel)
    token = stub.ListWorkloads(catalog_pb2.ListWorkloadsRequest(page_size=1), timeout=CALL_SECONDS).next_page_token
    other = catalog_pb2.ListWorkloadsRequest(page_size=1, page_token=token, filter="gemm")
    code, details = failure(lambda: stub.ListWorkloads(other, timeout=CALL_SECONDS))
    equal(code, grpc.StatusCode.INVALID_ARGUMENT, "code")
    check_error(details, "PAGE_TOKEN_INVALID")


@test
def predicts_a_pair(channel):
    answer = predict(channel, pair())
    equal([t.workload for t in answer.tenants], ["decode_a", "mixed_b"], "tenants in the order asked")
    for side in answer.tenants:
        close(side.slowdown_ratio, side.predicted_latency_us / side.solo_latency_us, "slowdown_ratio")
        total = sum(part.excess_ratio for part in side.contributions)
        assert abs(total - (side.slowdown_ratio - 1)) < 1e-6, f"contributions sum to {total}, slowdown {side.slowdown_ratio}"
        assert side.slowdown_ratio >= 1, side.slowdown_ratio
        assert side.upper_latency_us >= side.predicted_latency_us, "the bound lies below the prediction"
        equal((side.sm_share, side.sm_count), (0.5, 5), "share")
        equal(side.provenance, types_pb2.PROVENANCE_SIMULATED, "provenance")
        assert len(side.worst_operator_pairs) <= 5, len(side.worst_operator_pairs)
    assert "SIMULATED_DATA" in {reason.code for reason in answer.reasons}, answer.reasons
    assert answer.predictor_version and answer.catalog_version > 0, answer


@test
def swapped_tenants_get_the_same_answer(channel):
    straight, swapped = predict(channel, pair()), predict(channel, pair("mixed_b", "decode_a"))
    for one, other in zip(straight.tenants, reversed(swapped.tenants), strict=True):
        close(one.predicted_latency_us, other.predicted_latency_us, one.workload)


@test
def predicts_many_pairs_with_a_bad_one_among_them(channel):
    stub = prediction_pb2_grpc.PredictionServiceStub(channel)
    requests = [pair(), pair("no-such-workload"), pair("mobile_a", "recsys_a")]
    results = stub.PredictPairs(prediction_pb2.PredictPairsRequest(requests=requests), timeout=CALL_SECONDS).results
    equal([result.WhichOneof("result") for result in results], ["response", "error", "response"], "results")
    equal(results[1].error.code, grpc.StatusCode.NOT_FOUND.value[0], "code of the item")
    check_error(details_of(results[1].error), "WORKLOAD_UNKNOWN")
    single = predict(channel, requests[2])
    for one, other in zip(results[2].response.tenants, single.tenants, strict=True):
        close(one.predicted_latency_us, other.predicted_latency_us, "PredictPairs beside PredictPair")


@test
def streams_in_the_order_asked(channel):
    stub = prediction_pb2_grpc.PredictionServiceStub(channel)
    requests = [pair(), pair(device="no-such-device"), pair("mixed_b", "decode_a")] * 20
    stream = stub.StreamPredictPairs(prediction_pb2.StreamPredictPairsRequest(requests=requests), timeout=CALL_SECONDS)
    got = [m.response.tenants[0].workload if m.WhichOneof("result") == "response" else m.error.code for m in stream]
    equal(got, ["decode_a", grpc.StatusCode.NOT_FOUND.value[0], "mixed_b"] * 20, "stream")


@test
def unknown_device_is_named(channel):
    code, details = failure(lambda: predict(channel, pair(device="no-such-device")))
    equal(code, grpc.StatusCode.NOT_FOUND, "code")
    check_error(details, "DEVICE_UNKNOWN")
    assert "no-such-device" in details["ResourceInfo"].resource_name, details["ResourceInfo"]


@test
def bad_field_is_named(channel):
    request = pair()
    request.tenants[1].sm_share = float("nan")
    code, details = failure(lambda: predict(channel, request))
    equal(code, grpc.StatusCode.INVALID_ARGUMENT, "code")
    check_error(details, "INVALID_FIELD")
    fields = [violation.field for violation in details["BadRequest"].field_violations]
    equal(fields, ["tenants[1].sm_share"], "field")


@test
def shares_that_do_not_fit_are_refused(channel):
    request = pair(sharing_mode=types_pb2.SHARING_MODE_SM_PARTITION)
    request.tenants[0].sm_share = 0.7
    code, details = failure(lambda: predict(channel, request))
    equal(code, grpc.StatusCode.INVALID_ARGUMENT, "code")
    check_error(details, "SHARES_EXCEED_DEVICE")


@test
def profiling_is_declared_and_says_that_it_is_not_built(channel):
    stub = profiling_pb2_grpc.ProfilingServiceStub(channel)
    code, details = failure(lambda: stub.ProfileModel(profiling_pb2.ProfileModelRequest(), timeout=CALL_SECONDS))
    equal(code, grpc.StatusCode.UNIMPLEMENTED, "code")
    check_error(details, "NOT_BUILT")


@test
def reflection_is_enough_to_call(channel):
    database = ProtoReflectionDescriptorDatabase(channel)
    services = set(database.get_services())
    for name in ("PredictionService", "CatalogService", "ProfilingService"):
        assert f"pairsight.v1.{name}" in services, services
    pool = DescriptorPool(database)
    method = pool.FindServiceByName("pairsight.v1.PredictionService").FindMethodByName("PredictPair")
    request_type, answer_type = (message_factory.GetMessageClass(t) for t in (method.input_type, method.output_type))
    call = channel.unary_unary(
        "/pairsight.v1.PredictionService/PredictPair",
        request_serializer=request_type.SerializeToString,
        response_deserializer=answer_type.FromString,
    )
    request = request_type(device=DEVICE)
    for workload in ("decode_a", "mixed_b"):
        request.tenants.add(workload=workload, sm_share=0.5)
    equal([t.workload for t in call(request, timeout=CALL_SECONDS).tenants], ["decode_a", "mixed_b"], "tenants")


def first_line(process):
    """The line of bound addresses; an error when it does not come in time."""
    timer = threading.Timer(START_SECONDS, process.kill)
    timer.start()
    try:
        line = process.stdout.readline()
    finally:
        timer.cancel()
    assert line, f"the daemon said nothing within {START_SECONDS} s or ended"
    return json.loads(line)


@contextlib.contextmanager
def daemon(binary):
    """A running daemon; yields its addresses. It has to end by itself, and with 0, after SIGTERM."""
    with tempfile.TemporaryDirectory(prefix="pairsight-python-") as data_dir:
        command = [binary, "--data-dir", data_dir, "serve", "--grpc-listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            yield first_line(process)
            process.send_signal(signal.SIGTERM)
            equal(process.wait(EXIT_SECONDS), 0, "exit status after SIGTERM")
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()


def wait_until_ready(addresses, channel):
    grpc.channel_ready_future(channel).result(timeout=START_SECONDS)
    stub = health_pb2_grpc.HealthStub(channel)
    for answer in stub.Watch(health_pb2.HealthCheckRequest(), timeout=START_SECONDS):
        if answer.status == health_pb2.HealthCheckResponse.SERVING:
            break
    with urllib.request.urlopen(f"http://{addresses['admin']}/readyz", timeout=CALL_SECONDS) as answer:
        equal(answer.status, 200, "/readyz")


def main(binary):
    passed = failed = 0
    with daemon(binary) as addresses, grpc.insecure_channel(addresses["grpc"]) as channel:
        wait_until_ready(addresses, channel)
        for function in TESTS:
            try:
                function(channel)
                passed += 1
                print(f"ok      {function.__name__}")
            except Exception:
                failed += 1
                print(f"FAILED  {function.__name__}")
                traceback.print_exc(file=sys.stdout)
    print(f"python: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
