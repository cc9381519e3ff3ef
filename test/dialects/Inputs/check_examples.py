"""Every op of a dialect has a summary, prose, constraints and an example, and the example is IR that parses and verifies.

    check_examples.py SOURCE TABLEGEN LLVM_INCLUDE OPS PRELUDE.mlir...

OPS are names by comma, or `all`.
The descriptions come from the .td files. An example names values that it does not define (`%x`): they are defined here with the type that
the parser asks for. What else it names (states, regions, groups) stands in PRELUDE.mlir, one file for each dialect: what the example
defines itself is left out of it. The example must parse at one of its lines `PLACE`.
"""
import pathlib
import re
import subprocess
import sys

import descriptions

EXAMPLE = re.compile(r"```(?:mlir)?\n(.*?)```", re.S)
ASKS = re.compile(r"value '(%\w+)' expects different type than prior uses: '(.*?)' vs")


def free_values(example):
    """What the example uses and does not define: neither by `%a, %b = ...` nor as arguments of a block."""
    results = re.findall(r"^\s*(%\w+(?:, %\w+)*)\s*=", example, re.M)
    arguments = re.findall(r"\^\w+\(([^)]*)\)", example)
    return sorted(set(re.findall(r"%\w+", example)) - set(re.findall(r"%\w+", " ".join(results + arguments))))


def without(prelude, example):
    """The lines of the prelude that define no symbol which the example defines."""
    defined = set(re.findall(r"^\s*(?:cleave.state|plan.(?:region|group|event|kernel|program|state)) (@[\w.]+)", example, re.M))
    kept = [line for line in prelude.splitlines() if not any(re.match(rf"\s*[a-z]+\.[a-z]+ {re.escape(symbol)} ", line) for symbol in defined)]
    if "plan.header" in example:
        kept = [line for line in kept if "plan.header" not in line]
    return "\n".join(kept)


def parses(example, prelude, place):
    """Nothing, or what the parser says of the example at a place of the prelude, counted from 0."""
    types, known = dict.fromkeys(free_values(example), "none"), set()
    around = iter(without(prelude, example).split("PLACE"))
    text = next(around) + "".join(("EXAMPLE" if i == place else "") + part for i, part in enumerate(around))
    while True:
        values = "".join(f'{name} = "test.value"() : () -> {type_}\n' for name, type_ in types.items())
        done = subprocess.run(["cleave-opt", "--allow-unregistered-dialect", "-"], input=text.replace("EXAMPLE", values + example),
                              capture_output=True, text=True)
        asked = ASKS.search(done.stderr)
        if not asked or asked[1] in known:
            return "" if done.returncode == 0 else done.stderr.splitlines()[0]
        known.add(asked[1])  # the others are likely of this type, too
        types.update({name: asked[2] for name in types if name == asked[1] or name not in known})


def check(example, prelude):
    """Nothing where the example parses at one of the prelude's places, else what the parser says at each."""
    said = []
    for place in range(prelude.count("PLACE")):
        said.append(parses(example, prelude, place))
        if not said[-1]:
            return ""
    return "; ".join(said)


def main():
    source, tablegen, include, wanted = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4].split(",")
    wrong, count, examples = [], 0, 0
    for path in map(pathlib.Path, sys.argv[5:]):
        for name, record in descriptions.read(source, tablegen, include, path.stem.capitalize()).items():
            description = record["description"]
            if name.startswith("#") or wanted != ["all"] and name not in wanted:
                continue
            count += 1
            prose = descriptions.CONSTRAINTS.sub("", EXAMPLE.sub("", description)).strip()
            constraints = descriptions.CONSTRAINTS.search(description)
            parts = {"summary": record["summary"], "prose": prose, "example": EXAMPLE.search(description),
                     "constraints": constraints and constraints[1].strip()}
            wrong += [f"{name}: no {what}" for what, text in parts.items() if not text]
            for example in EXAMPLE.findall(description):
                examples += 1
                if name not in example:
                    wrong.append(f"{name}: the example is of another op")
                elif said := check(example, path.read_text()):
                    wrong.append(f"{name}: {said}")
    print("\n".join(wrong) or f"{count} ops, {examples} examples parse")
    sys.exit(bool(wrong))


main()
