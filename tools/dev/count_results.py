"""Adds up JUnit result files and prints the closing line of tools/check.sh: count_results.py FILE... [-- TEST...]

Fails where a file has no test that passed, or one of TEST, whose registration depends on what is installed, is in none.
"""
import sys
import xml.etree.ElementTree as ElementTree


def count(cases):
    """(passed, failed, skipped)."""
    failed = skipped = passed = 0
    for case in cases:
        tags = {child.tag for child in case}
        if tags & {"failure", "error"} or case.get("status") == "fail":
            failed += 1
        elif "skipped" in tags:
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def main(arguments):
    end = arguments.index("--") if "--" in arguments else len(arguments)
    paths, missing = arguments[:end], set(arguments[end + 1:])
    totals, empty = [0, 0, 0], []
    for path in paths:
        cases = list(ElementTree.parse(path).getroot().iter("testcase"))
        counts = count(cases)
        missing -= {case.get("name") for case in cases}
        empty += [path] * (not counts[0])
        print(f"{path}: {counts[0]} passed, {counts[1]} failed, {counts[2]} skipped", file=sys.stderr)
        totals = [a + b for a, b in zip(totals, counts)]
    print(f"{totals[0]} passed, {totals[1]} failed, {totals[2]} skipped")
    for problem in [f"{path}: no test passed" for path in empty] + [f"{name}: no such test ran" for name in sorted(missing)]:
        print(problem, file=sys.stderr)
    return 1 if totals[1] or empty or missing or not paths else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
