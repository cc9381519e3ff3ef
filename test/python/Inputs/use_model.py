"""use_model.py MODEL.onnx INFER.so TRAIN.so CHECKPOINTS: cleave.Model against onnxruntime and against itself."""
import os
import pickle
import signal
import sys
import unittest.mock

import numpy as np
import onnxruntime

import cleave
import cleave.library


def refusal(kind, call):
    try:
        call()
    except kind as error:
        return str(error)
    sys.exit("nothing was refused")


def main():
    model, infer, train, checkpoints = sys.argv[1:]
    session = onnxruntime.InferenceSession(model)
    library = cleave.Model(infer)
    rng = np.random.default_rng(1)
    inputs = {name: rng.standard_normal(tensor.shape).astype(np.float32) if tensor.dtype == np.float32 else rng.integers(0, 3, tensor.shape)
              for name, tensor in library.inputs().items()}
    ours = library.infer(**inputs)
    names = [port.name for port in session.get_outputs() if port.name in ours]
    fed = {port.name: inputs.get(port.name, np.zeros([4 if isinstance(d, str) else d for d in port.shape], np.int64)) for port in session.get_inputs()}
    for name, theirs in zip(names, session.run(names, fed)):
        np.testing.assert_allclose(ours[name], theirs, rtol=1e-5, atol=1e-5)

    trained = cleave.Model(train)
    ports = trained.inputs("train_step")
    assert trained.inputs() == ports and trained.outputs() == trained.outputs("train_step")  # what it was compiled for
    assert all(tensor.shape[0] == 8 for tensor in ports.values()), ports  # two ranks of four samples
    batch = {name: rng.standard_normal(tensor.shape) if tensor.dtype == np.float32 else rng.integers(0, 3, tensor.shape)
             for name, tensor in ports.items()}
    before = trained.evaluate(**batch)
    losses = [trained.train_step(lr=1e-2, **batch) for _ in range(4)]
    assert losses[-1] < losses[0] and trained.steps == 4, losses
    assert abs(before.loss - losses[0]) < 1e-5 and (before + before).count == 2 * before.count, (before, losses)
    trained.save(checkpoints)
    after = [trained.train_step(lr=1e-2, **batch) for _ in range(2)]
    trained.load(checkpoints)
    assert trained.steps == 4 and after == [trained.train_step(lr=1e-2, **batch) for _ in range(2)]

    name, tensor = next((n, t) for n, t in ports.items() if t.dtype == np.float32)
    assert f"expected shape {list(tensor.shape)}" in refusal(ValueError, lambda: trained.train_step(lr=1, **{**batch, name: np.zeros((1, 1))}))
    fresh, less = cleave.Model(train), {key: value for key, value in batch.items() if key != name}
    assert f"train_step: the input '{name}' is missing; expected {', '.join(ports)}" in refusal(TypeError, lambda: fresh.train_step(lr=1, **less))
    assert "there was none" in refusal(TypeError, lambda: fresh.train_step(lr=1, **less, **{name: None}))
    assert f"or {name}=None for the value of the last call" in refusal(TypeError, lambda: trained.evaluate(**less))
    assert trained.evaluate(**less, **{name: None}).loss == trained.evaluate(**batch).loss
    fresh.close()
    assert "is no input of train_step; it has" in refusal(KeyError, lambda: trained.train_step(lr=1, nothing=1))
    assert "expected floating-point values" in refusal(TypeError, lambda: trained.train_step(lr=1, **{**batch, name: np.zeros(tensor.shape, int)}))
    assert "learning rate of 0 or more (finite in f32); got -1" in refusal(cleave.CleaveError, lambda: trained.train_step(lr=-1, **batch))
    assert "this model was compiled for training" in refusal(cleave.CleaveError, trained.infer)
    # The runtime's messages are in the words of Python.
    wrong = {**batch, "labels": batch["labels"].copy()}
    wrong["labels"][1] = 1000
    said = refusal(cleave.CleaveError, lambda: trained.evaluate(**wrong))
    assert said.startswith("evaluate: element 1 of the flattened 'labels' is the label 1000; expected"), said
    assert refusal(cleave.CleaveError, lambda: cleave.Model(train, weights="/absent")).startswith("weights: "), "an option's name"
    for text, wanted in (("--weights: the initial weights", "weights: the initial weights"), ("--seed, by which: 3", "seed, by which: 3"),
                         ("give the folder: --weights a b/c", "give the folder: weights=a b/c"), ("or give --weights FILE", "or give weights=FILE"),
                         ("x; --weights takes the weights alone", "x; weights= takes the weights alone"), ("use --threads 3", "use threads=3"),
                         ("can be given as weights, by --weights in commands", "can be given as weights, by --weights in commands"),
                         ("/a/--weights/b: no file", "/a/--weights/b: no file")):
        assert cleave.library._in_python(text) == wanted, cleave.library._in_python(text)
    assert "weights: the path is empty" in refusal(ValueError, lambda: cleave.Model(train, weights=""))
    assert "no checkpoint" in refusal(cleave.CleaveError, lambda: trained.load("/absent"))
    assert "its path is empty" in refusal(cleave.CleaveError, lambda: trained.load(""))
    assert "is no model of Cleave" in refusal(ValueError, lambda: cleave.Model(_libc()))
    with unittest.mock.patch.dict(cleave.library._CALLS, {"cleave_of_a_later_version": []}):
        assert "its C API has no cleave_of_a_later_version(); compile" in refusal(ValueError, lambda: cleave.Model(infer))
    os.mkfifo(checkpoints + ".pipe")
    assert "is not a regular file" in refusal(ValueError, lambda: cleave.Model(checkpoints + ".pipe"))
    assert "a path has no NUL" in refusal(ValueError, lambda: trained.save(checkpoints + "\0x"))
    # decode() takes an array as empty() gives it, or its bytes, and of these all.
    values = tensor.encode(batch[name])
    assert np.array_equal(tensor.decode(np.frombuffer(values.tobytes(), np.uint8)), values) and tensor.decode(values) is values
    for given in (np.zeros(3, np.uint8), values[:-1], values.astype(np.float64), values.T, [1.0]):
        assert f"'{name}': expected {tensor.bytes} bytes (float32 {list(tensor.shape)}); got " in refusal(ValueError, lambda: tensor.decode(given))
    # Values of other types are converted where none is lost, bools to integers as well.
    ones = batch["labels"] > 0
    assert trained.evaluate(**{**batch, "labels": ones}).loss == trained.evaluate(**{**batch, "labels": (ones * 1).tolist()}).loss
    assert "seed: expected 0 to" in refusal(ValueError, lambda: trained.set_seed(-1))
    for threads in (-1, 0):
        assert f"threads: expected 1 to 2^32 - 1; got {threads}" in refusal(ValueError, lambda: cleave.Model(train, threads=threads))
    assert "expected 1 to 4096 threads per rank; got: 4294967295" in refusal(cleave.CleaveError, lambda: cleave.Model(train, threads=2**32 - 1))
    assert "threads: expected a whole number; got '2'" in refusal(TypeError, lambda: cleave.Model(train, threads="2"))
    assert "lr: expected a number; got 'fast'" in refusal(TypeError, lambda: trained.train_step(lr="fast", **batch))
    assert "norm: expected a number; got None" in refusal(TypeError, lambda: trained.set_clip_norm(None))
    assert "weights: expected a path; got 3" in refusal(TypeError, lambda: cleave.Model(train, weights=3))
    assert "directory: expected a path; got None" in refusal(TypeError, lambda: trained.save(None))
    assert "threads: expected a whole number; got True" in refusal(TypeError, lambda: cleave.Model(train, threads=True))
    assert "lr: expected a number that a float can hold; got 401 digits" in refusal(ValueError, lambda: trained.train_step(lr=10**400, **batch))
    assert f"'{name}': expected an array of shape" in refusal(ValueError, lambda: trained.evaluate(**{**batch, name: [[1.0], [1.0, 2.0]]}))
    assert "take its numbers" in refusal(TypeError, lambda: pickle.dumps(before))
    assert cleave.Model(os.fsencode(train)).steps == 0
    assert "expected a positive norm (in f32)" in refusal(cleave.CleaveError, lambda: trained.set_clip_norm(1e-50))
    for number in ("0.1", True, np.ones(1)):
        assert "lr: expected a number; got" in refusal(TypeError, lambda: trained.train_step(lr=number, **batch))
    assert trained.train_step(lr=np.float32(1e-3), **batch) > 0 and trained.train_step(lr=np.array(1e-3), **batch) > 0
    # What is no dictionary is refused, also where Python takes it for false.
    for given in (next(iter(batch.values())), [], 0, "", np.zeros(0), [("x", 1)]):
        assert "expected a dictionary from names to arrays" in refusal(TypeError, lambda: trained.evaluate(given))
    assert "masked" in refusal(TypeError, lambda: trained.evaluate(**{**batch, name: np.ma.masked_greater(batch[name], 0)}))
    assert "program: expected a text; got 3" in refusal(TypeError, lambda: trained.inputs(3))
    one = trained.evaluate(**batch)
    assert sum([one, one, one]).count == 3 * one.count
    refusal(TypeError, lambda: one + 1)
    another = cleave.Model(train)
    assert "two models" in refusal(ValueError, lambda: one + another.evaluate(**batch))
    said = refusal(cleave.CleaveError, lambda: another.train_step(lr=1e-3, **{**batch, name: np.full(tensor.shape, np.nan)}))
    assert f"the loss is not a number; input '{name}' holds a value that is not a number, at element 0: take" in said, said
    # Nothing saves what such a step has left, and nothing trains it, until other parameters are loaded.
    for call in (lambda: another.save(checkpoints), lambda: another.train_step(lr=1e-3, **batch), lambda: another.evaluate(**batch)):
        assert "the parameters were lost in step 1; load a checkpoint" in refusal(cleave.CleaveError, call)
    another.load(checkpoints)
    assert another.steps == 4 and np.isfinite(another.train_step(lr=1e-3, **batch))
    another.close()
    assert "infer has not run yet" in refusal(ValueError, lambda: (model := cleave.Model(infer)).output(next(iter(model.outputs()))))
    assert "its path is empty" in refusal(cleave.CleaveError, lambda: trained.save(""))

    # A process that is forked off has the session, but none of its threads: nothing waits for them.
    in_fork(lambda: "forked off" in refusal(cleave.CleaveError, lambda: trained.evaluate(**batch)))
    in_fork(lambda: trained.close() is None)
    in_fork(lambda: "OpenMP's threads" in refusal(cleave.CleaveError, lambda: cleave.Model(train, threads=2)))
    in_fork(lambda: cleave.Model(train, threads=1).evaluate(**batch).count > 0)
    assert trained.evaluate(**batch).count > 0

    trained.close()
    assert "is closed" in refusal(ValueError, lambda: trained.steps)


def in_fork(call):
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            os._exit(0 if call() else 1)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0, "the call in a forked process"


def _libc():
    """A shared library that is no model."""
    return next(line.split()[-1] for line in open("/proc/self/maps") if "libc.so" in line)


main()
