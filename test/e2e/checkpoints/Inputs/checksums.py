"""The checksums of checkpoints (runtime/state/Checksums.h), for tests that change one and want what comes after them."""
import json
import struct

BEGIN = b'{"__metadata__":{"crc32c":"'
SUM, END = b',\n "crc32c": "', b'"\n}\n'


def _tables():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


TABLE = _tables()


def crc32c(data, before=0):
    value = before ^ 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ TABLE[(value ^ byte) & 0xFF]
    return value ^ 0xFFFFFFFF


def index_bytes(index):
    """The text of checkpoint.json, with its checksum."""
    index = {key: value for key, value in index.items() if key != "crc32c"}
    text = json.dumps(index, indent=1).encode()
    assert text.endswith(b"\n}")
    text = text[:-2]
    return text + SUM + b"%08x" % crc32c(text) + END


def part_bytes(header, data):
    """A safetensors file of a header whose own checksum is put right; the sums of blocks stay as they are."""
    metadata = {key: value for key, value in header.get("__metadata__", {}).items() if key != "crc32c"}
    header = {"__metadata__": {"crc32c": "00000000", **metadata}, **{k: v for k, v in header.items() if k != "__metadata__"}}
    text = json.dumps(header, separators=(",", ":")).encode()
    image = struct.pack("<Q", len(text)) + text
    assert text.startswith(BEGIN)
    place = 8 + len(BEGIN)
    return image[:place] + b"%08x" % crc32c(image) + image[place + 8:] + data


def read_part(path):
    """(header, data)"""
    image = path.read_bytes()
    size, = struct.unpack("<Q", image[:8])
    return json.loads(image[8:8 + size]), image[8 + size:]


def seal(step):
    """Makes the checksums of a checkpoint's index fit the headers of its parts as they are."""
    index = json.loads((step / "checkpoint.json").read_text())
    for file in index["parts"]:
        header, _ = read_part(step / file)
        index["parts"][file] = header["__metadata__"]["crc32c"]
    (step / "checkpoint.json").write_bytes(index_bytes(index))
