"""check_page.py PAGE INSPECT.json MOST_BYTES [--measured SOURCE] [--profile MACHINE] [TEXT...]: the numbers in a page of `cleave inspect --html` are those of `cleave inspect --json`;
the page is one well-formed document that loads nothing and whose texts cannot end its script; each TEXT is the name of something in it."""
import html.parser
import json
import pathlib
import re
import sys

VOID = {"meta", "input", "br", "link", "img"}


class Page(html.parser.HTMLParser):
    """Elements must close in order; what a script has is one text."""

    def __init__(self):
        super().__init__()
        self.open, self.scripts, self.tags, self.problems = [], [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append([dict(attributes), ""])

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> closes nothing")

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1][1] += data


def read(path):
    text = pathlib.Path(path).read_text()
    page = Page()
    page.feed(text)
    page.close()
    assert not page.problems and not page.open, (page.problems, page.open)
    assert [script[0].get("id") for script in page.scripts] == ["plan", None], page.scripts
    assert not any("src" in attributes or "href" in attributes for _, attributes in page.tags), "the page loads something"
    assert not re.search(r"https?://|@import|url\(|innerHTML|document\.write", text.replace(page.scripts[0][1], "")), "loads, or makes markup of texts"
    return text, json.loads(page.scripts[0][1])


def check_kind(shown, plan, name):
    assert shown["planned"] == plan["memory"]["by_kind"] and shown["total"] == plan["memory"]["total"] == sum(shown["planned"].values())
    assert {role: pair[0] for role, pair in shown["state"].items()} == plan["state"]
    assert {role: pair[1] for role, pair in shown["state"].items()} == plan["state_whole"]
    program = next(p for p in plan["programs"] if p["name"] == name)
    sent = {axes: traffic["bytes"] for axes, traffic in shown["sent"].items()}
    assert sent == program["sent_bytes_by_group"] and sum(sent.values()) == program["sent_bytes"], (sent, program)
    times = {}
    for traffic in shown["sent"].values():
        for mnemonic, number in traffic["times"].items():
            times[mnemonic] = times.get(mnemonic, 0) + number
    assert times == program["collectives"], (times, program["collectives"])
    if not shown["exchangesLeftOut"]:
        assert sum(exchange[8] for exchange in shown["exchanges"]) == program["sent_bytes"]
    memory = shown["memory"]
    # Calls are instructions of the list, and nothing to walk through.
    assert 0 < memory["instructions"] == memory["allInstructions"] <= program["executed"]
    totals = [sum(slices) for slices in zip(*memory["use"].values())]
    assert len(totals) == len(memory["at"]) == len(memory["alive"]) == len(memory["where"])
    assert totals[memory["peak"]] == max(totals) <= shown["total"]
    for kind, slices in memory["use"].items():
        assert max(slices) <= shown["planned"][kind], f"more of {kind} in use than there is"
    assert all(size == memory["use"]["persistent"][0] == shown["planned"]["persistent"] for size in memory["use"]["persistent"])
    for alive, total in zip(memory["alive"], totals):
        sizes = [value[3] for value in alive]
        assert sizes == sorted(sizes, reverse=True) and sum(sizes) <= total


def check_bodies(shown):
    """Names such as c0.fwd are explained where they occur."""
    named = any(re.match(r"c\d+\.(fwd|bwd)", name) for name in shown["names"])
    assert named == ("c0.fwd" in shown["bodies"]), (shown["bodies"], shown["names"][:20])


def check_measured(shown, source):
    measured, predicted = shown["measured"], shown["predicted"]
    assert source in measured["source"] and measured["duration"] > 0, measured
    for one, other in zip(measured["kinds"], predicted["kinds"], strict=True):
        # The same bodies ran, as often; on every stream, as many instructions or (counting what costs nothing by the model) more. What runs
        # outside of bodies, the update, has no name in a trace.
        called = [sorted(body[:2] for body in step["bodies"] if shown["names"][body[0]] not in ("", shown["entry"])) for step in (one, other)]
        assert called[0] == called[1] and (called[0] or len(predicted["kinds"]) == 1), called
        # Both name an instruction in one way.
        assert not any(shown["names"][span[4]].startswith("node '") for lane in one["lanes"].values() for span in lane)
        for stream, lane in other["lanes"].items():
            assert sum(span[3] for span in one["lanes"][stream]) >= sum(span[3] for span in lane), stream


def check_profile(shown):
    """Where the time goes: rows in order, shares of the whole, and the same sums by kernel and by node."""
    profile, known = shown["profile"], shown["machine"] is not None
    for rows, rest in ((profile["kernels"], profile["otherKernels"]), (profile["nodes"], profile["otherNodes"])):
        times = [row["time"] for row in rows]
        assert 0 < len(rows) <= 20 and times == sorted(times, reverse=True) and (rest["count"] == 0 or len(rows) == 20)
        assert abs(sum(times) + rest["time"] - profile["kernelTime"]) < 1e-3 * profile["kernelTime"] + 1, (sum(times), rest, profile["kernelTime"])
        assert all((row["predicted"] > 0) == known for row in rows)
    launches = [sum(row["launches"] for row in profile[key]) for key in ("kernels", "nodes")]
    assert min(launches) > 0
    assert ("memoryRate" in profile) == known and all(("peak" in row and row["bound"] in ("compute", "memory", "launch")) == known for row in profile["kernels"])


def main():
    text, shown = read(sys.argv[1])
    plan, most = json.loads(pathlib.Path(sys.argv[2]).read_text()), int(sys.argv[3])
    assert len(text) < most, f"{len(text)} bytes, at most {most}"
    kinds = plan.get("kinds", [plan])
    assert len(kinds) == len(shown["kinds"])
    for one, other in zip(shown["kinds"], kinds):
        check_kind(one, other, shown["entry"])
    check_bodies(shown)
    # Of two ranks, one sends in an all-reduce as many bytes as it works on: times and bytes of a row are what it sends.
    for exchange in shown["kinds"][0]["exchanges"] if plan["ranks"] == 2 and len(kinds) == 1 else []:
        assert exchange[0] != "all_reduce" or exchange[8] == exchange[6] * exchange[7], exchange
    assert sum(number for number, _ in shown["waySums"]) == len(shown["tensors"]) + shown["tensorsLeftOut"]
    predicted = shown["predicted"]
    assert len(predicted["kinds"]) == len(kinds) and 0 <= predicted["idle"] < 1 and predicted["duration"] <= predicted["end"]
    for kind in predicted["kinds"]:
        for lane in kind["lanes"].values():
            assert all(a[1] <= b[0] + 0.2 for a, b in zip(lane, lane[1:])), "spans of one stream overlap"
            assert lane[-1][1] <= predicted["end"] + 0.2
    wanted_names = sys.argv[4:]
    if wanted_names[:1] == ["--measured"]:
        check_measured(shown, wanted_names[1])
        wanted_names = wanted_names[2:]
    else:
        assert shown["measured"] is None
    if wanted_names[:1] == ["--profile"]:
        assert (shown["machine"] or "") == wanted_names[1], shown["machine"]
        check_profile(shown)
        wanted_names = wanted_names[2:]
    else:
        assert shown["profile"] is None
    names = set(shown["names"]) | {tensor[0] for tensor in shown["tensors"]}
    for wanted in wanted_names:
        assert any(wanted in name for name in names), f"nothing is named {wanted}"
    print(f"{len(kinds)} kinds, {len(text)} bytes, peak {max(map(lambda k: k['total'], shown['kinds']))} planned")


main()
