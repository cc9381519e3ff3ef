"""Writes a tokenizer.json of 700 tokens, as SentencePiece makes it: <unk>, <s>, and words with the space before them. word_tokenizer.py FILE"""
import json
import sys

special = {"special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
space = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
names = ["<unk>", "<s>"]
words = [[name, 0.0] for name in names] + [[f"\u2581w{i}", -5.0 - i * 0.01] for i in range(698)]
json.dump({"version": "1.0", "truncation": None, "padding": None, "added_tokens": [{"id": i, "content": name, **special} for i, name in enumerate(names)],
           "normalizer": None, "pre_tokenizer": space, "post_processor": None, "decoder": space,
           "model": {"type": "Unigram", "unk_id": 0, "vocab": words, "byte_fallback": False}}, open(sys.argv[1], "w"))
