"""Bytes of state per parameter, and traffic, against the f32 plan: check_precision.py F32.json OTHER.json P,G,O RATIO

P, G, O: bytes of parameter, gradient and optimizer state per element (without padding: buckets differ by less than 1 %). RATIO: of the
bytes sent in a step, the scalars' all-reduces apart.
"""
import json
import sys

plain, other = (json.load(open(path)) for path in sys.argv[1:3])
wanted = [int(number) for number in sys.argv[3].split(",")]
for json_, expected in [(plain, [4, 4, 8]), (other, wanted)]:
    for role, size in zip(["parameter", "gradient", "optimizer"], expected):
        got = json_["state"][role] / json_["parameters"]
        if not size <= got < size * 1.01:
            sys.exit(f"{role}: {got} bytes per parameter, expected {size}")
sent = [next(p["sent_bytes"] for p in json_["programs"] if p["name"] == "train_step") for json_ in (plain, other)]
ratio = sent[1] / sent[0]
if abs(ratio - float(sys.argv[4])) > 0.001:
    sys.exit(f"sends {sent[1]} bytes in a step, {ratio} of f32's {sent[0]}; expected {sys.argv[4]}")
print("bytes per parameter", wanted, "sent", ratio, "of f32's")
