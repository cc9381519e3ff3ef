"""replaced_library.py MODEL.onnx FOLDER    One process loads libraries that replace each other at one path, or that have one relative path in
two folders. Each model runs the file that is there when it is made, and a model that was made before goes on as it was. A library that was
written over in its place is refused."""
import os
import pathlib
import subprocess
import sys

import cleave
import numpy

MODEL, FOLDER = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()


def compiled(folder, learning):
    """A library that trains with weight decay, or without."""
    subprocess.run(["cleave", "compile", MODEL, "-o", folder / "lib.so", "--emit", "shared", "--train", "--loss-output", "loss", "--dim", "batch=4",
                    "--optimizer", learning], check=True, capture_output=True)


def losses(model):
    inputs = {name: numpy.ones(tensor.shape, tensor.dtype) for name, tensor in model.inputs().items()}
    return [model.train_step(lr=0.1, **inputs) for _ in range(3)]


def main():
    rules, first = ["sgd", "sgd,weight_decay=0.5", "sgd,momentum=0.9"], FOLDER / "first"
    expected = []
    for i, rule in enumerate(rules):  # each in a folder of its own, by a path that no other file has
        (FOLDER / f"own{i}").mkdir(parents=True)
        compiled(FOLDER / f"own{i}", rule)
        expected.append(losses(cleave.Model(FOLDER / f"own{i}" / "lib.so")))
    assert len(set(map(tuple, expected))) == len(rules), expected
    first.mkdir()
    found, kept = [], []
    for rule in rules:
        compiled(first, rule)
        found.append(losses(cleave.Model(first / "lib.so")))
        kept.append(cleave.Model(first / "lib.so"))
    assert found == expected, f"replaced: {found}, expected {expected}"
    assert [losses(model) for model in kept] == expected, "models that were made before the file was replaced"
    for i, wanted in enumerate(expected):  # ./lib.so of three folders
        os.chdir(FOLDER / f"own{i}")
        assert losses(cleave.Model("lib.so")) == wanted, f"./lib.so of the folder {i}"
    with open(FOLDER / "own0" / "lib.so", "ab") as file:
        file.write(b"more")
    try:
        cleave.Model(FOLDER / "own0" / "lib.so")
        raise AssertionError("a library that was written over is not refused")
    except OSError as error:
        assert "was written over while this process had loaded it" in str(error), error
    print(f"{len(rules)} libraries of one path")


if __name__ == "__main__":
    main()
