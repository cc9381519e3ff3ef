# lit configuration: tools of this build and of LLVM on the path, every program under a time and memory limit.
import os
import resource
import shutil
import subprocess

import lit.formats

config.name = "Cleave"
config.test_format = lit.formats.ShTest(True)
config.suffixes = [".mlir", ".test"]
config.test_source_root = os.path.join(config.cleave_source_dir, "test")
config.test_exec_root = os.path.join(config.cleave_build_dir, "test", "lit-output")
config.excludes = ["Inputs", "models"]

config.environment["PATH"] = os.pathsep.join(
    [os.path.join(config.cleave_build_dir, "bin"), config.llvm_tools_dir, os.environ.get("PATH", "")]
)
# Open MPI refuses to run as root without being told twice; CI machines run as root.
config.environment["OMPI_ALLOW_RUN_AS_ROOT"] = "1"
config.environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"

# The files that a test opens, where a cell of test/full asks for them (test/full/hook).
if "CLEAVE_TABLE_OPENED" in os.environ:
    config.environment.update({v: os.environ[v] for v in ("CLEAVE_TABLE_OPENED", "PYTHONPATH")})

# What a developer has calibrated is no part of a test.
config.environment["XDG_CACHE_HOME"] = os.path.join(config.test_exec_root, "cache")

# Another interpreter than that of the build: --param python=PYTHON (test/full/lit_suite.py takes one that has PyTorch).
config.cleave_python = lit_config.params.get("python", config.cleave_python)
if config.cleave_python:
    config.available_features.add("python")
    # test/requirements.txt has no torch; a developer's own environment may.
    if not subprocess.call([config.cleave_python, "-c", "import importlib.util, sys; sys.exit(not importlib.util.find_spec('torch'))"]):
        config.available_features.add("torch")
    if not subprocess.call([config.cleave_python, "-c", "import importlib.util, sys; sys.exit(not importlib.util.find_spec('tokenizers'))"]):
        config.available_features.add("tokenizers")
    # docs/requirements.txt, which tools/setup.sh --tests installs.
    if not subprocess.call([config.cleave_python, "-c", "import importlib.util as u, sys; sys.exit(not (u.find_spec('mkdocs') and u.find_spec('material')))"]):
        config.available_features.add("mkdocs")
# CUDA's compilers, which tell of machine code what the emulated device cannot. test/cuda/Inputs/ptxas.py and cleave find them by CUDA_PATH.
nvcc = subprocess.check_output([os.path.join(config.cleave_source_dir, "tools", "dev", "find_nvcc.sh")], text=True).strip()
cuda_folders = os.pathsep.join([os.path.dirname(os.path.realpath(nvcc)), "/usr/local/cuda/bin"] if nvcc else [])  # nvcc may be a script elsewhere
for tool in ("nvcc", "ptxas"):
    if found := shutil.which(tool, path=cuda_folders) or shutil.which(tool):
        config.available_features.add(tool)
        config.environment["CUDA_PATH"] = os.path.dirname(os.path.dirname(found))  # that of ptxas, which is the last
config.substitutions.append(("%python", config.cleave_python))
# The emulated CUDA device (test/cuda) is built where its stacks can be switched by hand.
if not config.cleave_sanitizer and os.uname().machine == "x86_64":
    config.available_features.add("emulated-cuda")
# What takes too long for the gate: `lit --param full=1`, which the cell suite/lit of test/full has.
if lit_config.params.get("full"):
    config.available_features.add("full-run")
# Random moments of the tests that kill; `lit --param moments=50` is the full suite.
config.substitutions.append(("%moments", lit_config.params.get("moments", "3")))
config.substitutions.append(("%llvm_include", os.path.join(os.path.dirname(config.llvm_tools_dir), "include")))
config.substitutions.append(("%source", config.cleave_source_dir))
config.substitutions.append(("%build", config.cleave_build_dir))

# A bad rewrite can eat all memory: no test process may take more than 12 GB of address space. Sanitizers map terabytes: a single
# program that has them lifts the limit for itself (`ulimit -v unlimited`).
if not config.cleave_sanitizer:
    config.available_features.add("sanitized-verifier")
    resource.setrlimit(resource.RLIMIT_AS, (12 << 30, resource.getrlimit(resource.RLIMIT_AS)[1]))

# Some kernels of oneDNN differ on processors without AVX-512; ONEDNN_MAX_CPU_ISA=AVX2 makes any processor one of them.
config.environment["ONEDNN_MAX_CPU_ISA"] = os.environ.get("ONEDNN_MAX_CPU_ISA", "ALL")
with open("/proc/cpuinfo") as cpuinfo:
    if config.environment["ONEDNN_MAX_CPU_ISA"] not in ("SSE41", "AVX", "AVX2") and "avx512bw" in cpuinfo.read():
        config.available_features.add("avx512")
