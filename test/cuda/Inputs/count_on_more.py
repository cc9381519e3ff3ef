"""Has the code of each kernel of an artefact count on addresses that are multiples of 2^15 bytes, for its first buffer.

Usage: count_on_more.py ARTEFACT. Changes cleave_model.device_kernels in place (runtime/include/cleave/model.h).
"""

import pathlib
import struct
import sys

path = pathlib.Path(sys.argv[1])
data = bytearray(path.read_bytes())
table_at, entry_bytes, count, names = (*struct.unpack_from("<Q", data, 40), *struct.unpack_from("<HHH", data, 58))


def section(index):
    name, _, _, _, offset, size = struct.unpack_from("<IIQQQQ", data, table_at + index * entry_bytes)
    return name, offset, size


_, names_at, _ = section(names)
for index in range(count):
    name, offset, size = section(index)
    if data[names_at + name :].startswith(b"cleave_device_kernels\0"):
        for kernel in range(offset, offset + size, 32):
            data[kernel + 24] |= 15
path.write_bytes(data)
