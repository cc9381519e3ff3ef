#!/usr/bin/env python3
"""Turns files in ONNX's text syntax into models: text2onnx.py DIRECTORY makes NAME.onnx of every NAME.txt in it."""
import pathlib
import sys

import onnx

for path in pathlib.Path(sys.argv[1]).glob("*.txt"):
    text = "\n".join(line for line in path.read_text().splitlines() if not line.lstrip().startswith(("#", "//")))
    onnx.save(onnx.parser.parse_model(text), path.with_suffix(".onnx"))
