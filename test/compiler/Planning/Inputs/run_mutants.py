"""run_mutants.py FOLDER MUTANTS [--seconds S]: runs each MUTANTS/NAME.SEED.plan in place of the plan of FOLDER/NAME.so, as the runtime would.

Three steps of training, a validation, a checkpoint, or an inference: what they leave must be the original's to the last bit, and each run
must end. A mutant that the runtime refuses does no harm. Each runs in a process of its own. Exit code 1 where one leaves something else."""
import argparse
import collections
import ctypes
import hashlib
import multiprocessing
import os
import pathlib
import shutil
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "e2e" / "Inputs"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from cleave_library import TensorInfo  # noqa: E402
from program_plan import bytes_seal  # noqa: E402
from structural_plans import model_of  # noqa: E402

KINDS = {0: np.float32, 1: np.float64, 2: np.float16, 4: np.int64, 5: np.int32, 6: np.int16, 7: np.int8, 8: np.uint8, 9: np.bool_}
STEPS = 3


class Evaluation(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("loss_sum", ctypes.c_double), ("count", ctypes.c_double), ("correct", ctypes.c_double),
                ("predictions", ctypes.c_double)]


class Refused(Exception):
    pass


class Run:
    def __init__(self, path, plan):
        self.lib = ctypes.CDLL(str(path))
        self.lib.cleave_last_error.restype = ctypes.c_char_p
        self.model = type(model_of(self.lib, path.stem)).from_buffer_copy(model_of(self.lib, path.stem))
        if plan:
            data = plan.read_bytes()
            self.room = ctypes.create_string_buffer(len(data) + 64)
            at = (ctypes.addressof(self.room) + 63) // 64 * 64
            ctypes.memmove(at, data, len(data))
            self.model.plan, self.model.plan_size = at, len(data)
            self.seal(data)
        self.session = ctypes.c_void_p()
        if self.lib.cleave_session_create(ctypes.byref(self.model), None, ctypes.byref(self.session)):
            raise Refused(self.lib.cleave_last_error().decode())

    def seal(self, plan):
        """Gives the model the checksum of the mutant, so that the other checks are the ones that refuse it."""
        self.facts = (ctypes.c_uint64 * (self.model.kernel_count + 2)).from_address(self.model.kernel_facts)
        self.facts = type(self.facts)(*self.facts)
        self.facts[self.model.kernel_count + 1] = bytes_seal(plan)
        self.model.kernel_facts = ctypes.addressof(self.facts)

    def check(self, code):
        if code:
            raise RuntimeError(self.lib.cleave_last_error().decode())

    def ports(self, program, describe):
        found = []
        while True:
            info = TensorInfo()
            if describe(self.session, program.encode(), ctypes.c_size_t(len(found)), ctypes.byref(info)):
                return found
            found.append((info.name.decode(), KINDS[info.dtype], tuple(info.shape[:info.rank]), info.bytes))

    def feed(self, program, rng):
        for name, kind, shape, size in self.ports(program, self.lib.cleave_describe_input):
            array = rng.normal(size=shape).astype(kind) if np.issubdtype(kind, np.floating) else rng.integers(0, 6, shape).astype(kind)
            assert array.nbytes == size
            self.check(self.lib.cleave_set_input(self.session, program.encode(), name.encode(), array.ctypes.data_as(ctypes.c_void_p),
                                                 ctypes.c_size_t(size)))

    def outcome(self, folder):
        rng, left = np.random.default_rng(1), []
        if self.ports("infer", self.lib.cleave_describe_input):
            self.feed("infer", rng)
            self.check(self.lib.cleave_infer(self.session))
            for name, kind, shape, size in self.ports("infer", self.lib.cleave_describe_output):
                array = np.empty(shape, kind)
                self.check(self.lib.cleave_get_output(self.session, b"infer", name.encode(), array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(size)))
                left.append((f"output {name}", hashlib.sha1(array.tobytes()).hexdigest()))
        if self.ports("train_step", self.lib.cleave_describe_input):
            self.check(self.lib.cleave_set_clip_norm(self.session, ctypes.c_double(0.5)))
            for step in range(STEPS):
                self.feed("train_step", rng)
                loss = ctypes.c_double()
                self.check(self.lib.cleave_train_step(self.session, ctypes.c_double(0.01), ctypes.byref(loss)))
                left.append((f"loss {step}", loss.value.hex()))
                if step == 1:
                    self.feed("evaluate", rng)
                    sums = Evaluation(ctypes.sizeof(Evaluation))
                    self.check(self.lib.cleave_evaluate(self.session, ctypes.byref(sums)))
                    left.append(("evaluation", tuple(getattr(sums, name).hex() for name, _ in Evaluation._fields_[1:])))
            self.check(self.lib.cleave_save_checkpoint(self.session, str(folder).encode()))
            for path in sorted(folder.rglob("*.safetensors")):
                left.append((path.name, hashlib.sha1(path.read_bytes()).hexdigest()))
        self.lib.cleave_session_destroy(self.session)
        return left


def child(path, plan, queue):
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    os.environ["OMP_NUM_THREADS"], os.environ["CLEAVE_COMM_TIMEOUT_S"] = "1", "20"
    with tempfile.TemporaryDirectory() as folder:
        try:
            queue.put(("done", Run(path, plan).outcome(pathlib.Path(folder))))
        except Refused as error:
            queue.put(("refused", str(error)))
        except Exception as error:  # noqa: BLE001
            queue.put(("failed", str(error)))
        queue.close()
        queue.join_thread()
        shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def run(path, plan, seconds=90):
    queue = multiprocessing.Queue()
    process = multiprocessing.Process(target=child, args=(path, plan, queue))
    process.start()
    try:
        result = queue.get(timeout=seconds)
    except Exception:  # noqa: BLE001
        process.join(1)
        result = ("hung", "") if process.exitcode is None else ("crashed", process.exitcode)
        process.kill()
    process.join()
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("mutants", type=pathlib.Path)
    given = parser.parse_args()
    originals, counts, harmful = {}, collections.Counter(), 0
    for plan in sorted(given.mutants.glob("*.plan")):
        name = plan.stem.rsplit(".", 1)[0]
        path = given.folder / f"{name}.so"
        if name not in originals:
            originals[name] = run(path, None)
            again = run(path, None)
            if originals[name][0] != "done" or originals[name] != again:
                sys.exit(f"FAILED: {name} itself: {originals[name]} {again}")
        kind, left = run(path, plan)
        why = "" if kind == "refused" else f"{kind}: {left}" if kind != "done" else \
            next((f"{a} {b}" for a, b in zip(originals[name][1], left) if a != b), "") or \
            ("" if len(left) == len(originals[name][1]) else "another number of results")
        counts["harmful" if why else "refused by the runtime" if kind == "refused" else "the same"] += 1
        if why:
            harmful += 1
            print(f"HARMFUL {plan.name} | {plan.with_suffix('.txt').read_text().strip()} | {why}", flush=True)
    print(dict(counts))
    sys.exit(1 if harmful or not counts["the same"] else 0)


if __name__ == "__main__":
    main()
