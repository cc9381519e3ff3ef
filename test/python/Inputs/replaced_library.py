"""replaced_library.py MODEL.onnx FOLDER    One process loads libraries that replace each other at one path, or that have one relative path in
two folders. Each model runs the file that is there when it is made, and a model that was made before goes on as it was. A library that was
written over in its place, removed, or not copied to its end is refused; one that was only touched is not. A file that is no library is refused
under the path that was given."""
import importlib
import os
import pathlib
import subprocess
import sys

import cleave
import cleave.library
import numpy

MODEL, FOLDER = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()


def compiled(folder, learning):
    """A library that trains with weight decay, or without."""
    subprocess.run(["cleave", "compile", MODEL, "-o", folder / "lib.so", "--emit", "shared", "--train", "--loss-output", "loss", "--dim", "batch=4",
                    "--optimizer", learning], check=True, capture_output=True)


def losses(model):
    inputs = {name: numpy.ones(tensor.shape, tensor.dtype) for name, tensor in model.inputs().items()}
    return [model.train_step(lr=0.1, **inputs) for _ in range(3)]


def refused(path, words):
    try:
        cleave.library.Model(path)
    except OSError as error:
        assert words in str(error) and "/./" not in str(error), error  # no spelling of the path but the caller's
        return
    raise AssertionError(f"{path} is not refused: {words}")


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
    importlib.reload(cleave.library)  # which forgets what it has loaded
    compiled(first, rules[0])
    assert losses(cleave.library.Model(first / "lib.so")) == expected[0], "after a reload of the module"
    library, copy = FOLDER / "own0" / "lib.so", FOLDER / "copy.so"
    os.utime(library)
    assert losses(cleave.library.Model(library)) == expected[0], "touched"
    contents = library.read_bytes()
    for length in (20, 100_000, len(contents) - 1):
        copy.write_bytes(contents[:length])
        refused(copy, "")
    copy.write_bytes(contents)
    assert losses(cleave.library.Model(copy)) == expected[0], "a copy that came to its end"
    copy.unlink()
    refused(copy, "no such file")
    refused(MODEL, f"{MODEL}: invalid ELF header; expected a library that")  # the loader's words, with the caller's path
    odd = FOLDER / os.fsdecode(b"\xff.so")  # not UTF-8
    odd.write_bytes(b"not a library" * 10)
    refused(odd, f"{odd}: invalid ELF header; expected a library that")
    with open(library, "ab") as file:  # in place: the pages that are loaded stay
        file.write(b"more")
    refused(library, "was written over while this process had loaded it")
    print(f"{len(rules)} libraries of one path")


if __name__ == "__main__":
    main()
