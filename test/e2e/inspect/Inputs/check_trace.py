"""A trace has a track for every stream of every rank, and the events of a step on each; TensorBoard's file has the metrics' numbers.

  check_trace.py TRACE.json INSPECT.json METRICS.jsonl TENSORBOARD
"""
import json
import pathlib
import struct
import sys
from collections import Counter

TABLE = [0] * 256
for byte in range(256):
    value = byte
    for _ in range(8):
        value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    TABLE[byte] = value


def masked_crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def check(condition, text):
    if not condition:
        sys.exit(text)


def check_trace(trace, plan, steps):
    check(trace["otherData"]["dropped"] == 0, f"{trace['otherData']} events dropped")
    named = [e for e in trace["traceEvents"] if e["name"] == "thread_name"]
    tracks = Counter((event["pid"], event["args"]["name"]) for event in named)
    expected = Counter((rank, stream) for rank in range(plan["ranks"]) for stream in plan["streams"]) + Counter({(0, "steps"): 1})
    check(tracks == expected, f"tracks {tracks}, expected {expected}")
    spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    places = {(event["pid"], event["tid"]): event["args"]["name"] for event in named}
    found = Counter((event["pid"], places[event["pid"], event["tid"]]) for event in spans)
    check(all(found[track] >= steps for track in expected), f"events by track {found}")
    check(found[0, "steps"] == steps and all(event["dur"] >= 0 for event in spans), f"{found[0, 'steps']} steps of {steps}")
    # Each rank's events that work on bytes are the plan's collectives.
    step = next(program for program in plan["programs"] if program["name"] == "train_step")
    for rank in range(plan["ranks"]):
        collectives = sum("bytes" in event.get("args", {}) for event in spans if event["pid"] == rank)
        check(collectives == steps * sum(step["collectives"].values()), f"rank {rank}: {collectives} collectives in {steps} steps")


def records(data):
    """Of a TFRecord file, with both checksums verified."""
    while data:
        (size,), (crc,) = struct.unpack("<Q", data[:8]), struct.unpack("<I", data[8:12])
        body, (body_crc,) = data[12:12 + size], struct.unpack("<I", data[12 + size:16 + size])
        check(crc == masked_crc32c(data[:8]) and body_crc == masked_crc32c(body), "a checksum in TensorBoard's file is wrong")
        yield body
        data = data[16 + size:]


def fields(data):
    """{number: value} of a protocol buffer of varints, doubles, floats and bytes."""
    result, at = {}, 0

    def varint():
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = data[at]
            value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        kind, size = key & 7, {1: 8, 5: 4}.get(key & 7)
        if kind == 0:
            result[key >> 3] = varint()
            continue
        size = varint() if kind == 2 else size
        part, at = data[at:at + size], at + size
        result[key >> 3] = part if kind == 2 else struct.unpack("<d" if kind == 1 else "<f", part)[0]
    return result


def main():
    trace, plan = (json.loads(pathlib.Path(path).read_text()) for path in sys.argv[1:3])
    metrics = [json.loads(line) for line in pathlib.Path(sys.argv[3]).read_text().splitlines()]
    check_trace(trace, plan, len(metrics))
    (path,) = pathlib.Path(sys.argv[4]).iterdir()
    version, *events = map(fields, records(path.read_bytes()))
    check(version[3] == b"brain.Event:2", f"TensorBoard's file begins with {version}")
    ours = {}
    for event in events:
        scalar = fields(fields(event[5])[1])
        ours[event[2], scalar[1].decode()] = scalar[2]
    expected = {(row["step"], key): value for row in metrics for key, value in row.items() if key != "step"}
    check(ours.keys() == expected.keys(), f"TensorBoard's file has {sorted(ours)}, the metrics {sorted(expected)}")
    for key, value in expected.items():
        check(ours[key] == struct.unpack("<f", struct.pack("<f", value))[0], f"{key}: {ours[key]} for TensorBoard, {value} in the metrics")
    print(f"{len(plan['streams']) * plan['ranks']} tracks, {len(ours)} scalars")


if __name__ == "__main__":
    main()
