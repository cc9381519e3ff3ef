"""Each constraint in the description of an op or attribute has a negative test, and each negative test belongs to a constraint.

    check_constraints.py SOURCE TABLEGEN LLVM_INCLUDE

Constraints are the items of the list in a description (dialects/*/IR/*.td). "Those of `x`" stands for the constraints of the op x. In a
test (test/dialects), a comment directly above an expected error says which constraint is violated:

    // constraint: cleave.broadcast: Each dimension of the operand
    // expected-error @below {{operand dimension 0 equals result dimension 1}}
    %0 = cleave.broadcast %a, [1] : tensor<1xf32> -> tensor<8x4xf32>

The words begin this constraint, and no other one of the op. The error is at this op, or, after `at`, at another op of the same module:
`// constraint: plan.program at plan.record: streams are`. An attribute is named with its mark: `#cleave.sharding`.

So an expected error without such a comment is a rule that no description has. Exempt are the errors of rules that an op states in other
ways than by its verifier (`STATED`), and the errors of passes (test/dialects/*/Transforms).

An error that is expected for one constraint of an op is not, and has no part that is, expected for another one. Otherwise one check of the
verifier could serve both tests.
"""
import collections
import pathlib
import re
import sys

import descriptions

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "tools" / "dev"))
import check_coverage

TAG = re.compile(r"\s*// constraint: (#?[\w.]+)(?: at ([\w.]+))?: (\S.*?)\s*")
OP = re.compile(r'\s*(?:%[\w:, %]+ = )?"?(\w+\.\w+)')
# Rules that are stated by the types of operands and attributes, by traits, by the syntax or by Attributes.def, and not by a description.
STATED = re.compile("|".join([
    r"(must be|type attribute of) statically shaped tensor of",  # types
    r"incompatible with return type\(s\) of operation",  # inference
    r"failed to (satisfy|verify) constraint: ", r"requires attribute '", r"invalid properties \{",  # attributes and regions
    r"requires (zero results|one region)", r"expects parent op '", r"must be the last operation in the parent block",  # traits
    r"redefinition of symbol named ", r"using value defined outside the region",
    r"custom op '[\w.]+' (expected|failed to parse) ", r"expected non-function type",  # parsers
    r"^cleave\.\w+( of (argument|result) \d+)? expects the form ",  # Attributes.def
]))
VERIFIES = re.compile(r"^// RUN: .*-verify-diagnostics", re.M)


def all_constraints(source, tablegen, include):
    """Name -> the constraints of this op or attribute."""
    records = {}
    for folder in sorted((source / "dialects").glob("*/IR")):
        records |= descriptions.read(source, tablegen, include, folder.parent.name)
    listed = {name: descriptions.constraints_of(record["description"]) for name, record in records.items()}

    def expand(name, text):
        other = re.match(r"Those of `(\w+)`", text)
        return [part for item in listed[f"{name.split('.')[0]}.{other[1]}"] for part in expand(name, item)] if other else [text]
    return {name: [part for text in texts for part in expand(name, text)] for name, texts in listed.items()}


def find(constraints, name, words):
    """The constraint that the words begin, and what is wrong with them."""
    if name not in constraints:
        return "", f"there is no op or attribute {name}"
    found = [text for text in constraints[name] if text.startswith(words)]
    return ("", f'{len(found)} constraints of {name} begin with "{words}"; expected one') if len(found) != 1 else (found[0], "")


def module_around(lines, at):
    """The lines of a test between two of `// -----`."""
    cuts = [-1] + [i for i, line in enumerate(lines) if line.startswith("// -----")] + [len(lines)]
    return next(lines[first + 1:last] for first, last in zip(cuts, cuts[1:]) if at < last)


def wrong_place(lines, target, name, other):
    """Why an error that is expected at the line `target` is not one of `name`; nothing if it is."""
    if name.startswith("#"):
        return "" if f"{name}<" in lines[target] else f"the error is expected at a line without {name}"
    op = OP.match(lines[target])
    if not op or op[1] != (other or name):
        return f"the error is expected at {op[1] if op else 'no op'}; expected {other or name}"
    found = re.search(rf"\b{re.escape(name)}\b", "\n".join(line for line in module_around(lines, target) if "//" not in line))
    return "" if found else f"the module has no {name}"


def read_tests(path, constraints, tests):
    """Adds the errors that a file expects to (name, constraint) -> errors; returns what is wrong with its comments."""
    lines, wrong = path.read_text().splitlines(), []
    expected = {at: (target, text) for at, target, text in check_coverage.expected_errors(lines)}
    for at, line in enumerate(lines):
        if path.parent.name != "Transforms" and at in expected and "// constraint" not in lines[at - 1] and not STATED.search(expected[at][1]):
            wrong.append(f"{path}:{at + 1}: no `// constraint:` above the error; got: {line.strip()}")
        if "// constraint" not in line:
            continue
        tag, error = TAG.fullmatch(line), "expected `// constraint: OP: FIRST WORDS`"
        if tag:
            constraint, error = find(constraints, tag[1], tag[3])
            error = error or ("" if at + 1 in expected else "the next line expects no error")
            error = error or wrong_place(lines, expected[at + 1][0], tag[1], tag[2])
        if error:
            wrong.append(f"{path}:{at + 1}: {error}; got: {line.strip()}")
        else:
            tests[tag[1], constraint].append(expected[at + 1][1])
    if expected and not VERIFIES.search("\n".join(lines)):
        wrong.append(f"{path}: expects errors, but no RUN line has -verify-diagnostics")
    return wrong


def shared_errors(tests):
    """What is wrong where an error is expected for two constraints of an op."""
    for (name, constraint), errors in tests.items():
        others = [error for (op, other), found in tests.items() if op == name and other != constraint for error in found]
        yield from (f'{name}: two constraints have the error "{error}"' for error in set(errors) if any(error in other for other in others))


def main():
    source, tests = pathlib.Path(sys.argv[1]), collections.defaultdict(list)
    constraints = all_constraints(source, *sys.argv[2:])
    wrong = [error for path in sorted((source / "test" / "dialects").rglob("*.mlir")) for error in read_tests(path, constraints, tests)]
    listed = [(name, text) for name, texts in constraints.items() for text in texts]
    wrong += sorted(shared_errors(tests))
    wrong += [f"{name}: no test for: {text}" for name, text in listed if (name, text) not in tests]
    print("\n".join(wrong) or f"{len(listed)} constraints, {sum(map(len, tests.values()))} tests")
    sys.exit(bool(wrong))


main()
