"""wgmma_lint.py PTX...    What wgmma wants of the code around it (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions"), of every path
through each entry:

  fence          registers of sums and of left operands are behind a wgmma.fence since anything else touched them
  wait           nothing else touches them before a wgmma.wait_group has waited for a group that their product is in; no path ends before
  proxy          what was written to shared memory before a barrier is behind a fence.proxy.async when a product may read it
  shape          products that follow each other without a fence have one shape where they have the same sums

The emulated device does products when they are issued, and ptxas puts in some of what is missing: neither would find these."""
import pathlib
import re
import sys
from dataclasses import dataclass

OLDEST = 9  # wgmma.wait_group leaves at most 7 groups open
STATEMENT = re.compile(r"\s*(?:([$\w]+):(?!:)|([{}])|([^;{}]*(?:\{[^{}]*\}[^;{}]*)*);)")


@dataclass(frozen=True)
class Instruction:
    line: int
    text: str
    opcode: str
    guard: bool
    operands: str

    def registers(self):
        return set(re.findall(r"%[a-z]+\d+\b", self.text))


def entries(ptx):
    for text in re.split(r"(?=\.visible \.entry )", ptx)[1:]:
        yield re.match(r"\.visible \.entry (\w+)", text)[1], ptx[:ptx.index(text)].count("\n") + 1, text


class Graph:
    """The instructions of an entry, and which follow each."""

    def __init__(self, text, first):
        body = re.sub(r"//[^\n]*", lambda m: " " * len(m[0]), text[text.index("{"):text.rindex("}") + 1])
        first += text[:text.index("{")].count("\n")
        self.instructions, labels, scope, made, at, scopes = [], {}, (), 0, 0, []
        while found := STATEMENT.match(body, at):
            line, at = first + body.count("\n", 0, found.start() + len(found[0]) - len(found[0].lstrip())), found.end()
            if found[1]:
                labels[scope, found[1]] = len(self.instructions)
            elif found[2]:
                made += 1
                scope = (*scope, made) if found[2] == "{" else scope[:-1]
            elif statement := found[3].strip():
                if statement[0] != ".":
                    guard, code = re.match(r"(@!?[%\w]+\s+)?(.*)", statement, re.S).groups()
                    opcode, _, operands = code.replace("\t", " ").partition(" ")
                    self.instructions.append(Instruction(line, code, opcode, bool(guard), operands.strip()))
                    scopes.append(scope)
        if body[at:].strip():
            raise ValueError(f"line {first + body.count(chr(10), 0, at)}: not understood: {body[at:].strip()[:60]}")
        self.next = [self.after(i, labels, scopes[i]) for i in range(len(self.instructions))]

    def after(self, i, labels, scope):
        instruction = self.instructions[i]
        kind = instruction.opcode.split(".")[0]
        following = [i + 1] if i + 1 < len(self.instructions) else []
        if kind in ("ret", "exit", "trap"):
            return following if instruction.guard else []
        if kind == "brx":
            raise ValueError(f"line {instruction.line}: branches by index are not understood")
        if kind != "bra":
            return following
        target = instruction.operands.strip()
        place = next(labels[scope[:n], target] for n in range(len(scope), -1, -1) if (scope[:n], target) in labels)
        return [place, *following] if instruction.guard else [place]


@dataclass(frozen=True)
class State:
    clean: frozenset  # registers behind a fence since something touched them
    open: frozenset   # (register, is of sums, shape, age) of products that may be under way; age 0: of no group yet
    copying: bool = False    # cp.async has not been waited for
    written: bool = False    # into shared memory, without a fence since
    published: bool = False  # the same, and a barrier since

    def join(self, other):
        return State(self.clean & other.clean, self.open | other.open, self.copying or other.copying, self.written or other.written,
                     self.published or other.published)


class Lint:
    def __init__(self, graph):
        self.graph, self.findings = graph, {}
        self.parts = {i: self.product(each) for i, each in enumerate(graph.instructions) if each.opcode.startswith("wgmma.mma_async")}
        self.of_products = frozenset(r for sums, left, _ in self.parts.values() for r in sums | left)

    @staticmethod
    def product(instruction):
        """Registers of sums and of the left operand, and the shape."""
        groups = re.match(r"\{([^}]*)\}\s*,\s*(?:\{([^}]*)\})?", instruction.operands)
        split = lambda text: frozenset(re.findall(r"%[a-z]+\d+", text or ""))
        return split(groups[1]), split(groups[2]), re.search(r"\.(m\d+n\d+k\d+)\.", instruction.opcode)[1]

    def find(self, i, what):
        self.findings[self.graph.instructions[i].line, what] = True

    def step(self, i, s):
        instruction = self.graph.instructions[i]
        if i in self.parts:
            return self.multiply(i, s)
        clean, opened, copying, written, published = s.clean, s.open, s.copying, s.written, s.published
        code = instruction.opcode
        if code.startswith("wgmma.fence"):
            clean = self.of_products
        elif code.startswith("wgmma.commit_group"):
            opened = frozenset((r, is_sum, shape, min(age + 1, OLDEST)) for r, is_sum, shape, age in opened)
        elif code.startswith("wgmma.wait_group"):
            opened = frozenset(each for each in opened if not each[3] > int(instruction.operands))
        elif code.startswith("fence.proxy.async"):
            written = published = False
        elif code.startswith("cp.async.wait"):
            written, copying = written or copying, copying and code.startswith("cp.async.wait_group") and instruction.operands != "0"
        elif code.startswith("cp.async") and ".shared" in code:
            copying = True
        elif re.match(r"(st|red|atom)\.(volatile\.)?shared|stmatrix", code):
            written = True
        elif re.match(r"bar(rier)?\.|mbarrier\.arrive", code):
            published, written = published or written, False
        touched = instruction.registers() & self.of_products
        for register, _, _, age in opened:
            if register in touched:
                self.find(i, f"{code} touches {register}, which a product that nothing has waited for has" + ("" if age else "; its group is not committed"))
        if code.split(".")[0] in ("ret", "exit") and opened:
            self.find(i, "ends while products are under way")
        return State(clean - touched, opened, copying, written, published)

    def multiply(self, i, s):
        sums, left, shape = self.parts[i]
        for register in sorted((sums | left) - s.clean):
            self.find(i, f"{register} was touched, and no wgmma.fence follows")
        for register, is_sum, other, _ in s.open:
            if register in (sums if not is_sum else left):
                self.find(i, f"{register} is a left operand here and of sums in a product under way, or the other way round")
            if register in sums and is_sum and other != shape:
                self.find(i, f"{register} has sums of {other} and of {shape} without a wait between")
        if s.published:
            self.find(i, "shared memory was written before a barrier, and no fence.proxy.async follows")
        opened = {each for each in s.open if each[0] not in sums | left}
        opened |= {(r, True, shape, 0) for r in sums} | {(r, False, shape, 0) for r in left}
        return State(s.clean, frozenset(opened), s.copying, s.written, s.published)

    def run(self):
        states, work = {0: State(frozenset(), frozenset())}, [0]
        while work:
            i = work.pop()
            after = self.step(i, states[i])
            for each in self.graph.next[i]:
                joined = states[each].join(after) if each in states else after
                if states.get(each) != joined:
                    states[each] = joined
                    work.append(each)
        return [f"line {line}: {what}" for line, what in sorted(self.findings)]


def findings(ptx):
    """Of every entry with products: its name and what is wrong."""
    return {name: Lint(Graph(text, line)).run() for name, line, text in entries(ptx) if "wgmma.mma_async" in re.sub(r"//[^\n]*", "", text)}


REQUIRED = ("wgmma.fence", "wgmma.commit_group", "wgmma.wait_group", "fence.proxy.async")


def planted(ptx):
    """Each of REQUIRED taken out, one at a time: (what, entry, whether that is found)."""
    for name, _, text in entries(ptx):
        for found in re.finditer(rf"(?m)^\s*({'|'.join(map(re.escape, REQUIRED))})[^\n]*\n", text):
            without = text[:found.start()] + "\n" + text[found.end():]
            yield found[1], name, bool(Lint(Graph(without, 1)).run())


if __name__ == "__main__":
    wrong = False
    for path in sys.argv[1:]:
        for entry, all_found in findings(pathlib.Path(path).read_text()).items():
            print(f"{path}: {entry}: {len(all_found)} findings", *all_found[:20], sep="\n  ")
            wrong |= bool(all_found)
    sys.exit(wrong)
