"""launch.py [--slurm] RANKS COMMAND...    Starts a command as several processes, by the variables of torchrun (or of srun, which MPI has not
told).

As launchers do, it ends the others by SIGTERM when one fails, and ends with that one's code."""
import os
import signal
import socket
import subprocess
import sys
import time


def free_port():
    """One whose next is free, too: rank 0 listens at the one after MASTER_PORT."""
    while True:
        with socket.socket() as probe, socket.socket() as after:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
            try:
                after.bind(("127.0.0.1", port + 1))
            except (OSError, OverflowError):
                continue
            return port


def variables(rank, ranks, port, slurm=False):
    if slurm:
        return {"SLURM_PROCID": str(rank), "SLURM_STEP_NUM_TASKS": str(ranks), "SLURM_LOCALID": str(rank), "SLURM_JOB_ID": "7",
                "SLURM_STEP_ID": "0", "SLURM_STEP_NODELIST": "localhost,other[1-9]", "CLEAVE_COMM_PORT": str(port)}
    return {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}


def main():
    arguments = sys.argv[1:]
    slurm = arguments[0] == "--slurm"
    ranks, *command = arguments[slurm:]
    port = free_port()
    processes = [subprocess.Popen(command, env={**os.environ, **variables(rank, int(ranks), port, slurm)}) for rank in range(int(ranks))]
    signal.signal(signal.SIGTERM, lambda *_: [process.terminate() for process in processes if process.poll() is None])
    told = None
    while any(process.poll() is None for process in processes):
        failed = next((process for process in processes if process.poll()), None)
        if failed and told is None:
            told = time.monotonic()
            for process in processes:
                if process.poll() is None:
                    process.terminate()
        if told and time.monotonic() - told > 30:
            for process in processes:
                process.kill()
        time.sleep(0.05)
    codes = [process.returncode for process in processes]
    sys.exit(next((code if code > 0 else 128 - code for code in codes if code), 0))


if __name__ == "__main__":
    main()
