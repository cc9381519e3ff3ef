"""Adds up JUnit result files and prints the closing line of tools/check.sh; fails where nothing ran."""
import sys
import xml.etree.ElementTree as ElementTree


def count(path):
    """(passed, failed, skipped) of one JUnit file."""
    cases = ElementTree.parse(path).getroot().iter("testcase")
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


def main(paths):
    totals = [0, 0, 0]
    for path in paths:
        counts = count(path)
        print(f"{path}: {counts[0]} passed, {counts[1]} failed, {counts[2]} skipped", file=sys.stderr)
        totals = [a + b for a, b in zip(totals, counts)]
    print(f"{totals[0]} passed, {totals[1]} failed, {totals[2]} skipped")
    return 1 if totals[1] or not totals[0] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
