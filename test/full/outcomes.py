"""What a training configuration computes: compiled, verified and run once, however many cells ask for it.

An outcome is the losses of the case's 20 steps and a digest of every tensor of the checkpoint at the end. It is kept beside the build
for the sources (freshness.py), the processor, the options and the recording by which it was made, so that a stopped run does not repeat it;
and only once its cell was found to be of these sources (Worker.keep). What the program did is kept for longer: other sources of the compiler
often make the same program, to the last byte, and then it is compiled and verified, but not run again.
"""
import functools
import hashlib
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass

import axes
import compare_checkpoints
import compare_losses
import machine
import running_statistics
import training_cases
from axes import INPUTS, ROOT

MODELS = ROOT / "test" / "models"
HOOK = pathlib.Path(__file__).parent / "hook"  # sitecustomize.py
ADDRESS_SPACE = 12 << 30  # a bad rewrite can eat all memory


class Failed(Exception):
    """A cell's reason."""


@functools.cache
def recording(model, optimizer, precision):
    """What PyTorch recorded of a case; nothing where it was not recorded."""
    return compare_losses.recorded(INPUTS / axes.PRECISIONS[precision].recording, model, optimizer)


@dataclass(frozen=True)
class Configuration:
    model: str
    layout: str
    optimizer: str
    precision: str
    variant: str = "plain"

    @property
    def name(self):
        return "/".join([self.model, self.layout, self.optimizer, self.precision] + [self.variant] * (self.variant != "plain"))

    def options(self):
        variant = axes.VARIANTS[self.variant].options if self.variant != "plain" else ()
        return ["--train", "--loss-output", "loss", "--optimizer", axes.OPTIMIZERS[self.optimizer],
                "--global-batch", str(training_cases.CASES[self.model][1]), *axes.options_of(self.model, self.layout),
                *axes.PRECISIONS[self.precision].options, *variant]

    def detail(self):
        """All that axes.py and the recordings say of it: a row's key and a kept outcome hold for this alone."""
        plain = ["without Dropout"] * (training_cases.model_of(self.model) in axes.WITHOUT_DROPOUT)
        return f"{[*plain, *self.options()]} {recording(self.model, self.optimizer, self.precision)}"


def said(output):
    """The last line that says something: programs end with what they needed of memory."""
    lines = [line.strip() for line in output.splitlines() if line.strip() and not line.startswith("memory: ")]
    return lines[-1] if lines else ""


class Worker:
    """Runs commands for one cell, until its time is over, and keeps what they said."""

    def __init__(self, build, seconds):
        self.build, self.seconds, self.end, self.log = build, seconds, time.monotonic() + seconds, []
        self.log_of_opened, self.shared, self.kept = tempfile.NamedTemporaryFile("r"), set(), {}
        self.cpu = 0.0  # seconds that the commands took of a core: what is left of a time when others use the machine, too
        known = machine.environment()
        # What a developer has calibrated (in XDG_CACHE_HOME) is no part of a cell; what ccache keeps for the sanitizers' builds is the same for all.
        self.environment = {**known, "PATH": f"{build / 'bin'}:{known['PATH']}", "CLEAVE_KERNEL_CACHE": f"{build / 'kernel-cache'}",
                            "XDG_CACHE_HOME": f"{build / 'full-cache'}", "CCACHE_DIR": os.environ.get("CCACHE_DIR", os.path.expanduser("~/.cache/ccache")),
                            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                            "PYTHONPATH": str(HOOK), "CLEAVE_TABLE_OPENED": self.log_of_opened.name}

    def opened(self):
        """Files of the tree that commands named, and that Python opened in them, and folders that it listed (with a / at their end): of this cell,
        and of the cells that made what it was given."""
        paths = {match for line in self.log if line.startswith("$ ") for match in re.findall(re.escape(f"{ROOT}/") + r"[^\s:,;'\"}]+", line)}
        watched = set(pathlib.Path(self.log_of_opened.name).read_text().splitlines())
        missed = sorted(line for line in watched if line.startswith("!"))
        if not watched and any(line.startswith(f"$ {sys.executable} ") for line in self.log):
            missed = ["hook/sitecustomize.py did not run"]
        if missed:
            raise Failed(f"not all files that it opened are known: {missed[0]}")
        return {path.removeprefix(f"{ROOT}/") for path in paths | watched - {"watched"}} | self.shared

    def keep(self):
        """Writes the outcomes that this cell made, for later runs."""
        for path, text in self.kept.items():
            path.write_text(text)

    def close(self):
        self.log_of_opened.close()

    def run(self, command, folder, limited=False):
        """What the command said; Failed where it ends badly or not in time, with all that it started."""
        command = [str(part) for part in command]
        self.log.append("$ " + " ".join(command))
        limit = (lambda: resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))) if limited else None
        with tempfile.TemporaryFile("w+", errors="replace") as output:
            process = subprocess.Popen(command, cwd=folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=limit)
            code, cpu = waited_for(process, max(1, self.end - time.monotonic()))
            self.cpu += cpu
            output.seek(0)
            text = output.read()
        self.log.append(text)
        if code is None:
            raise Failed(f"took more than {self.seconds} s: {pathlib.Path(command[0]).name} {said(text)}")
        if code:
            raise Failed(said(text) or f"{pathlib.Path(command[0]).name}: exit code {code}")
        return text


def waited_for(process, seconds):
    """Its exit code, or nothing where it took longer and was killed with all that it started; and its CPU seconds."""
    late = threading.Event()

    def kill():
        late.set()
        os.killpg(process.pid, signal.SIGKILL)  # not waited for yet: the number is still its own

    timer = threading.Timer(seconds, kill)
    timer.start()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    timer.cancel()
    timer.join()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return None if late.is_set() else process.returncode, usage.ru_utime + usage.ru_stime


class Workshop:
    """Models, programs and outcomes of one state of the product, which are made anew for another one; and runs, which hold for every
    product that makes the same programs."""

    def __init__(self, folder, build, product, scripts=""):
        """`product` is the key of its sources, `scripts` that of all else on which a run depends; nothing is kept for later where `product`
        is empty."""
        self.build, self.folder, self.keep, self.scripts = build, folder, bool(product), scripts
        stamp = folder / "product"
        if not product or not stamp.exists() or stamp.read_text() != product:
            for name in ["models", "outcomes"] if product else [""]:
                shutil.rmtree(folder / name, ignore_errors=True)
        for name in ["models", "outcomes", "runs"]:
            (folder / name).mkdir(parents=True, exist_ok=True)
        stamp.write_text(product)
        self.locks, self.guard, self.made = {}, threading.Lock(), {}

    def scratch(self):
        """A folder that is gone after its `with`."""
        return tempfile.TemporaryDirectory(dir=self.folder)

    def clear(self, everything):
        """Models are large and quickly made again."""
        shutil.rmtree(self.folder if everything else self.folder / "models", ignore_errors=True)

    def once(self, key, make, worker):
        """make() at the first call for a key; later ones, and those of other threads meanwhile, get its result or its failure, and the files
        that its worker had opened."""
        with self.guard:
            lock = self.locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self.made:
                try:
                    self.made[key] = (make(), None, worker.opened())
                except Failed as failure:
                    self.made[key] = (None, failure, set())
            result, failure, opened = self.made[key]
            worker.shared |= opened
            if failure:
                raise Failed(str(failure))
            return result

    def weights(self, path, worker):
        """A model of test/models with its weights beside it; other files have theirs."""
        path = ROOT / path
        if not path.is_relative_to(MODELS):
            return path
        made = self.folder / "models" / path.parent.name / path.name
        self.once(("weights", path.parent.name), lambda: worker.run(
            [sys.executable, MODELS / "make_weights.py", self.folder / "models", *sorted(path.parent.glob("*.onnx"))], self.folder), worker)
        return made

    def trained_model(self, case, worker):
        """What is compiled for a recorded case."""
        model = self.weights(training_cases.CASES[case][0], worker)
        if training_cases.model_of(case) not in axes.WITHOUT_DROPOUT:
            return model
        plain = self.folder / "models" / f"{case}.onnx"
        self.once(("plain", case), lambda: worker.run([sys.executable, INPUTS / "without_dropout.py", model, plain], self.folder), worker)
        return plain

    def outcome(self, configuration, worker):
        asked = hashlib.sha256(configuration.detail().encode()).hexdigest()[:12]
        path = self.folder / "outcomes" / f"{configuration.name.replace('/', '+')}.{asked}.json"

        def make():
            if self.keep and path.exists():
                kept = json.loads(path.read_text())
                worker.shared |= set(kept.pop("opened"))
                return kept
            outcome = self.train(configuration, worker)
            worker.kept[path] = json.dumps({**outcome, "opened": sorted(worker.opened())})
            return outcome

        return self.once(("outcome", configuration), make, worker)

    def train(self, configuration, worker):
        model = self.trained_model(configuration.model, worker)
        with self.scratch() as folder:
            folder = pathlib.Path(folder)
            compiled = worker.run(["cleave", "compile", model, "-o", folder / "program", *configuration.options()], folder, limited=True)
            worker.run(["cleave", "verify", folder / "program"], folder, limited=True)
            plan = worker.run(["cleave", "inspect", "--text", folder / "program"], folder)
            ran = self.run_of(configuration, folder, worker)
        return {**ran, "planned": planned_bytes(compiled), "plan": digest_of_plan(plan)}

    def run_of(self, configuration, folder, worker):
        """What the program in the folder does with the case's data: kept for the bytes of the program, whichever sources made it."""
        asked = hashlib.sha256(f"{self.scripts} {configuration.detail()}\n".encode() + b"".join(contents(folder))).hexdigest()
        path = self.folder / "runs" / f"{asked[:24]}.json"
        if self.keep and path.exists():
            worker.log.append(f"ran before: {path.name}")
            return json.loads(path.read_text())
        case = configuration.model
        losses = compare_losses.losses_of(folder / "program", case, training_cases.rate(case, configuration.optimizer),
                                          ["--threads", "1"], folder, run=lambda command: worker.run(command, folder))
        record = recording(case, configuration.optimizer, configuration.precision) or {}
        wrong = running_statistics.differences(record.get("running_statistics", {}), record.get("running_statistics_error", 0),
                                               folder / "checkpoints")
        tensors, position = compare_checkpoints.read(folder / "checkpoints")
        if len(losses) != training_cases.STEPS or not tensors:
            raise Failed(f"{len(losses)} losses in the metrics and {len(tensors)} tensors in the checkpoint")
        state = {" ".join(key): digest_of_tensor(*tensor) for key, tensor in tensors.items()} | {"position": str(position)}
        ran = {"losses": losses, "statistics": list(wrong), "state": state, "bytes": sum(len(data) for _, _, data in tensors.values())}
        worker.kept[path] = json.dumps(ran)
        return ran


def contents(folder):
    """Of what the compiler wrote: the program, and what lies beside it."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        yield f"{path.relative_to(folder)} {path.stat().st_size}\n".encode()
        yield path.read_bytes()


def digest_of_plan(text):
    """Of what runs: the properties say what was asked for."""
    lines = [line for line in text.splitlines() if not line.startswith("property ")]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def digest_of_tensor(kind, shape, data):
    return f"{kind} {list(shape)} {hashlib.sha256(data).hexdigest()}"


def planned_bytes(output):
    """Of one rank, as `cleave compile` says it."""
    return int(re.search(r"^ *total .*?(\d+) bytes", output, re.MULTILINE)[1])
