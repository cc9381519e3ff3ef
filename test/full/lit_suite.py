"""lit_suite.py BUILD [--needs FEATURE,...] [--python PYTHON] [LIT'S OPTIONS]: lit's tests, of which none may be left out.

Without --needs: all tests but those that ask for a feature of APART, which cells of their own run. With --needs: those that ask for one of the
features. A test that is UNSUPPORTED has shown nothing, so it is a failure here, and so is a run without tests. The last line has the figures."""
import argparse
import pathlib
import re
import subprocess
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
LIT = ["/usr/lib/llvm-22/bin/lit", "-v", "--timeout=3000"]
APART = {"torch", "tokenizers", "ptxas", "nvcc", "mkdocs"}  # of test/lit.cfg.py: what the gate's machine and its Python may lack


def required(path):
    lines = re.findall(r"^(?://|#|;)?\s*REQUIRES:(.*)$", path.read_text(errors="replace"), re.MULTILINE)
    return {feature for line in lines for feature in re.split(r"[\s,]+", line.strip())}


def those_that_need(features):
    """The names that lit gives them."""
    files = [path for suffix in ("mlir", "test") for path in TESTS.rglob(f"*.{suffix}") if "Inputs" not in path.parts]
    return sorted(str(path.relative_to(TESTS)) for path in files if required(path) & features)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--needs")
    parser.add_argument("--python", help="instead of the build's CLEAVE_TEST_PYTHON")
    options, more = parser.parse_known_args()
    chosen = those_that_need(set(options.needs.split(",")) if options.needs else APART)
    pattern = f":: ({'|'.join(map(re.escape, chosen))})$"
    python = ["--param", f"python={options.python}"] if options.python else []
    command = [*LIT, "--param", "full=1", *python, "--filter" if options.needs else "--filter-out", pattern, *more, options.build / "test"]
    lit = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    print(lit.stdout)
    states = {name: state for state, name in re.findall(r"^([A-Z]+): Cleave :: (\S+)", lit.stdout, re.MULTILINE)}
    passed = sum(state == "PASS" for state in states.values())
    left = sorted(name for name, state in states.items() if state == "UNSUPPORTED")
    lost = sorted(set(chosen) - set(states)) if options.needs and not more else []
    print(f"{passed} passed, {len(left)} unsupported, {len(lost)} not found by lit" + "".join(f", {name}" for name in left + lost))
    sys.exit(bool(lit.returncode or left or lost or not passed))


if __name__ == "__main__":
    main()
