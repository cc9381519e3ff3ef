"""Tokenizers in the forms of model families, and texts that are hard for them. Needs PyPI's tokenizers.

    tokenizers_of_families.py check TOKENIZE FOLDER SEED COUNT    COUNT random texts for each, against TOKENIZE (test/runtime/text/Tokenize.cpp)
    tokenizers_of_families.py record FOLDER                       the files that TokenizerTest.cpp reads
"""
import json
import pathlib
import random
import subprocess
import sys
import unicodedata

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

LLAMA = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
CASES = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
FAMILIES = ["gpt2", "roberta", "digits", "llama3", "qwen", "gpt4o"]
WORDS = ("Straße żółć naïve 你好世界 こんにちは Привет мир 한국어 العربية हिन्दी 123456 😀😃 don't I'll WE'RE the of and that training "
         "memory rank ranks step stage stages micro-batch").split()
ODD = ["the", "don't", "I'LL", "'S", " ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u3000", "\u2028", "1234", "0", "٣٤", "Ⅷ", "<|endoftext|>", "<s>",
       "<mask>", " <mask>", "foo", "<<tool>>", "<<tool>>x", "...", "--", "😀", "e\u0301", "é", "\u180e", "\u0085", "\u200b", "ſ", "'ſ", "\u212a"]


def corpus(rng):
    return [" ".join(rng.choice(WORDS) for _ in range(30)) + rng.choice([".", "\n", "!\n\n"]) for _ in range(300)]


def make(family, size, rng):
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
                # Only marks and characters that NFC may change are refused, and only where the tokenizer normalizes.
                plain = all(ord(c) < 0x300 for c in given)
                if family != "qwen" or plain:
                    sys.exit(f"{family}: {given!r}: {line}")
            elif [int(word) for word in line.split()] != tokenizer.encode(given).ids:
                sys.exit(f"{family}: {given!r}: {tokenizer.encode(given).tokens}, got {[tokenizer.id_to_token(int(w)) for w in line.split()]}")
        print(f"{family}: {count - refused} texts alike, {refused} refused for their normal form")


def record(folder):
    rng = random.Random(0)
    for family in FAMILIES:
        tokenizer = make(family, 420, rng)
        tokenizer.save(str(folder / f"{family}.json"))
        given = [text(rng) for _ in range(60)] + ["", " ", "The ranks\n\n", "a" * 300]
        if family == "qwen":
            given = [t for t in given if not any(unicodedata.category(c)[0] == "M" or unicodedata.normalize("NFC", c) != c for c in t)]
        expected = [{"text": t, "tokens": tokenizer.encode(t).ids} for t in given]
        (folder / f"{family}.expected.json").write_text(json.dumps(expected) + "\n")


if sys.argv[1] == "check":
    check(sys.argv[2], pathlib.Path(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]))
else:
    record(pathlib.Path(sys.argv[2]))
