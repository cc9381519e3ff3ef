"""Results whose shape depends on the values of the inputs, as that of x[x > 0]. Cleave must know every shape when it compiles."""
from .export_failure import ExportFailed, InvalidFile
from .inference_form import bodies, needed, reads

# The inputs of each operator whose values decide the result's shape. The first ones count or choose elements. The others take sizes.
CHOOSING = {"NonZero": [0], "Unique": [0], "Compress": [1], "NonMaxSuppression": [0, 1]}
SIZED = {"Range": [0, 1, 2], "ConstantOfShape": [0], "Expand": [1], "Reshape": [1], "Tile": [1], "Slice": [1, 2]}
COUNTED = ("Expand", "Reshape")  # torch.export's exporter writes them beside a choice, with the number of the chosen elements


class ValueShapes(InvalidFile):
    """The exporter's file chooses elements by their values. That of the other exporter may select by a mask."""
    fault = "has shapes that depend on values"


def _of_values(graph, of_inputs):
    """The first nodes that decide a shape by values that are computed from the inputs' values, `of_inputs`. Of bodies, those of loops count: a branch
    may be one that is never taken."""
    of_inputs, used, found = set(of_inputs), needed(graph, shapes=True), []
    for node in graph.node:
        if used.isdisjoint(node.output):
            continue
        deciding = CHOOSING.get(node.op_type, SIZED.get(node.op_type, ())) if not node.domain else ()
        within = [inner for body in bodies(node) for inner in _of_values(body, of_inputs)] if node.op_type == "Loop" else []
        if any(i < len(node.input) and node.input[i] in of_inputs for i in deciding):
            found.append(node)
        elif within:
            found += within
        elif not of_inputs.isdisjoint(reads(node)):
            of_inputs.update(filter(None, node.output))
    return found


def check_shapes(job):
    """Raises ValueShapes, or ExportFailed where a size is made of values: the other exporter would write that of the example as a constant."""
    found = _of_values(job.model.graph, {value.name for value in job.model.graph.input})
    if not found:
        return
    names = ", ".join(f"'{node.name or node.output[0]}' ({node.op_type})" for node in found[:3]) + (" and more" if len(found) > 3 else "")
    kinds = {node.op_type for node in found}
    if not kinds.isdisjoint(CHOOSING) and kinds <= {*CHOOSING, *COUNTED}:
        raise ValueShapes(f"a shape depends on the values of the inputs (at {names}), and Cleave must know every shape when it compiles; x[x > 0], "
                          "nonzero(), masked_select() and unique() do that. Keep all elements, and give those that do not count the value 0: "
                          "torch.where(x > 0, x, 0), (loss * mask).sum() / mask.sum()")
    raise ExportFailed(f"a size depends on the values of the inputs (at {names}), and Cleave must know every shape when it compiles; x[:, :n], "
                       "torch.arange(n) and torch.zeros(n) of a number n that is made of a tensor do that, and repeat_interleave() by a tensor. Give "
                       "n as a number of Python (an argument with a default, or a constant of the module), or compute with the largest size, and "
                       "mask what is too much: torch.where(torch.arange(N) < n, x, 0)")
