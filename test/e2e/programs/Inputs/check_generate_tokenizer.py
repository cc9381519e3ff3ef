"""`generate --tokenizer` writes the text of what `--prompt-ids` writes: check_generate_tokenizer.py RECORDED FAMILY PROGRAM OPTION...

RECORDED has the tokenizers of test/runtime/text, and texts with the tokens that Hugging Face's library gives for them."""
import json
import pathlib
import subprocess
import sys


def characters():
    """ByteLevel's characters of the bytes."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(0x100 + i): byte for i, byte in enumerate(others)}


def main():
    recorded, family, program, options = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3].split(), sys.argv[4:]
    path = recorded / f"{family}.json"
    tokenizer, table = json.loads(path.read_text()), characters()
    texts = {id: bytes(table[c] for c in token) for token, id in tokenizer["model"]["vocab"].items() if set(token) <= set(table)}
    texts |= {token["id"]: b"" if token["special"] else token["content"].encode() for token in tokenizer["added_tokens"]}

    def generate(*prompt):
        command = [*program, "generate", *prompt, "--tokens", "12", "--temperature", "1", "--seed", "3", *options]
        return subprocess.run(command, capture_output=True, check=True).stdout

    count = 0
    for each in json.loads((recorded / f"{family}.expected.json").read_text()):
        if not each["text"] or "\0" in each["text"] or count == 12:
            continue
        ids = [int(word) for word in generate("--prompt-ids", ",".join(map(str, each["tokens"]))).split(b",")]
        assert ids[:len(each["tokens"])] == each["tokens"] and len(ids) == len(each["tokens"]) + 12
        ours = generate("--tokenizer", path, "--prompt", each["text"])
        expected = b"".join(texts.get(id, b"") for id in ids) + b"\n"
        assert ours == expected, (each["text"], ours, expected)
        count += 1
    print(f"{family}: {count} prompts")


main()
