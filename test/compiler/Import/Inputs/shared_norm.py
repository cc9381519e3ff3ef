"""Writes a model as torch.export does whose module applies one BatchNorm twice: shared_norm.py FILE. The second use reads the running statistics
through an Identity, which has the call of the first use."""
import sys

import onnx
import onnx.parser

TEXT = """<ir_version: 9, opset_import: ["": 18]> g (float[batch, 2] x) => (float loss)
<float[2] s = {1, 2}, float[2] b = {0, 1}, float[2] mean = {0, 0}, float[2] var = {1, 1}, float[2, 2] w = {1, 2, 3, 4}> {
  h = MatMul(x, w)
  y = BatchNormalization(h, s, b, mean, var)
  getitem_3 = Identity(mean)
  getitem_4 = Identity(var)
  r = Relu(y)
  z = BatchNormalization(r, s, b, getitem_3, getitem_4)
  t = Tanh(z)
  loss = ReduceMean<keepdims = 0>(t)
}"""
CALL = "%bn : [num_users=3] = call_function[target=torch.ops.aten._native_batch_norm_legit_functional.default](args = ({}), kwargs = {{}})"
SIGNATURE = """# inputs
p0: PARAMETER target='s'
p1: PARAMETER target='b'
p2: PARAMETER target='w'
b0: BUFFER target='mean' persistent=True
b1: BUFFER target='var' persistent=True
x: USER_INPUT

# outputs
getitem_8: BUFFER_MUTATION target='mean'
getitem_9: BUFFER_MUTATION target='var'
loss: USER_OUTPUT
"""

model = onnx.parser.parse_model(TEXT)
for node, arguments in zip([model.graph.node[i] for i in (1, 2, 3, 5)], ["%h, %s, %b, %mean, %var, True, 0.1, 1e-05"] * 3 +
                           ["%r, %s, %b, %getitem_3, %getitem_4, True, 0.1, 1e-05"]):
    node.metadata_props.add(key="pkg.torch.onnx.fx_node", value=CALL.format(arguments))
model.graph.metadata_props.add(key="pkg.torch.export.ExportedProgram.graph_signature", value=SIGNATURE)
onnx.save(model, sys.argv[1])
