"""static_checks.py SOURCE BUILD FOLDER CASE...    What ptxas says of kernels, without a GPU. CASE is MODEL:PRECISION:ARCHITECTURE of
training_cases.py, or `own`, the hand-written kernels.

  no local memory     nothing is spilled, and nothing lies on a stack
  16-byte accesses    a generated kernel that moves 16 KiB or more reads or writes 16 bytes at a time (images of 26 x 26 numbers of 16 bits: 8)
  occupancy           registers and shared memory leave room for the warps that the notes claim: of a generated kernel 8 on a
                      multiprocessor, and 40 for the median; of a hand-written one as many blocks as its launch bounds say
  fences of wgmma     wgmma_lint.py finds nothing in the hand-written kernels for sm_90a, and finds each fence, group or wait that is taken
                      out; ptxas has none to put in"""
import pathlib
import re
import statistics
import subprocess
import sys

source, build, folder = (pathlib.Path(a) for a in sys.argv[1:4])
sys.path.insert(0, str(source / "test/e2e/Inputs"))
import ptxas  # noqa: E402
import training_cases  # noqa: E402
import wgmma_lint  # noqa: E402

# The gradient of attention for heads of 65 to 128 elements keeps two sums of 16 x 128 in registers and spills some of the rest
# (kernels/attention/cuda/Entries.cuh). Attention with dropout for heads of up to 64 lacks two registers on sm_90. Bytes of stores, at most.
SPILLED = {"attention_grad_f16_128": 84, "attention_grad_bf16_128": 84, "attention_dropout_grad_f16_128": 104,
           "attention_dropout_grad_bf16_128": 104, "attention_dropout_f16_64": 8, "attention_dropout_bf16_64": 8}
# Where ptxas gives a generated kernel two words of stack, so that twice as many warps run at a time: one of the 42 kernels of GPT-nano in
# f32 for sm_80, one of the 57 of BERT-tiny in bf16 for sm_90. Which is better, a GPU must tell.
STACK = 8
LEAST_WARPS, MEDIAN_WARPS, LARGE = 8, 40, 16 << 10


def check(wrong, what):
    if wrong:
        sys.exit(f"{what}:\n  " + "\n  ".join(wrong))


def local_memory(kernels, stack=0):
    return [f"{k.name}: {k.stack} bytes of stack, {k.spilled} spilled" for k in kernels
            if ".local" in k.text or (k.stack > stack and k.spilled > SPILLED.get(k.name, 0))]


def image(name):
    return (build / f"kernels/{name}.ptx").read_text()


def own(architecture):
    kernels = [k for name in ("KernelImage", "AttentionImage", "AttentionDropoutImage") for k in ptxas.compiled(image(name), architecture, folder)]
    known = {k.name for k in kernels}
    check([name for name in SPILLED if name not in known], "no such kernels")
    own_kernels(architecture, kernels)


def own_kernels(architecture, kernels):
    check(local_memory(kernels), f"hand-written kernels on {architecture} use local memory")
    few = [f"{k.name}: {k.blocks()} blocks of {k.least_blocks}, with {k.registers} registers and {k.shared} bytes" for k in kernels if k.blocks() < max(1, k.least_blocks)]
    check(few, f"kernels on {architecture} run fewer blocks at a time than their launch bounds say")
    print(f"own {architecture}: {len(kernels)} kernels; the fewest warps on a multiprocessor are {min(k.warps() for k in kernels)}")


def own_of_wgmma():
    text = ptxas.text_for_sm_90a(image("AttentionImage"))
    own_kernels("sm_90a", ptxas.compiled(text, "sm_90a", folder))
    found = wgmma_lint.findings(text)
    check([f"{name}: {each}" for name, all_found in found.items() for each in all_found], "wgmma")
    assert len(found) == 4, list(found)
    planted = list(wgmma_lint.planted(text))
    check([f"{name}: without a {what}" for what, name, is_found in planted if not is_found], "not found")
    kinds = {what: sum(each == what for each, _, _ in planted) for what in wgmma_lint.REQUIRED}
    assert all(kinds.values()), kinds
    print(f"wgmma: {len(found)} kernels without findings; found where it is taken out: " + ", ".join(f"{n} {what}" for what, n in kinds.items()))


def weights(path):
    if "test/models" not in path:
        return source / path
    made = folder / "models" / pathlib.Path(path).parent.name / pathlib.Path(path).name
    if not made.exists():
        subprocess.run([sys.executable, source / "test/models/make_weights.py", folder / "models", source / path], check=True, stdout=subprocess.DEVNULL)
    return made


def generated(case):
    name, precision, architecture = case.split(":")
    path, batch, _ = training_cases.CASES[name]
    program = folder / case.replace(":", "_")
    subprocess.run(["cleave", "compile", weights(path), "-o", program, "--train", "--loss-output", "loss", "--optimizer", "adamw",
                    "--global-batch", str(batch), "--precision", precision, "--target", f"cuda:{architecture}"], check=True, capture_output=True)
    plan = subprocess.run(["cleave", "inspect", "--text", program], check=True, capture_output=True, text=True).stdout
    moved = {}
    for label, moves in re.findall(r"(?m)^kernel @(\S+)\.\d+ generated .*?\bbytes (\d+)", plan):
        moved[label] = max(moved.get(label, 0), int(moves))
    kernels = ptxas.compiled(ptxas.image_of(program), architecture, folder)
    labels = {k: next((label for label in moved if k.name.endswith(f"_{label}")), None) for k in kernels}
    check([k.name for k in kernels if labels[k] is None], f"{case}: kernels that the plan does not know")
    check(local_memory(kernels, STACK), f"{case}: kernels use local memory")
    widest = 8 if name.startswith("mnist-cnn") and precision != "f32" else 16
    narrow = [f"{k.name}: {moved[labels[k]]} bytes, {k.accesses()}" for k in kernels if moved[labels[k]] >= LARGE and max(k.accesses()) < widest]
    check(narrow, f"{case}: large kernels without 16-byte accesses (bytes at a time: how often)")
    check([f"{k.name}: {k.warps()} warps, with {k.registers} registers" for k in kernels if k.warps() < LEAST_WARPS], f"{case}: occupancy")
    median = statistics.median(k.warps() for k in kernels)
    check([f"{median}"] if median < MEDIAN_WARPS else [], f"{case}: the median of warps on a multiprocessor")
    large = sum(moved[labels[k]] >= LARGE for k in kernels)
    print(f"{case}: {len(kernels)} kernels, {large} of them large; warps on a multiprocessor: {min(k.warps() for k in kernels)} to "
          f"{max(k.warps() for k in kernels)}, median {median:.0f}")


for each in sys.argv[4:]:
    if each == "own":
        own("sm_80")
        own("sm_90")
        own("sm_100")
        own_of_wgmma()
    else:
        generated(each)
