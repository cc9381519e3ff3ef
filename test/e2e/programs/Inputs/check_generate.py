"""`generate` against a loop of numpy around onnxruntime.

    check_generate.py MODEL.onnx PROGRAM...

Each program, of the same model for another layout, writes the same tokens under the same options. Each token is the one that this file
draws of onnxruntime's logits, with its own Philox and its own top-k and top-p. The logits of the two differ in their last bits, so the
number that is drawn may lie this far outside of the token's share.
"""
import itertools
import subprocess
import sys

import numpy as np
import onnxruntime

SLACK = 1e-4
PROMPT = [3, 699, 0, 512, 41]
FILLS = ["--fill", "attention_mask=1", "--fill", "position_ids=positions"]


def philox(key, counter):
    """Philox4x32 with ten rounds (Salmon et al., 2011)."""
    key, c = list(key), list(counter)
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ key[0], p1 & 0xFFFFFFFF, (p0 >> 32) ^ c[3] ^ key[1], p0 & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def uniform(seed, i):
    bits = philox([seed & 0xFFFFFFFF, seed >> 32], [i & 0xFFFFFFFF, i >> 32, 0, 0])
    return ((bits[0] << 32 | bits[1]) >> 11) / 2**53


def shares(logits, temperature, top_k, top_p):
    """The probability of each token after the three settings, as transformers' logits warpers apply them."""
    scores = logits.astype(np.float64) / temperature
    if top_k:
        scores[scores < np.sort(scores)[-top_k]] = -np.inf
    probabilities = np.exp(scores - scores.max())
    probabilities /= probabilities.sum()
    ascending = np.argsort(probabilities, kind="stable")
    gone = ascending[np.cumsum(probabilities[ascending]) <= 1 - top_p]
    if top_p < 1:
        probabilities[gone] = 0
    return probabilities / probabilities.sum()


class Reference:
    def __init__(self, path):
        self.session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        self.context = self.session.get_inputs()[0].shape[1]

    def logits(self, tokens):
        window = tokens[-self.context:]
        row = np.array([window + [0] * (self.context - len(window))], np.int64)
        feeds = {"tokens": row, "labels": row, "attention_mask": np.ones_like(row), "position_ids": np.arange(self.context)[None]}
        return self.session.run(["logits"], feeds)[0][0, len(window) - 1]

    def check(self, tokens, i, seed, temperature, top_k, top_p):
        logits, token = self.logits(tokens[:i]), tokens[i]
        if temperature == 0:
            return logits[token] >= logits.max() - SLACK
        probabilities = shares(logits, temperature, top_k, top_p)
        drawn, end = uniform(seed, i - len(PROMPT)), np.cumsum(probabilities)[token]
        return probabilities[token] > 0 and end - probabilities[token] - SLACK <= drawn <= end + SLACK


def generate(program, *options):
    prompt = ",".join(map(str, PROMPT))
    command = [*program.split(), "generate", "--output", "logits", "--input", "tokens", *FILLS, "--prompt-ids", prompt, *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode:
        sys.exit(f"{command}: {done.stderr}")
    return [int(token) for token in done.stdout.strip().split(",")]


def main():
    reference, programs = Reference(sys.argv[1]), sys.argv[2:]
    count, seen = 0, set()
    for temperature, top_k, top_p, seed in [(0, 0, 1, 0), (1, 0, 1, 1), (0.7, 5, 1, 2), (1.5, 0, 0.6, 3), (1, 20, 0.8, 2**63 - 1), (2, 1, 1, 5),
                                            (1, 0, 0.001, 6), (1, 0, 1, 1 << 32)]:
        options = ["--temperature", str(temperature), "--top-p", str(top_p), "--seed", str(seed), "--tokens", "30"]
        options += ["--top-k", str(top_k)] if top_k else []
        runs = [generate(program, *options) for program in programs]
        for program, tokens in zip(programs, runs):
            if tokens != runs[0] or tokens[:len(PROMPT)] != PROMPT or len(tokens) != len(PROMPT) + 30:
                sys.exit(f"{options}: {program} writes {tokens}, {programs[0]} {runs[0]}")
        for i in range(len(PROMPT), len(runs[0])):
            if not reference.check(runs[0], i, seed, temperature, top_k, top_p):
                sys.exit(f"{options}: token {runs[0][i]} at place {i} is not the one that is drawn of onnxruntime's logits")
            count += 1
        seen.add(tuple(runs[0]))
        ends = runs[0][len(PROMPT) + 3:len(PROMPT) + 5]
        short = generate(programs[0], *options, "--end-token", ",".join(map(str, ends)))
        first = next(i for i in itertools.count(len(PROMPT)) if runs[0][i] in ends)
        if short != runs[0][:first + 1]:
            sys.exit(f"{options}: with end tokens {ends} it writes {short}")
    if len(seen) < 6:
        sys.exit("the settings and seeds make no difference")
    print(f"{len(programs)} layouts write the same; {count} tokens are those of the reference")


main()
