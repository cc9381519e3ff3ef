// Includes the generated protobuf classes of ONNX, with the macros that they need, and with their warnings disabled.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_FILE_PROTO_H
#define CLEAVE_COMPILER_IMPORT_ONNX_FILE_PROTO_H

#ifndef ONNX_NAMESPACE
#define ONNX_NAMESPACE onnx
#endif
#ifndef ONNX_ML
#define ONNX_ML 1
#endif
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <onnx/onnx_pb.h> // chooses onnx-ml.pb.h
#pragma GCC diagnostic pop

#endif
