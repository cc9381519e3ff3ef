"""Compiles every model below a folder for inference and compares it with onnxruntime; lists all failures at its end.

  compare_all.py FOLDER [NAME...]
"""
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
BOUNDS = ["--high", "tokens=256", "--high", "labels=2", "--high", "input_ids=1000"]
OWN_BOUNDS = {"t5-tiny": ["--high", "labels=256", "--high", "input_ids=256"]}  # of a model, by its folder's name


def check(model, folder):
    program = folder / "program"
    compiled = subprocess.run(["cleave", "compile", str(model), "-o", str(program), "--dim", "batch=2"],
                              capture_output=True, text=True, timeout=300)
    if compiled.returncode:
        return compiled.stderr.strip().splitlines()[-1]
    compared = subprocess.run([sys.executable, str(HERE / "compare_onnxruntime.py"), str(model), str(program),
                               "--dim", "batch=2", *BOUNDS, *OWN_BOUNDS.get(model.parent.name, [])], capture_output=True, text=True, timeout=300)
    print(model.name, "; ".join(compared.stdout.splitlines()))
    return None if compared.returncode == 0 else compared.stderr.strip().splitlines()[-1]


def main():
    folder = pathlib.Path(sys.argv[1])
    models = sorted(folder.glob("*/*.onnx"))
    if not models:
        sys.exit(f"no models below {folder}")
    failures = {model.name: failure for model in models if (failure := check(model, folder))}
    for name, failure in failures.items():
        print(f"FAILED {name}: {failure}", file=sys.stderr)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
