"""check_emitted.py [SECONDS]: every operator that the importer has is in a random graph, or in APART with the reason.

Graphs are grown, and not compiled, from inputs of many shapes and types, by all operators in turn, until each was emitted. An operator that a
generator chooses and never emits is found so (MeanVarianceNormalization was one)."""
import pathlib
import re
import sys
import time

import numpy as np

import fuzz_graphs
import operators
from building import Graph
import scatters  # noqa: F401  (registers)

HANDLERS = pathlib.Path(__file__).resolve().parents[5] / "compiler" / "Import" / "ONNX" / "Operators"
SEQUENCES = "sequences; the cell import/node-tests has them"
DRAWN = "draws numbers of its own"
APART = {
    "Bernoulli": DRAWN, "Multinomial": DRAWN, "RandomNormal": DRAWN, "RandomNormalLike": DRAWN, "RandomUniform": DRAWN, "RandomUniformLike": DRAWN,
    "ConcatFromSequence": SEQUENCES, "SequenceAt": SEQUENCES, "SequenceConstruct": SEQUENCES, "SequenceEmpty": SEQUENCES,
    "SequenceErase": SEQUENCES, "SequenceInsert": SEQUENCES, "SequenceLength": SEQUENCES, "SplitToSequence": SEQUENCES,
    "NonZero": "its shape depends on values", "Dropout": "samples.py trains with it", "Constant": "containers.py makes it",
    "Shape": "containers.py makes it", "Size": "containers.py makes it", "MelWeightMatrix": "has constant inputs alone; not written yet",
    "RoiAlign": "not written yet", "STFT": "not written yet", "TensorScatter": "not written yet",
}


def handled():
    """Names of the registered handlers; domains of others than ONNX aside."""
    text = "".join(path.read_text() for path in HANDLERS.glob("*.cpp"))
    return set(re.findall(r"table\.\w+(?:<[^>]*>)?\(\"([A-Z]\w*)\"", text))


def main():
    seconds, begin = float(sys.argv[1]) if len(sys.argv) > 1 else 120, time.monotonic()
    wanted, seen, seed = handled() - set(APART), set(), 0
    while wanted - seen and time.monotonic() - begin < seconds:
        g = Graph(seed)
        g.sizes = [1, 2, 3, 4, 6]
        for shape in ([2, 3], [2, 4, 4, 4], [4, 2, 3], [3, 3], [6]):
            g.add_input(shape, np.dtype("f4"))
        for shape, dtype in (([2, 3], "int8"), ([2, 3, 2, 2], "uint8"), ([5], "int64"), ([2, 3], "int32"), ([2, 3], "bool")):
            g.add_input(shape, np.dtype(dtype))
        for _, function, _ in operators.OPERATORS:
            g.rng.shuffle(g.pool)
            function(g)
        seen |= {node.op_type for node in g.nodes}
        seed += 1
    missing, idle = sorted(wanted - seen), sorted(set(APART) & seen)
    print(f"{len(wanted & seen)} of {len(wanted)} operators in {seed} graphs; {len(APART)} apart")
    if missing or idle or len(wanted) < 100:
        sys.exit(f"in no graph: {' '.join(missing)}; apart without need: {' '.join(idle)}")


if __name__ == "__main__":
    main()
