"""character_tables.py > runtime/text/CharacterTables.def: small letters, and letters without their accents, of Unicode.

A row is a run of neighbours, each `step`-th character from `first` to `last`. The other form of `first` is `target`; that of the characters after it is
as far from `target` as they are from `first`, or `target` for all of them. Characters whose other form is none or several are rows of kLong. Hangul is computed (Characters.cpp), and compatibility
ideographs are left out: NFC changes them, too, and such text is refused."""
import unicodedata

HANGUL, IDEOGRAPHS = range(0xAC00, 0xD7A4), [*range(0xF900, 0xFB00), *range(0x2F800, 0x2FA20)]


def characters():
    left_out = {*range(0xD800, 0xE000), *HANGUL, *IDEOGRAPHS}
    return [chr(code) for code in range(0x80, 0x110000) if code not in left_out]


def without_marks(c):
    return "".join(part for part in unicodedata.normalize("NFD", c) if unicodedata.category(part) != "Mn")


def runs(pairs):
    """[first, last, step, first's other, whether the others follow each other]"""
    result = []
    for code, other in pairs:
        if result:
            run = result[-1]
            first, last, step, target, follows = run
            gap = code - last
            if gap in (1, 2) and step in (0, gap):
                if other == target + (code - first) and follows is not False:
                    run[1:3], run[4] = [code, gap], True
                    continue
                if other == target and follows is not True:
                    run[1:3], run[4] = [code, gap], False
                    continue
        result.append([code, code, 0, other, None])
    return [(first, last, step or 1, target, int(follows is not False)) for first, last, step, target, follows in result]


def write(name, pairs):
    print(f"static constexpr Run {name}[] = {{")
    line = "   "
    for first, last, step, target, follows in runs([(ord(c), ord(other)) for c, other in pairs if len(other) == 1]):
        row = f" {{0x{first:X}, 0x{last:X}, {step}, 0x{target:X}, {follows}}},"
        if len(line) + len(row) > 118:
            print(line)
            line = "   "
        line += row
    print(line + "};\n")


print("// Made by tools/dev/character_tables.py from Unicode", unicodedata.unidata_version)
write("kSmall", [(c, c.lower()) for c in characters() if c.lower() != c])
marked = [(c, without_marks(c)) for c in characters() if without_marks(c) != c and unicodedata.category(c) != "Mn"]
write("kWithoutMarks", marked)
print("static constexpr Long kLong[] = {")
for c, other in marked:
    if len(other) != 1:
        escaped = "".join(f"\\x{byte:02X}" for byte in other.encode())
        print(f'    {{0x{ord(c):X}, "{escaped}"}},')
print("};")
