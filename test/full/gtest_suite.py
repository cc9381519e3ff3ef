"""gtest_suite.py BUILD [CTEST'S OPTIONS]: GoogleTest's tests, of which none may be left out but those of MAY_SKIP.

CTest counts a program as passed whose tests skip themselves, so what they print is read. The last line has the figures."""
import re
import subprocess
import sys

import machine

# What a machine may lack, and the tests that then skip themselves: the table has no evidence of them from such a machine.
MAY_SKIP = {
    "AVX-512": ["PackedProduct.ARowDoesNotDependOnTheOthers", "PackedProduct.PacksFromSoManyRowsOn",
                "Packing.FormsForHalfVectorsFitWhereWholeOnesDoNot", "Packing.WholeBlocksArePacked"],
    "cuDNN": ["DnnLibraryTest.EntryPoints", "DnnLibraryTest.Sizes"],
}


def excused(level):
    """A processor that has AVX-512 excuses no test that needs it."""
    return {name for lack, names in MAY_SKIP.items() if lack != "AVX-512" or not re.search("avx512|amx", level) for name in names}


def judged(text, level):
    """How many tests passed, how many may be left out on such a processor, and those that were besides, of what `ctest -V` prints."""
    passed = len(re.findall(r"^\d+: \[ {7}OK \] \S", text, re.MULTILINE))
    skipped = set(re.findall(r"^\d+: \[  SKIPPED \] ([\w/]+\.[\w/]+)", text, re.MULTILINE))
    disabled = re.findall(r"^\d+: .*YOU HAVE (\d+ DISABLED TESTS?)", text, re.MULTILINE)
    return passed, len(skipped & excused(level)), sorted(skipped - excused(level)) + disabled


def main():
    ctest = subprocess.run(["ctest", "--test-dir", sys.argv[1], "-V", "--timeout", "900", "--no-tests=error", *sys.argv[2:]],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    print(ctest.stdout)
    passed, may, left = judged(ctest.stdout, machine.level(machine.processor()))
    print(f"{passed} passed, {may} need another machine, {len(left)} skipped" + "".join(f", {name}" for name in left))
    sys.exit(bool(ctest.returncode or left or not passed))


if __name__ == "__main__":
    main()
