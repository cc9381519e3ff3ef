"""What a result depends on besides the sources: what the programs were made with, which is in the keys, and the processor, which a row names."""
import importlib.metadata
import os
import pathlib
import re
import subprocess

# The sets of instructions for which the compiler and oneDNN have kernels of their own, the last one that a processor has counts.
LEVELS = ("sse4_2", "avx2", "avx512bw", "avx512_bf16", "amx_bf16")
PACKAGES = ("numpy", "onnx", "onnxruntime")  # that results are compared by
SETTINGS = ("CMAKE_BUILD_TYPE", "CMAKE_CXX_FLAGS", "CMAKE_CXX_FLAGS_RELEASE", "CLEAVE_BUILD_COMPILER", "CLEAVE_SANITIZER")
# What commands get of the environment of who runs the table: where things lie, and how the network is reached. All else could change a result.
VARIABLES = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "TMPDIR", "PYTHONDONTWRITEBYTECODE", "CUDA_PATH", "CUDA_HOME", "CLEAVE_TORCH_PYTHON",
             "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")


def environment():
    return {name: os.environ[name] for name in VARIABLES if name in os.environ}


def processor():
    """Its level and its name."""
    text = pathlib.Path("/proc/cpuinfo").read_text()
    flags = re.search(r"^flags\s*:(.*)", text, re.MULTILINE)
    name = re.search(r"^model name\s*:\s*(.*)", text, re.MULTILINE)
    known = [each for each in LEVELS if flags and each in flags[1].split()]
    return f"{os.uname().machine} {known[-1] if known else 'baseline'}: {name[1].strip() if name else 'unknown'}"


def level(processor_):
    """Of processor(): two with the same one take the same kernels."""
    return processor_.partition(":")[0]


def toolchain(build):
    """A line for each thing that makes another program of the same sources, or another number to compare with."""
    cache = dict(re.findall(r"^(\w+):\w+=(.*)$", (build / "CMakeCache.txt").read_text(), re.MULTILINE))
    compiler = subprocess.run([cache["CMAKE_CXX_COMPILER"], "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    llvm = re.search(r'PACKAGE_VERSION "(.*)"', (pathlib.Path(cache["LLVM_DIR"]) / "LLVMConfigVersion.cmake").read_text())[1]
    return "\n".join([*(f"{name}={cache.get(name, '')}" for name in SETTINGS), compiler, f"LLVM {llvm}", os.path.realpath(cache["DNNL_LIBRARY"]),
                      *(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)])
