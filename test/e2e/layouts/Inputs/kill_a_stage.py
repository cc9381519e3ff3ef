"""kill_a_stage.py PROGRAM RANKS DATA...: kills the process of one rank in the midst of training, each rank in turn, and stops rank 1 in another run.

Every other rank must end by itself, within 5 seconds, with a line that names the rank that is lost and what waited for it. Of a rank that is stopped
nobody knows more than that it does not answer: after CLEAVE_COMM_TIMEOUT_S the others end, and name ranks that they waited for, which are there."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

LIMIT = 5
# In an instruction, or between two steps, when all ranks are told the results, or compare whether somebody ends the run.
WORDS = (r"error: rank {} (?:\(process \d+\) has died|is lost).* this process was in step \d+: "
         r"(?:program '[^']+', instruction \d+ \(|telling all processes the results: |a comparison of all processes)")


def processes(program):
    """The processes of ranks, by rank."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (path / "exe").resolve() == program:
                environment = dict(part.split(b"=", 1) for part in (path / "environ").read_bytes().split(b"\0") if b"=" in part)
                found[int(environment[b"OMPI_COMM_WORLD_RANK"])] = int(path.name)
        except (OSError, KeyError):
            pass
    return found


def is_there(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def start(program, ranks, data):
    """The running job, and the processes of its ranks, after two steps."""
    metrics = program.with_suffix(".metrics")
    metrics.unlink(missing_ok=True)
    command = ["mpirun", "--oversubscribe", "-n", str(ranks), str(program), "train", "--steps", "100000", "--lr", "1e-4", "--threads", "1",
               "--metrics", str(metrics), "--save", str(program.with_suffix(".saved")), *data]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    begin = time.monotonic()
    while not metrics.exists() or metrics.read_text().count('"loss"') < 2:
        if process.poll() is not None or time.monotonic() - begin > 100:
            process.kill()
            sys.exit(f"FAILED: it does not train: {process.communicate()[1]}")
        time.sleep(0.02)
    pids = processes(program)
    if sorted(pids) != list(range(ranks)):
        sys.exit(f"FAILED: ranks {sorted(pids)} were found; expected {ranks}")
    return process, pids


def check(program, ranks, killed, data):
    process, pids = start(program, ranks, data)
    os.kill(pids[killed], signal.SIGKILL)
    begin = time.monotonic()
    others = [pid for rank, pid in pids.items() if rank != killed]
    while any(map(is_there, others)) and time.monotonic() - begin < 60:
        time.sleep(0.02)
    seconds = time.monotonic() - begin
    for pid in others:
        if is_there(pid):
            os.kill(pid, signal.SIGKILL)
    text = process.communicate()[1]
    named = re.findall(WORDS.format(killed), text)
    if text.count("; no checkpoint was saved before (--save-every N)") < ranks - 1:
        sys.exit(f"FAILED: expected what a run can go on from:\n{text}")
    print(f"rank {killed} of {ranks} was killed: the others ended after {seconds:.1f} s, {len(named)} named what waited", flush=True)
    if seconds > LIMIT or len(named) < ranks - 1 or process.returncode == 0:
        sys.exit(f"FAILED: expected at most {LIMIT} s, and a line of each that names what it waited for; exit code {process.returncode}:\n{text}")


def check_stopped(program, ranks, stopped, data):
    os.environ["CLEAVE_COMM_TIMEOUT_S"] = "3"
    process, pids = start(program, ranks, data)
    del os.environ["CLEAVE_COMM_TIMEOUT_S"]
    os.kill(pids[stopped], signal.SIGSTOP)
    try:
        text = process.communicate(timeout=60)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        sys.exit("FAILED: the others wait for the rank that is stopped for ever")
    finally:
        if is_there(pids[stopped]):
            os.kill(pids[stopped], signal.SIGKILL)
    named = [tuple(map(int, pair.split(" or "))) for pair in re.findall(r"waited \d+ s for rank (-?\d+(?: or -?\d+)?);", text)]
    print(f"rank {stopped} of {ranks} was stopped: the others waited for {named}", flush=True)
    good = named and all(len(set(some)) == len(some) and all(0 <= rank < ranks for rank in some) for some in named)
    if not good or process.returncode == 0:
        sys.exit(f"FAILED: expected lines that name ranks, each once, and an exit code of an error; got {process.returncode}:\n{text}")


def main():
    program, ranks, data = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]), sys.argv[3:]
    check_stopped(program, ranks, 1, data)
    for killed in range(ranks):
        check(program, ranks, killed, data)


if __name__ == "__main__":
    main()
