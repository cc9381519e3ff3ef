"""model_after_fork.py LIBRARY    A process that was forked from one with a session has none of its threads. A session of it with several threads
a rank is refused before anything runs (libgomp would wait for ever), one of one thread works, and the parent's is not its own."""
import os
import signal
import sys

import cleave
import numpy


def in_child(work):
    """Exits with 0 where `work` returns nothing wrong. A child that hangs is ended by its alarm."""
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        wrong = work()
        print(wrong or "", end="", file=sys.stderr, flush=True)
        os._exit(bool(wrong))
    return os.waitpid(child, 0)[1]


def refused(call, words):
    try:
        call()
    except cleave.CleaveError as error:
        return "" if words in str(error) else f"refused with {error}\n"
    return f"not refused; expected {words}\n"


def main():
    library = sys.argv[1]
    model = cleave.Model(library, threads=2)
    inputs = {name: numpy.ones(tensor.shape, tensor.dtype) for name, tensor in model.inputs().items()}
    expected = model.infer(**inputs)["logits"]

    def works():
        same = numpy.array_equal(cleave.Model(library, threads=1).infer(**inputs)["logits"], expected)
        return "" if same else "one thread gives other numbers\n"

    cases = {
        "several threads": lambda: refused(lambda: cleave.Model(library, threads=2), "was forked from one that had a session"),
        "one thread": works,
        "the parent's session": lambda: refused(lambda: model.infer(**inputs), "process"),
    }
    wrong = [name for name, work in cases.items() if in_child(work) != 0]
    if not numpy.array_equal(model.infer(**inputs)["logits"], expected):
        wrong.append("the parent afterwards")
    print(f"{len(cases)} cases after a fork, wrong: {wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
