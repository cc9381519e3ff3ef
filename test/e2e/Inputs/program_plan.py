"""The plan inside a program (ELF, 64 bits) that `cleave compile` wrote, and its seal (runtime/plan/Seals.h), for tests that change plans."""
import struct

POLYNOMIAL = 0x82F63B78  # CRC-32C, reflected


def section(program, name):
    """The place of a section: (offset, size)."""
    table, entry, count, names = struct.unpack_from("<Q", program, 0x28) + struct.unpack_from("<3H", program, 0x3A)
    headers = [struct.unpack_from("<2I4Q", program, table + i * entry) for i in range(count)]
    texts = headers[names][4]
    for text, _, _, _, offset, size in headers:
        at = texts + text
        if program[at:program.index(b"\0", at)] == name.encode():
            return offset, size
    raise SystemExit(f"FAILED: there is no section {name}")


def shifted(check):
    for _ in range(8):
        check = check >> 1 ^ (POLYNOMIAL if check & 1 else 0)
    return check


TABLE = [shifted(byte) for byte in range(256)]


def bytes_seal(plan):
    check = 0xFFFFFFFF
    for byte in plan:
        check = check >> 8 ^ TABLE[(check ^ byte) & 255]
    return len(plan) << 32 | check ^ 0xFFFFFFFF


def seal(program):
    """Computes the checksum of a changed plan again, in place: it is the last number of the section cleave_facts."""
    plan, size = section(program, "cleave_plan")
    facts, bytes_of_facts = section(program, "cleave_facts")
    struct.pack_into("<Q", program, facts + bytes_of_facts - 8, bytes_seal(program[plan:plan + size]))
