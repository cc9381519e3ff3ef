"""What cleave.export_torch does with the exporter's file (python/cleave/exported_file.py and comparison.py), without torch: exported_file_parts.py DIRECTORY.

A stand-in takes the place of the few names of torch that this part uses, and a module of numpy arrays that of the user's."""
import pathlib
import sys
import types

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

torch = types.ModuleType("torch")
torch.float64, torch.bfloat16 = np.dtype("f8"), "bfloat16"
torch.nn = types.SimpleNamespace(Embedding=type("Embedding", (), {}))


class Tensor:
    requires_grad = True

    def __init__(self, value):
        self.value = np.asarray(value, "f4")
        self.dtype, self.shape = self.value.dtype, self.value.shape

    def detach(self):
        return self

    cpu = contiguous = detach

    def is_floating_point(self):
        return True

    def __mul__(self, factor):
        return Tensor(self.value * factor)

    def __rsub__(self, number):
        return Tensor(number - self.value)

    def __lt__(self, number):
        return self.value < number

    def __abs__(self):
        return Tensor(abs(self.value))

    abs = __abs__

    def numpy(self):
        return self.value


torch.where = lambda condition, one, other: Tensor(np.where(condition, one.value, other.value))
torch.repeat_interleave = lambda tensor, times, dim: Tensor(np.repeat(tensor.value, times, dim))
sys.modules["torch"] = torch
sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "python"))
from cleave import comparison, exported_file  # noqa: E402
comparison._nudged = lambda value: value


class Module:
    """y = (x w + b) mask, with a second name for w."""
    training = True
    saves_buffers = True

    def __init__(self):
        weight = Tensor(np.arange(12).reshape(4, 3))
        self.parameters = [("first.w", weight), ("second.w", weight), ("b", Tensor([1, 2, 3]))]
        self.buffers = [("mask", Tensor([1, 0, 1]))]

    def named_parameters(self, remove_duplicate=True):
        return [p for p in self.parameters if not remove_duplicate or p[0] != "second.w"]

    def named_buffers(self, remove_duplicate=True):
        return self.buffers

    def state_dict(self):
        return dict(self.parameters + [buffer for buffer in self.buffers if self.saves_buffers])

    def modules(self):
        return []

    def named_modules(self):
        return []


class Job:
    def __init__(self, path, weight="second.w", mask=(1, 0, 1)):
        self.draft, self.module = types.SimpleNamespace(path=str(path)), Module()
        self.report = types.SimpleNamespace(exporter="torchscript", parameters=0, buffers=0, compared=None, notes=[])
        self.inputs, self.symbols, self.batch_dims = {"x": Tensor(np.ones((2, 4)))}, {"x": "batch"}, {"x": 0}
        self.output_names, self.example_batch, self.recorded = ["y"], 2, types.SimpleNamespace(outputs={"y"})
        values = {weight: self.module.parameters[0][1].value, "b": np.asarray([1, 2, 3], "f4"), "mask": np.asarray(mask, "f4")}
        nodes = [helper.make_node("MatMul", ["x", weight], ["p"], doc_string="/home/me/net.py"), helper.make_node("Add", ["p", "b"], ["s"]),
                 helper.make_node("Mul", ["s", "mask"], ["y"])]
        ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", size]) for name, size in (("x", 4), ("y", 3))]
        graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], [numpy_helper.from_array(v, n) for n, v in values.items()])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), self.draft.path)

    def note(self, text):
        self.report.notes.append(text)

    def run(self, inputs):
        weight, bias, mask = (t.value for t in (self.module.parameters[0][1], self.module.parameters[2][1], self.module.buffers[0][1]))
        return [(inputs["x"].value @ weight + bias) * mask]


def convolutions():
    """Two convolutions: one with zeros as torch.export writes them for three dimensions, which are no vector, and one with a bias."""
    return [helper.make_node("Constant", [], ["shape"], value_ints=[-1, 4, 1]), helper.make_node("Reshape", ["x", "shape"], ["image"]),
            helper.make_node("Shape", ["w"], ["size"], start=0, end=1), helper.make_node("Constant", [], ["two"], value_ints=[2]),
            helper.make_node("Concat", ["size", "two"], ["zeros.shape"], axis=0),
            helper.make_node("Constant", [], ["zero"], value=numpy_helper.from_array(np.float32(0))), helper.make_node("CastLike", ["zero", "x"], ["like"]),
            helper.make_node("Expand", ["like", "zeros.shape"], ["zeros"]), helper.make_node("Conv", ["image", "w", "zeros"], ["c"]),
            helper.make_node("Constant", [], ["begin"], value_ints=[0]), helper.make_node("Constant", [], ["end"], value_ints=[3]),
            helper.make_node("Constant", [], ["axis"], value_ints=[1]), helper.make_node("Slice", ["w", "begin", "end", "axis"], ["w.square"]),
            helper.make_node("Conv", ["c", "w.square", "b"], ["d"]), helper.make_node("Squeeze", ["d", "two"], ["y"])]


def initializers(job):
    return {t.name: numpy_helper.to_array(t) for t in onnx.load(job.draft.path).graph.initializer}


def failure(call):
    try:
        call()
    except exported_file.ExportFailed as error:
        return str(error)
    sys.exit("nothing was refused")


def main():
    folder = pathlib.Path(sys.argv[1])
    # A tied weight takes the name that files of weights have; a buffer that tracing has moved is the module's again, and is marked.
    job = Job(folder / "good.onnx", mask=(9, 9, 9))
    exported_file.mend(job)
    assert sorted(initializers(job)) == ["b", "first.w", "mask"], initializers(job)
    assert initializers(job)["mask"].tolist() == [1, 0, 1]
    assert "b0: BUFFER target='mask' persistent=True" in job.model.metadata_props[0].value, job.model
    unsaved = Job(folder / "unsaved.onnx")
    unsaved.module.saves_buffers = False
    exported_file.mend(unsaved)
    assert "b0: BUFFER target='mask' persistent=False" in unsaved.model.metadata_props[0].value, unsaved.model
    assert not any(node.doc_string for node in job.model.graph.node), "paths of the author's machine are in the file"
    exported_file.check_names(job)
    exported_file.note_losses(job)
    assert (job.report.parameters, job.report.buffers, job.report.notes) == (2, 1, []), (job.report, job.report.notes)
    comparison.compare(job)
    assert job.report.compared < 1e-6 and not job.report.notes, (job.report, job.report.notes)
    assert [entry.value for entry in job.model.metadata_props if entry.key == "cleave.form"] == ["training"], job.model.metadata_props
    print("the file is the module")

    # What masks fill in is equal in both, or it is not; it does not hide the other values.
    for fill in (np.inf, -np.inf, np.nan, -1e36):
        job = Job(folder / "filled.onnx")
        job.module.buffers[0][1].value[2] = fill
        exported_file.mend(job)
        comparison.compare(job)
        assert job.report.compared < 1e-6 and not job.report.notes, (fill, job.report, job.report.notes)
        job.module.parameters[2][1].value[0] = 5
        assert "output 'y' differs" in failure(lambda: comparison.compare(job))
        job = Job(folder / "filled.onnx")
        exported_file.mend(job)
        job.module.buffers[0][1].value[2] = fill
        assert "output 'y' " in failure(lambda: comparison.compare(job))
    job = Job(folder / "nan.onnx")
    job.module.buffers[0][1].value[:] = np.nan
    exported_file.mend(job)
    comparison.compare(job)
    assert ["'y' is NaN" in note for note in job.report.notes] == [True], job.report.notes
    for ours, got, wanted in (([-9999.7] * 50 + [1, 2], [-9999.7001] * 50 + [5, 9], True), ([5e4] * 10 + [1e-9], [5e4] * 10 + [2e-9], False),
                              ([1, np.inf], [1, -np.inf], True), ([1e-9, 1], [2e-9, 1], False), ([1e-9], [2e-9], True), ([], [], False),
                              ([-3.4e38, 1, 2], [-3.4e38, 1, 2.1], True), ([-3.4e38, 1, 2], [-3.4e38, 1, 2.00001], False)):
        found = comparison._relative_difference(np.float64(ours), np.float64(got)) > 1e-3
        assert found == wanted, (ours, got, found)
    print("values that masks fill in are compared")

    # A parameter that the exporter has made a constant of, and one that is frozen, are told.
    job = Job(folder / "folded.onnx", weight="onnx::MatMul_7")
    job.module.parameters[2][1].requires_grad = False
    exported_file.mend(job)
    exported_file.check_names(job)
    exported_file.note_losses(job)
    assert any("1 parameter is not in the file" in note and "first.w" in note for note in job.report.notes), job.report.notes
    assert any("that may hold it (onnx::MatMul_7)" in note for note in job.report.notes), job.report.notes
    assert any("that 1 parameter has requires_grad=False" in note for note in job.report.notes), job.report.notes
    print("what is lost is told")

    # A file that computes something else is refused.
    job = Job(folder / "other.onnx")
    exported_file.mend(job)
    job.module.parameters[2][1].value[0] = 5
    assert "the exporter's file is not the module: output 'y' differs" in failure(lambda: comparison.compare(job))
    assert [path.name for path in folder.glob("other*")] == ["other.onnx"]
    print("another file is refused")

    # torch.export's graph: what nodes make gives way to parameters, inputs and outputs of its name, in bodies as well.
    def value(name):
        return types.SimpleNamespace(name=name)

    class Graph(list):
        def __init__(self, inputs, initializers, outputs, nodes):
            super().__init__(nodes)
            self.inputs, self.initializers, self.outputs = inputs, {v.name: v for v in initializers}, outputs

    def node(made, *bodies):
        return types.SimpleNamespace(outputs=made, attributes={i: types.SimpleNamespace(value=body) for i, body in enumerate([7, *bodies])})

    inner = [value(name) for name in ("t", "t_2", "x", "y", "", "add", "add")]
    outputs = [value("y"), value("z")]
    body = Graph([inner[5]], [], [inner[6]], [node([inner[6]])])
    exported_file.name_apart(Graph([value("x")], [value("t")], outputs, [node(inner[:2]), node(inner[2:5], body), node(outputs)]))
    assert [v.name for v in inner] == ["t_2", "t_2_2", "x_2", "y_2", "", "add", "add_2"] and [v.name for v in outputs] == ["y", "z"], inner
    # A file that has a name for two values is refused, and so is one that onnxruntime calls invalid.
    for change, text in ((lambda g: g.node[0].output.__setitem__(0, "b"), "the name 'b' for two values"), (lambda g: g.output.append(g.output[0]), "the name 'y' for two values")):
        job = Job(folder / "twice.onnx")
        exported_file.mend(job)
        change(job.model.graph)
        assert text in failure(lambda: exported_file.check_defined_once(job))
    job = Job(folder / "invalid.onnx")
    exported_file.mend(job)
    exported_file.check_defined_once(job)
    job.model.graph.node[0].input[0] = "nothing"
    assert "is not valid ONNX" in failure(lambda: comparison.compare(job))
    print("each name is of one value")

    # Zeros that the exporter gives to a convolution without a bias are left out; a bias stays.
    job = Job(folder / "convolution.onnx")
    exported_file.mend(job)
    job.model.graph.initializer.append(numpy_helper.from_array(np.ones((3, 4, 1), "f4"), "w"))
    del job.model.graph.node[:]
    job.model.graph.node.extend(convolutions())
    failed = failure(lambda: comparison.compare(job))
    assert "is not valid ONNX" in failed and "while running Conv" in failed, failed
    exported_file._drop_zero_biases(job.model)
    assert [list(node.input) for node in job.model.graph.node if node.op_type == "Conv"] == [["image", "w"], ["c", "w.square", "b"]], job.model
    print("a convolution has the bias of the module")


main()
