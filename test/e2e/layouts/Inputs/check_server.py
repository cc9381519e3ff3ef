"""A parameter server's memory and traffic, by kind of ranks: as the plan says, as the formulas have them, and as counted in a run.

  check_server.py PROGRAM INSPECT.json CASE

N ranks, P bytes of parameters, G of gradients (both padded to N). The server alone has optimizer state. Gradients are reduced to it: it
sends (N-1)/N G, each worker G. Parameters are broadcast: the server sends 2 (N-1)/N P, each worker (N-2)/N P. Scalars are padded to
one element a rank: the loss's sum and count are all-reduced in float32, the gradients' norm is broadcast in float64.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Inputs"))
import check_mpi_traffic  # noqa: E402
import check_traffic  # noqa: E402


def megabytes(bytes):
    for unit in ("B", "KiB", "MiB"):
        if bytes < 1024 or unit == "MiB":
            return f"{bytes} B" if unit == "B" else f"{bytes:.1f} {unit}"
        bytes /= 1024


def expect(what, got, wanted):
    if got != wanted:
        sys.exit(f"{what}: got {got}, expected {wanted}")


def step_of(kind):
    return next(program for program in kind["programs"] if program["name"] == "train_step")


def main():
    program, inspected, case = sys.argv[1], json.loads(pathlib.Path(sys.argv[2]).read_text()), sys.argv[3]
    n = inspected["ranks"]
    server, worker = inspected["kinds"]
    expect("kinds", [(k["name"], k["ranks"], k["where"]["dp"]) for k in (server, worker)],
           [("server", 1, [0, 1]), ("worker", n - 1, [1, n])])
    parameters, gradients = server["state"]["parameter"], server["state"]["gradient"]
    expect("parameters and gradients of a worker", (worker["state"]["parameter"], worker["state"]["gradient"]), (parameters, gradients))
    expect("optimizer state of the server", server["state"]["optimizer"], 2 * parameters)
    expect("optimizer state of a worker", worker["state"].get("optimizer", 0), 0)

    scalar = 8 * n
    reduced, loss = step_of(server)["sent_bytes_by_collective"], 2 * (2 * (n - 1) * 4 * n // n)
    expect("the server", reduced, {"reduce": (n - 1) * gradients // n, "broadcast": 2 * (n - 1) * (parameters + scalar) // n,
                                   "all_reduce": loss})
    expect("a worker", step_of(worker)["sent_bytes_by_collective"],
           {"reduce": gradients, "broadcast": (n - 2) * (parameters + scalar) // n, "all_reduce": loss})
    expect("sums", [step_of(kind)["sent_bytes"] for kind in (server, worker)],
           [sum(step_of(kind)["sent_bytes_by_collective"].values()) for kind in (server, worker)])

    with tempfile.TemporaryDirectory() as folder:
        counted = check_traffic.counted_bytes(program, pathlib.Path(folder), case=case)
        expect("counted by the server", counted, {step_of(server)["sent_bytes"]})
        data = [f"--data={name}={path}" for name, path in ((p.stem, p) for p in pathlib.Path(folder).glob("*.npy"))]
        done = subprocess.run([program, "train", "--steps", "1", *data], capture_output=True, text=True, timeout=300, check=True)
        # What Open MPI counts below its interface, on every rank: the scalars' ring sends to the next rank, the rest to several.
        sent, _, _ = check_mpi_traffic.run_steps(program, n, case, [])
        expect("sent by each rank, as Open MPI counts", [sum(peers.values()) // check_mpi_traffic.STEPS for peers in sent],
               [step_of(server)["sent_bytes"]] + (n - 1) * [step_of(worker)["sent_bytes"]])
    totals = [kind["memory"]["total"] for kind in (server, worker)]
    text = re.search(r"memory: planned (.*), measured", done.stderr).group(1)
    ranks = "rank" if n == 2 else "ranks"
    expect("memory at run time", text, f"{megabytes(totals[0] + (n - 1) * totals[1])} (1 rank x {megabytes(totals[0])}, "
                                       f"{n - 1} {ranks} x {megabytes(totals[1])})")
    print(f"{n} ranks: the server sends {step_of(server)['sent_bytes']}, a worker {step_of(worker)['sent_bytes']} bytes a step")


if __name__ == "__main__":
    main()
