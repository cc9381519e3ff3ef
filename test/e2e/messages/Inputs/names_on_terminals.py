"""names_on_terminals.py FOLDER: a model whose names hold what a terminal obeys. No command of cleave or of the program prints it: text has
escapes, and JSON has escapes that give the names again."""
import json
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

folder = pathlib.Path(sys.argv[1]).resolve()
os.chdir(folder)
failures = 0
# A control sequence, a new line, right to left, a line separator: of C1, and of the characters that change lines or directions.
EVIL = "\u009b31m\u0085\u202e\u200f\u2066\u2028"
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def named(name):
    return name + EVIL


def run(*command, code=0):
    global failures
    done = subprocess.run([str(each) for each in command], capture_output=True, timeout=300)
    said = (done.stdout + done.stderr).decode()
    raw = [line for line in said.split("\n") if OBEYED.search(line)]
    if done.returncode != code or raw:
        failures += 1
        print("FAILED", ascii(command), done.returncode, ascii(raw[:3] or said))
    return done.stdout.decode()


def save(name, array):
    np.save(folder / name, array)
    return name


r = np.random.default_rng(0)
weights = [numpy_helper.from_array(r.standard_normal(shape).astype(np.float32), named(name)) for name, shape in (("W", (8, 16)), ("V", (16, 4)))]
nodes = [helper.make_node("MatMul", [named("x"), named("W")], [named("h")], name=named("first")),
         helper.make_node("Relu", [named("h")], [named("r")], name=named("second")),
         helper.make_node("MatMul", [named("r"), named("V")], [named("y")], name=named("third"))]
graph = helper.make_graph(nodes, named("graph"), [helper.make_tensor_value_info(named("x"), TensorProto.FLOAT, [named("batch"), 8])],
                          [helper.make_tensor_value_info(named("y"), TensorProto.FLOAT, [named("batch"), 4])], weights)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), named("model") + ".onnx")
model, program, infer = named("model") + ".onnx", "./" + named("train"), "./" + named("infer")

run("cleave", "compile", model, "-o", infer, code=2)
run("cleave", "compile", model, "-o", infer, "--dim", named("batch") + "=4")
run("cleave", "compile", model, "-o", program, "--dim", named("batch") + "=4", "--train", "--loss", "mse", "--mesh", "dp=2")
x, y = save("x.npy", np.ones((16, 8), np.float32)), save("y.npy", np.ones((16, 4), np.float32))
data = ["--data", f"{named('x')}={x}", "--data", f"labels={y}"]
run(program, "train", *data, "--steps", "2", "--save", named("saved"), "--trace", "trace.json")
run(program, "train", *data, "--steps", "3", "--resume", named("saved"))
run(program, "train", "--data", f"x={x}", "--data", f"labels={y}", "--steps", "2", code=2)
run(program, "evaluate", *data, "--weights", named("saved"))
run(infer, "infer", "--input", f"{named('x')}={save('x4.npy', np.ones((4, 8), np.float32))}", "--output",
    f"{named('y')}=y4.npy")
run(infer, "infer", "--input", "x=x4.npy", "--output", f"{named('y')}=y4.npy", code=2)
for form in ([], ["--parameters"], ["--timeline"], ["--details"], ["--text"], ["--profile", "trace.json"],
             ["--html", named("page") + ".html"]):
    run("cleave", "inspect", program, *form)
if json.loads(run("cleave", "inspect", program, "--json"))["programs"][0]["inputs"][0]["name"] != named("x"):
    failures += 1
    print("FAILED the name in JSON")
run("cleave", "verify", program)
run("cleave", "diff", program, infer)
run("cleave", "export", named("saved"), "--model", model, "-o", named("out") + ".onnx")
print(f"{failures} failures")
