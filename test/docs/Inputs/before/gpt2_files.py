"""What the commands about a Hugging Face model begin with: text.txt, tokenizer.json, and gpt2.onnx, which has as many tokens as the tokenizer."""
import os
import pathlib

import tokenizers
import torch
import transformers
from tokenizers import decoders, models, pre_tokenizers, trainers

import cleave

text = (pathlib.Path(os.environ["CLEAVE_SOURCE"]) / "LICENSE").read_text()[:6000]
pathlib.Path("text.txt").write_text(text)
tokenizer = tokenizers.Tokenizer(models.BPE())
tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
trainer = trainers.BpeTrainer(vocab_size=300, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
tokenizer.train_from_iterator([text], trainer)
tokenizer.save("tokenizer.json")

torch.manual_seed(0)
config = transformers.GPT2Config(vocab_size=tokenizer.get_vocab_size(), n_positions=64, n_layer=2, n_head=2, n_embd=32)
tokens = torch.randint(config.vocab_size, (2, 64))
cleave.export_torch(transformers.GPT2LMHeadModel(config), {"input_ids": tokens, "labels": tokens.clone()}, "gpt2.onnx")
