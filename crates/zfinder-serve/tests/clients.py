"""Sends requests to `zfinder serve` with tritonclient, coffea and perf_analyzer of PyPI, and compares each answer with
`zfinder find`, bit by bit. perf_analyzer is skipped where it cannot run.

Usage: clients.py COMMAND
"""

import contextlib
import csv
import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import awkward as ak
import numpy as np
import tritonclient.grpc
import tritonclient.http
from tritonclient.grpc import model_config_pb2, service_pb2
from tritonclient.utils import InferenceServerException, shared_memory

DATATYPES = {"int64": "INT64", "float64": "FP64", "float32": "FP32", "uint8": "UINT8", "uint64": "UINT64"}
STATUSES = ["ok", "empty", "no_peak", "bad_spacepoint", "capacity_exceeded"]
PROTO = Path(__file__).parent.parent / "proto/inference.proto"

sys.path.append(str(Path(__file__).parents[3] / "examples"))
from coffea_client import VertexFinder


def events(count, random):
    """Columns of straight tracks and noise, as float64, and offsets."""
    columns, offsets = {name: [] for name in ("X", "Y", "Z", "LAYER")}, [0]
    radii = np.array([50.5, 88.5, 122.5, 299.0, 371.0, 443.0, 514.0])
    for _ in range(count):
        tracks = int(random.integers(0, 40))
        phi = random.uniform(-np.pi, np.pi, tracks)
        slope = random.normal(0, 0.8, tracks)
        vertex = random.normal(0, 40)
        for layer, radius in enumerate(radii):
            columns["X"].extend(radius * np.cos(phi))
            columns["Y"].extend(radius * np.sin(phi))
            columns["Z"].extend(vertex + slope * radius + random.normal(0, 0.05, tracks))
            columns["LAYER"].extend([layer] * tracks)
        offsets.append(len(columns["X"]))
    arrays = {name: np.array(values, np.float64) for name, values in columns.items()}
    arrays["LAYER"] = arrays["LAYER"].astype(np.uint8)
    return arrays | {"OFFSETS": np.array(offsets, np.int64)}


def find(command, preset, columns, folder):
    """The answers of `zfinder find`, one a non-empty event."""
    path = Path(folder) / "events.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["event_id", "x", "y", "z", "layer"])
        for event, (begin, end) in enumerate(zip(columns["OFFSETS"], columns["OFFSETS"][1:])):
            for i in range(begin, end):
                x, y, z = (repr(float(columns[name][i])) for name in ("X", "Y", "Z"))
                writer.writerow([event, x, y, z, columns["LAYER"][i]])
    arguments = ["find", "-q", "--engine", "cpu", "--preset", preset, "--format", "jsonl", str(path)]
    lines = subprocess.run([command, *arguments], check=True, capture_output=True, text=True).stdout.splitlines()
    return {roi["event_id"]: roi for roi in map(json.loads, lines) if "vertices" in roi}


def check(answer, wanted, columns):
    """Compares an answer of a client with those of the command."""
    get = answer.as_numpy
    counts, status, fallback = get("COUNTS"), get("STATUS"), get("FALLBACK")
    assert len(counts) == len(columns["OFFSETS"]) - 1
    ends = np.cumsum(counts)
    for event, count in enumerate(counts):
        if columns["OFFSETS"][event] == columns["OFFSETS"][event + 1]:
            assert count == 0 and STATUSES[status[event]] == "empty"
            continue
        roi = wanted[event]
        assert STATUSES[status[event]] == roi["status"]
        assert bool(fallback[event]) == roi["fallback"]
        assert get("SPACEPOINTS")[event] == roi["spacepoints"]
        vertices = slice(ends[event] - count, ends[event])
        for name, key in [("Z", "z_mm"), ("Z_ERROR", "z_error_mm"), ("WEIGHT", "weight"), ("RANK", "rank")]:
            assert get(name)[vertices].tolist() == [vertex[key] for vertex in roi["vertices"]], (event, name)
        for name in ("SIGNIFICANCE", "BACKGROUND"):
            found = [None if np.isnan(value) else value for value in get(name)[vertices].tolist()]
            assert found == [vertex.get(name.lower()) for vertex in roi["vertices"]], (event, name)


def inputs(module, columns, **options):
    tensors = []
    for name, column in columns.items():
        tensor = module.InferInput(name, list(column.shape), DATATYPES[column.dtype.name])
        tensor.set_data_from_numpy(column, **options)
        tensors.append(tensor)
    return tensors


def every_input(module, metadata, columns):
    """All inputs of a model, as CMSSW's SonicTriton and DUNE's triggeralgs send them: unused ones
    have no elements."""
    types = {name: dtype for dtype, name in DATATYPES.items()}
    empty = {
        tensor.name: np.zeros([max(0, length) for length in tensor.shape], types[tensor.datatype])
        for tensor in metadata.inputs
    }
    assert len(empty) == 11 and set(columns) < set(empty)
    return inputs(module, empty | columns)


def check_clients(grpc_address, http_address, command):
    random = np.random.default_rng(41)
    columns = events(50, random)
    with tritonclient.grpc.InferenceServerClient(grpc_address) as grpc, tempfile.TemporaryDirectory() as folder:
        http = tritonclient.http.InferenceServerClient(http_address)
        for client in (grpc, http):
            assert client.is_server_live() and client.is_server_ready()
            assert client.is_model_ready("zfinder-auto")
            assert not client.is_model_ready("unknown")
        names = [model.name for model in grpc.get_model_repository_index().models]
        assert [model["name"] for model in http.get_model_repository_index()] == names
        for name in names[1::3]:
            metadata = grpc.get_model_metadata(name)
            assert name.endswith("-xyz") and [of.name for of in metadata.inputs] == ["OFFSETS", "X", "Y", "Z", "LAYER"]
        names = names[::3]
        assert len(names) == 14
        assert grpc.get_server_metadata().name == http.get_server_metadata()["name"] == "zfinder"
        for name in names:
            config = grpc.get_model_config(name).config
            assert config.name == http.get_model_config(name)["name"] == name
            outputs = [output.name for output in grpc.get_model_metadata(name).outputs]
            assert [output["name"] for output in http.get_model_metadata(name)["outputs"]] == outputs
            assert [output.name for output in config.output] == outputs
            wanted = find(command, name.removeprefix("zfinder-"), columns, folder)
            check(grpc.infer(name, inputs(tritonclient.grpc, columns)), wanted, columns)
            every = every_input(tritonclient.grpc, grpc.get_model_metadata(name), columns)
            check(grpc.infer(f"{name}-xyz", every), wanted, columns)
            for is_binary in (True, False):
                tensors = inputs(tritonclient.http, columns, binary_data=is_binary)
                asked = [tritonclient.http.InferRequestedOutput(output, binary_data=is_binary) for output in outputs]
                if is_binary:
                    check(http.infer(name, tensors, outputs=asked), wanted, columns)
                else:
                    # NaN has no number in JSON: the client makes None of it.
                    answer = http.infer(name, tensors, outputs=asked[:9])
                    z = [vertex["z_mm"] for event in sorted(wanted) for vertex in wanted[event]["vertices"]]
                    assert answer.as_numpy("Z").tolist() == z, (name, answer.as_numpy("Z").tolist()[:5], z[:5], len(z))
            check(http.infer(name, inputs(tritonclient.http, columns)), wanted, columns)
        default = find(command, "default", columns, folder)
        for algorithm in ("gzip", "deflate"):
            tensors = inputs(tritonclient.grpc, columns)
            check(grpc.infer("zfinder-default", tensors, compression_algorithm=algorithm), default, columns)
            tensors = inputs(tritonclient.http, columns)
            check(http.infer("zfinder-default", tensors, request_compression_algorithm=algorithm), default, columns)
        check_stream(grpc, columns, default)
        statistics = grpc.get_inference_statistics("zfinder-auto").model_stats[0]
        assert statistics.inference_count == 5 * 50
        assert http.get_inference_statistics("zfinder-auto")["model_stats"][0]["inference_count"] == 5 * 50
        check_refusals(grpc, http, columns)
        check_shared_memory(tritonclient.grpc, grpc, columns, find(command, "auto", columns, folder))
        check_shared_memory(tritonclient.http, http, columns, find(command, "auto", columns, folder))
        grpc.unregister_cuda_shared_memory()


def check_shared_memory(module, client, columns, wanted):
    """All tensors in one region: inputs, then Z."""
    size = sum(column.nbytes for column in columns.values())
    vertices = [vertex["z_mm"] for event in sorted(wanted) for vertex in wanted[event]["vertices"]]
    room = 8 * len(vertices)
    key = f"/zfinder-clients-{os.getpid()}"
    region = shared_memory.create_shared_memory_region("all", key, size + room)
    try:
        client.register_system_shared_memory("all", key, size + room)
        assert len(client.get_system_shared_memory_status(**({"as_json": True} if module is tritonclient.grpc else {}))) == 1
        tensors, offset = [], 0
        for name, column in columns.items():
            shared_memory.set_shared_memory_region(region, [column], offset=offset)
            tensor = module.InferInput(name, list(column.shape), DATATYPES[column.dtype.name])
            tensor.set_shared_memory("all", column.nbytes, offset=offset)
            tensors.append(tensor)
            offset += column.nbytes
        output = module.InferRequestedOutput("Z")
        output.set_shared_memory("all", room, offset=size)
        client.infer("zfinder-auto", tensors, outputs=[output])
        assert shared_memory.get_contents_as_numpy(region, np.float64, [len(vertices)], offset=size).tolist() == vertices
        client.unregister_system_shared_memory("all")
    finally:
        shared_memory.destroy_shared_memory_region(region)


def check_connections(addresses, command):
    """10,000 idle connections do not hinder a client."""
    count = 10_000
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard != resource.RLIM_INFINITY and hard < count + 1_000:
        print(f"10,000 connections are skipped: `ulimit -Hn` is {hard}")
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (count + 1_000, hard))
    columns = events(5, np.random.default_rng(44))

    def metrics():
        with urllib.request.urlopen(f"http://{addresses['metrics']}/metrics") as answer:
            return answer.read().decode()

    with contextlib.ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
        wanted = find(command, "default", columns, folder)
        for number in range(count):
            host, port = addresses[("gRPC", "HTTP")[number % 2]].split(":")
            stack.enter_context(socket.create_connection((host, int(port))))
        client = stack.enter_context(tritonclient.grpc.InferenceServerClient(addresses["gRPC"]))
        check(client.infer("zfinder-default", inputs(tritonclient.grpc, columns)), wanted, columns)
        for _ in range(600):
            open_now = int(float(re.search(r"^zfinder_connections\S* (\S+)$", metrics(), re.MULTILINE)[1]))
            if open_now >= count:
                break
            time.sleep(0.1)
        assert open_now >= count, open_now
        check(client.infer("zfinder-default", inputs(tritonclient.grpc, columns)), wanted, columns)


def check_coffea(address, command):
    """coffea's wrapper, in requests of the server's batch size and in requests of 7 events."""
    columns = events(600, np.random.default_rng(42))
    for name in ("X", "Y", "Z"):
        columns[name] = columns[name].astype(np.float32)
    flat = ak.zip({name.lower(): columns[name] for name in ("X", "Y", "Z", "LAYER")})
    points = ak.unflatten(flat, np.diff(columns["OFFSETS"]))
    with tempfile.TemporaryDirectory() as folder:
        wanted = find(command, "hard-scatter", columns, folder)
    wanted = [wanted[event]["vertices"] if event in wanted else [] for event in range(len(points))]
    for options in ({}, {"batch_size": 7}):
        finder = VertexFinder(f"triton+grpc://{address}/zfinder-hard-scatter-xyz/1", {"ssl": False}, **options)
        found = finder(points)
        assert found.z.tolist() == [[vertex["z_mm"] for vertex in event] for event in wanted]
        assert found.z_error.tolist() == [[vertex["z_error_mm"] for vertex in event] for event in wanted]
    assert finder(points[:0]).tolist() == []


def check_perf_analyzer(grpc_address, http_address):
    """perf_analyzer ends with an error if a request fails. Returns whether it can run here."""
    program = shutil.which("perf_analyzer", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if not program or subprocess.run([program, "--version"], check=False, capture_output=True).returncode != 0:
        print("perf_analyzer is skipped: it needs glibc 2.38 or newer")
        return False
    columns = events(16, np.random.default_rng(43))
    tensors = {name: {"content": column.tolist(), "shape": [len(column)]} for name, column in columns.items()}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.json"
        path.write_text(json.dumps({"data": [tensors]}))
        for protocol, address in [("grpc", grpc_address), ("http", http_address)]:
            options = ["-m", "zfinder-default", "-i", protocol, "-u", address, "--input-data", str(path)]
            # Counts, because times are not stable on a shared machine.
            options += ["--measurement-mode", "count_windows", "--measurement-request-count", "200", "-s", "1000"]
            ran = subprocess.run([program, *options], check=False, capture_output=True, text=True, timeout=300)
            assert ran.returncode == 0 and "infer/sec" in ran.stdout, ran.stdout + ran.stderr
    return True


def check_stream(client, columns, wanted):
    answers = []
    client.start_stream(lambda result, error: answers.append((result, error)))
    for _ in range(5):
        client.async_stream_infer("zfinder-default", inputs(tritonclient.grpc, columns))
    client.stop_stream()
    assert len(answers) == 5
    for result, error in answers:
        assert error is None, error
        check(result, wanted, columns)


def check_refusals(grpc, http, columns):
    wrong = columns | {"LAYER": columns["LAYER"][:-1]}
    for module, client in [(tritonclient.grpc, grpc), (tritonclient.http, http)]:
        for model, tensors, words in [
            ("unknown", columns, "there is no model `unknown`"),
            ("zfinder-auto", wrong, "LAYER has"),
        ]:
            try:
                client.infer(model, inputs(module, tensors))
                raise AssertionError(words)
            except InferenceServerException as error:
                assert words in error.message(), error


def messages(text):
    """The fields of each message of a .proto: {message: {field: number}}."""
    fields, stack = {}, []
    for line in re.sub(r"//.*", "", text).splitlines():
        line = line.strip()
        if begin := re.match(r"(message|enum|oneof|service) (\w+) {", line):
            if not line.endswith("}"):
                stack.append(begin.groups())
            if begin[1] == "message":
                fields.setdefault(".".join(name for kind, name in stack if kind == "message") or begin[2], {})
        elif line == "}":
            stack.pop()
        elif (field := re.match(r"(?:repeated )?(?:map<.*>|[\w.]+) (\w+) = (\d+);", line)) and stack[0][0] == "message":
            message = ".".join(name for kind, name in stack if kind == "message")
            fields[message][field[1]] = int(field[2])
    return fields


def check_proto():
    """Names and numbers of the .proto are those of the public protocol, as tritonclient has it."""
    known = {}

    def add(message, prefix=""):
        known[prefix + message.name] = {field.name: field.number for field in message.fields}
        for nested in message.nested_types:
            add(nested, f"{prefix}{message.name}.")

    for module in (model_config_pb2, service_pb2):
        for message in module.DESCRIPTOR.message_types_by_name.values():
            add(message)
    text = PROTO.read_text()
    found = messages(text)
    assert len(found) > 50, len(found)
    for message, fields in found.items():
        for field, number in fields.items():
            assert known[message][field] == number, (message, field)
    calls = set(re.findall(r"rpc (\w+)\(", text))
    assert calls <= {method.name for method in service_pb2.DESCRIPTOR.services_by_name["GRPCInferenceService"].methods}
    assert len(calls) == 18


@contextlib.contextmanager
def running(command, *options):
    """A server on free ports: its addresses. It ends by a signal, and has answered all."""
    ports = ["--grpc", "0", "--http", "0", "--metrics", "0", "--engine", "cpu"]
    server = subprocess.Popen([command, "serve", *ports, *(() if "--detector" in options else ("--detector", "atlas2010")), *options], stderr=subprocess.PIPE, text=True)
    try:
        addresses = {}
        for line in server.stderr:
            if line == "ready\n":
                break
            if match := re.match(r"(\w+) on (\S+:\d+)$", line):
                addresses[match[1]] = match[2]
        yield addresses
        server.send_signal(signal.SIGTERM)
        rest = server.stderr.read()
        assert server.wait(timeout=60) == 0, rest
        assert "all accepted requests are answered" in rest, rest
    finally:
        server.kill()


def certificates(folder):
    """An authority, and a server and a client that it vouches for: PEM files by name."""

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    for name in ("authority", "stranger"):
        openssl("req", "-x509", *key, "-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", f"/CN={name}", "-days", "2")
    (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    for name in ("server", "client"):
        openssl("req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        issuer = ["-CA", "authority.pem", "-CAkey", "authority.key", "-CAcreateserial", "-extfile", "names"]
        openssl("x509", "-req", "-in", f"{name}.csr", *issuer, "-out", f"{name}.pem", "-days", "2")


def check_tls(command):
    """Mutual TLS: a client with a certificate is let in, one without or of another authority is not."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        certificates(folder)
        file = lambda name: str(folder / name)
        options = ["--tls-cert", file("server.pem"), "--tls-key", file("server.key")]
        preset = ["--preset", "default"]
        with running(command, *options, "--tls-client-ca", file("authority.pem"), *preset) as addresses:

            def is_live(**client):
                root = {"ssl": True, "root_certificates": file("authority.pem")}
                with tritonclient.grpc.InferenceServerClient(addresses["gRPC"], **root, **client) as grpc:
                    try:
                        return grpc.is_server_live(client_timeout=10)
                    except InferenceServerException:
                        return False

            assert is_live(certificate_chain=file("client.pem"), private_key=file("client.key"))
            assert not is_live()
            assert not is_live(certificate_chain=file("stranger.pem"), private_key=file("stranger.key"))
            with tritonclient.grpc.InferenceServerClient(addresses["gRPC"]) as plain:
                try:
                    plain.is_server_live(client_timeout=10)
                    raise AssertionError("a client without encryption was let in")
                except InferenceServerException:
                    pass


def main():
    command = sys.argv[1]
    check_proto()
    with running(command, "--shared-memory") as addresses:
        check_clients(addresses["gRPC"], addresses["HTTP"], command)
        check_coffea(addresses["gRPC"], command)
        check_connections(addresses, command)
        has_perf_analyzer = check_perf_analyzer(addresses["gRPC"], addresses["HTTP"])
    check_tls(command)
    print("zfinder serve: the answers of tritonclient and coffea are those of zfinder find")
    if has_perf_analyzer:
        print("zfinder serve: perf_analyzer measured it over gRPC and HTTP")


if __name__ == "__main__":
    main()
