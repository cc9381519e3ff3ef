"""Tokenizers in the forms of model families, and texts that are hard for them. Needs PyPI's tokenizers.

    tokenizers_of_families.py check TOKENIZE FOLDER SEED COUNT    COUNT random texts for each, against TOKENIZE (test/runtime/text/Tokenize.cpp)
    tokenizers_of_families.py record FOLDER                       the files that TokenizerTest.cpp reads
"""
import json
import pathlib
import random
import struct
import subprocess
import sys
import unicodedata

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

LLAMA = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
CASES = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
FAMILIES = ["gpt2", "roberta", "digits", "llama3", "qwen", "gpt4o", "llama2", "mistral", "gemma", "t5", "unigram-lower", "bert", "bert-cased"]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
WORDS = ("Straße żółć naïve 你好世界 こんにちは Привет мир 한국어 العربية हिन्दी 123456 😀😃 don't I'll WE'RE the of and that training "
         "memory rank ranks step stage stages micro-batch").split()
ODD = ["the", "don't", "I'LL", "'S", " ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u3000", "\u2028", "1234", "0", "٣٤", "Ⅷ", "<|endoftext|>", "<s>",
       "<mask>", " <mask>", "foo", "foo bar", "covid", "\u2581\u2581", "<<tool>>", "<<tool>>x", "...", "--", "😀", "e\u0301", "é", "\u180e", "\u0085", "\u200b", "ſ", "'ſ", "\u212a"]


def corpus(rng):
    return [" ".join(rng.choice(WORDS) for _ in range(30)) + rng.choice([".", "\n", "!\n\n"]) for _ in range(300)]


def charsmap(entries):
    """A table as SentencePiece writes it: a double-array trie over the bytes of the texts, then the replacements."""
    pool, trie = b"", {}
    for given, other in entries.items():
        node = trie
        for byte in given.encode():
            node = node.setdefault(byte, {})
        node[None] = len(pool)
        pool += other.encode() + b"\0"
    units = {0: 0}

    def place(node, at):
        base = next(b for b in range(1, 1 << 20) if all(b ^ (label or 0) not in units for label in node))
        units[at] |= (at ^ base) << 10 | (None in node) << 8
        for label in node:
            units[base ^ (label or 0)] = 1 << 31 | node[None] if label is None else label
        for label, child in node.items():
            if label is not None:
                place(child, base ^ label)

    place(trie, 0)
    array = b"".join(struct.pack("<I", units.get(i, 0)) for i in range(max(units) + 256))
    return struct.pack("<I", len(array)) + array + pool


CHARSMAP = charsmap({"\u3000": " ", "\u00a0": " ", "\t": " ", "\n": " ", "\r": " ", "ſ": "s", "Ⅷ": "VIII", "é": "e\u0301", "e\u0301": "é", "…": "...", "\u200b": "",
                     "①": "1", "ﬁ": "fi", "Ａ": "A", "あ": "ア", "한": "\u1112\u1161\u11ab", "\u2028": " ", "\u0085": " "})


def make_pieces(family, size, rng):
    """The families whose vocabularies have characters, and not bytes: SentencePiece's and BERT's."""
    special, prefix = ["<unk>", "<s>", "</s>"], "\u2581"
    if family in ("bert", "bert-cased"):
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=20))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=family == "bert")
        tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
        names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
        tokenizer.train_from_iterator(corpus(rng), trainers.WordPieceTrainer(vocab_size=size, special_tokens=names, show_progress=False))
        tokenizer.add_tokens([AddedToken("covid"), AddedToken("...")])
        tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[(n, tokenizer.token_to_id(n)) for n in names[2:]])
        return tokenizer
    mark = pre_tokenizers.Metaspace(prepend_scheme="first" if family == "mistral" else "always", split=family != "mistral")
    if family in ("t5", "unigram-lower"):
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.normalizer = normalizers.Sequence([normalizers.Precompiled(CHARSMAP), normalizers.Replace(Regex(" {2,}"), " ")] +
                                                    [normalizers.Lowercase(), normalizers.Strip()] * (family == "unigram-lower"))
        tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), mark] if family == "t5" else [mark]), decoders.Metaspace()
        trainer = trainers.UnigramTrainer(vocab_size=size, special_tokens=special, unk_token="<unk>", show_progress=False)
        tokenizer.train_from_iterator(corpus(rng), trainer)
        tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", tokenizer.token_to_id("</s>"))])
        return tokenizer
    # SentencePiece's BPE is trained on marked words; then the tokens of bytes are added.
    trained = Tokenizer(models.BPE(unk_token="<unk>"))
    trained.pre_tokenizer = pre_tokenizers.Metaspace()
    trained.train_from_iterator(corpus(rng), trainers.BpeTrainer(vocab_size=size, special_tokens=special + BYTES, show_progress=False))
    model = json.loads(trained.to_str())["model"]
    hasBytes = family != "mistral"
    vocab = {text: id for text, id in model["vocab"].items() if hasBytes or text not in BYTES}
    tokenizer = Tokenizer(models.BPE(vocab, [tuple(merge) for merge in model["merges"]], unk_token="<unk>", fuse_unk=True, byte_fallback=hasBytes))
    tokenizer.add_special_tokens([AddedToken(text, normalized=False) for text in special])
    spaces = [decoders.Replace(prefix, " "), decoders.ByteFallback(), decoders.Fuse()]
    if family == "gemma":
        tokenizer.normalizer = normalizers.Replace(" ", prefix)
        tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
        tokenizer.add_tokens([AddedToken("foo bar", normalized=True), AddedToken(prefix * 2, normalized=False), AddedToken("\u2581\u2581\u2581", normalized=False)])
    elif family == "mistral":
        tokenizer.pre_tokenizer = mark
    else:
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend(prefix), normalizers.Replace(" ", prefix)])
    tokenizer.decoder = decoders.Sequence(spaces + [decoders.Strip(" ", 1, 0)] * (family != "gemma"))
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", tokenizer.token_to_id("<s>"))])
    return tokenizer


def make(family, size, rng):
    if family in FAMILIES[6:]:
        return make_pieces(family, size, rng)
    tokenizer = Tokenizer(models.BPE(ignore_merges=family == "llama3"))
    level = pre_tokenizers.ByteLevel
    if family in ("gpt2", "roberta"):
        tokenizer.pre_tokenizer = level(add_prefix_space=family == "roberta")
    elif family == "digits":
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), level(add_prefix_space=False)])
    else:
        pattern = {"llama3": LLAMA, "qwen": LLAMA.replace("{1,3}", ""), "gpt4o": CASES}[family]
        split = pre_tokenizers.Split(Regex(pattern), "removed" if family == "gpt4o" else "isolated", invert=family == "gpt4o")
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, level(add_prefix_space=False, use_regex=False)])
    if family == "qwen":
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=level.alphabet(), special_tokens=["<|endoftext|>", "<s>", "</s>"],
                                  show_progress=False)
    tokenizer.train_from_iterator(corpus(rng), trainer)
    name = tokenizer.token_to_id
    if family == "llama3":
        begin = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", name("<s>"))])
        tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), begin])
    if family == "roberta":
        tokenizer.post_processor = processors.RobertaProcessing(("</s>", name("</s>")), ("<s>", name("<s>")))
        tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    if family == "digits":
        tokenizer.add_tokens([AddedToken("foo", rstrip=True), AddedToken("<<tool>>"), AddedToken("<<tool>>x")])
    return tokenizer


def text(rng):
    kind = rng.random()
    if kind < 0.5:
        return "".join(rng.choice(WORDS + ODD) + rng.choice([" ", "", ""]) for _ in range(rng.randint(0, 12)))
    if kind < 0.8:
        planes = [(0, 0x2ff), (0x300, 0x3000), (0x3000, 0xd7ff), (0xe000, 0x1f9ff)]
        return "".join(chr(rng.randint(*rng.choice(planes))) for _ in range(rng.randint(1, 15)))
    return "".join(rng.choice(" \n\r\t'sStabc12") for _ in range(rng.randint(1, 20)))


def text_of(tokenizer, ids):
    """The library's text of the tokens. None where it cannot be compared: bytes that are no characters, or a first token that is no beginning of a word."""
    text = tokenizer.decode(ids, skip_special_tokens=True)
    return None if "\ufffd" in text or text.startswith("##") else text.encode()


def check(tokenize, folder, seed, count):
    rng = random.Random(seed)
    for family in FAMILIES:
        tokenizer = make(family, 900, rng)
        path = folder / f"{family}.json"
        tokenizer.save(str(path))
        texts = [text(rng) for _ in range(count)]
        lines = subprocess.run([tokenize, path], input="".join(t.encode().hex() + "\n" for t in texts), capture_output=True, text=True,
                               check=True).stdout.splitlines()
        refused = 0
        for given, line in zip(texts, lines, strict=True):
            if line.startswith("error"):
                refused += 1
                # Only marks and characters that NFC may change are refused, and only where the tokenizer normalizes; for small letters and accents
                # those that not all versions of Unicode have in one category.
                plain = all(ord(c) < (0x300 if family == "qwen" else 0x600) for c in given)
                if family not in ("qwen", "unigram-lower", "bert", "bert-cased") or plain:
                    sys.exit(f"{family}: {given!r}: {line}")
                continue
            tokens, shown = line.split(";")
            ids, expected = [int(word) for word in tokens.split()], tokenizer.encode(given)
            if ids != expected.ids:
                sys.exit(f"{family}: {given!r}: {expected.tokens}, got {[tokenizer.id_to_token(id) for id in ids]}")
            if text_of(tokenizer, ids) not in (None, bytes.fromhex(shown)):
                sys.exit(f"{family}: {given!r}: {text_of(tokenizer, ids)}, got {bytes.fromhex(shown)}")
        print(f"{family}: {count - refused} texts alike, {refused} refused for their normal form")


def record(folder):
    rng = random.Random(0)
    for family in FAMILIES:
        tokenizer = make(family, 420, rng)
        tokenizer.save(str(folder / f"{family}.json"))
        given = [text(rng) for _ in range(150 if family.startswith("bert") else 60)] + ["", " ", "The ranks\n\n", "a" * 300]
        if family in ("unigram-lower", "bert", "bert-cased"):
            common = [range(0x600), range(0x3040, 0xA000), range(0xAC00, 0xD7A4), range(0x1F600, 0x1F650)]
            given = [t for t in given if all(any(ord(c) in part for part in common) for c in t)]
        if family in ("qwen", "bert"):
            given = [t for t in given if not any(unicodedata.category(c)[0] == "M" or unicodedata.normalize("NFC", c) != c for c in t)]
        expected = [{"text": t, "tokens": tokenizer.encode(t).ids, "decoded": (text_of(tokenizer, tokenizer.encode(t).ids) or b"").decode()} for t in given]
        (folder / f"{family}.expected.json").write_text(json.dumps(expected) + "\n")


if sys.argv[1] == "check":
    check(sys.argv[2], pathlib.Path(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]))
else:
    record(pathlib.Path(sys.argv[2]))
