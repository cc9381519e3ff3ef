#include "test/dialects/Cleave/GradientCases.h"

using namespace cleave::test;
using Strings = std::vector<std::string>;

static std::string f64(const std::string &shape) { return "tensor<" + shape + "f64>"; }

static void addElementwise(std::vector<GradientCase> &cases) {
  for (std::string op : {"neg", "abs", "sign", "exp", "expm1", "tanh", "erf", "sigmoid", "sin", "cos", "atan", "floor",
                         "ceil", "round", "relu"})
    for (std::string shape : {"3x4x", "1x5x", ""})
      cases.push_back({"cleave." + op, "%0 : " + f64(shape), {f64(shape)}, {f64(shape)}});
  for (std::string op : {"asin", "acos"})
    cases.push_back({"cleave." + op, "%0 : " + f64("3x4x"), {f64("3x4x")}, {f64("3x4x")}, -0.95, 0.95});
  for (std::string op : {"log", "log1p", "sqrt", "rsqrt"})
    cases.push_back({"cleave." + op, "%0 : " + f64("3x4x"), {f64("3x4x")}, {f64("3x4x")}, 0.3, 3});
  for (std::string op : {"add", "sub", "mul", "max", "min"})
    cases.push_back({"cleave." + op, "%0, %1 : " + f64("3x4x"), {f64("3x4x"), f64("3x4x")}, {f64("3x4x")}});
  for (std::string op : {"div", "pow", "rem"})
    cases.push_back({"cleave." + op, "%0, %1 : " + f64("3x1x"), {f64("3x1x"), f64("3x1x")}, {f64("3x1x")}, 0.5, 2});
  cases.push_back({"cleave.select",
                   "%0, %1, %2 : tensor<2x3xi1>, " + f64("2x3x"),
                   {"tensor<2x3xi1>", f64("2x3x"), f64("2x3x")},
                   {f64("2x3x")}});
  // Linear, but its result has only 24 bits, so the step is wide.
  cases.push_back({"cleave.cast",
                   "%0 : tensor<5xf64> -> tensor<5xf32>",
                   {"tensor<5xf64>"},
                   {"tensor<5xf32>"},
                   -2,
                   2,
                   2,
                   1e-2,
                   1e-4});
}

static GradientCase unary(const std::string &op, const std::string &attributes, const std::string &in,
                          const std::string &out) {
  return {op, "%0" + attributes + " : " + f64(in) + " -> " + f64(out), {f64(in)}, {f64(out)}};
}

static void addShape(std::vector<GradientCase> &cases) {
  cases.push_back(unary("cleave.reshape", "", "2x6x", "3x1x4x"));
  cases.push_back(unary("cleave.reshape", "", "1x", ""));
  cases.push_back(unary("cleave.transpose", ", [2, 0, 1]", "2x3x1x", "1x2x3x"));
  cases.push_back(unary("cleave.broadcast", ", [1]", "3x", "2x3x4x"));
  cases.push_back(unary("cleave.broadcast", ", []", "", "2x2x"));
  cases.push_back(unary("cleave.slice", ", [1, 0], [2, 3], [2, 1]", "5x4x", "2x3x"));
  cases.push_back(unary("cleave.pad", ", [1, 0], [2, 1], [1, 0], value = 0.5", "3x2x", "8x3x"));
  cases.push_back({"cleave.concat",
                   "%0, %1 dim = 1 : " + f64("2x3x") + ", " + f64("2x1x") + " -> " + f64("2x4x"),
                   {f64("2x3x"), f64("2x1x")},
                   {f64("2x4x")}});
}

static void addReductions(std::vector<GradientCase> &cases) {
  for (std::string kind : {"sum", "max", "min", "product"}) {
    cases.push_back(
        {"cleave.reduce", kind + " %0, [1] : " + f64("3x4x1x") + " -> " + f64("3x1x"), {f64("3x4x1x")}, {f64("3x1x")}});
    cases.push_back(
        {"cleave.reduce", kind + " %0, [0, 2] : " + f64("2x3x2x") + " -> " + f64("3x"), {f64("2x3x2x")}, {f64("3x")}});
  }
  for (std::string op : {"cleave.softmax", "cleave.log_softmax"})
    for (std::string dim : {"0", "1"})
      cases.push_back({op, "%0, dim = " + dim + " : " + f64("3x4x"), {f64("3x4x")}, {f64("3x4x")}});
  for (auto &[dims, kept] : std::vector<std::pair<std::string, std::string>>{{"1", "3x2x"}, {"0, 2", "5x"}})
    cases.push_back({"cleave.normalize",
                     "%0, [" + dims + "], epsilon = 1.0e-2 : " + f64("3x5x2x") + " -> " + f64("3x5x2x") + ", " +
                         f64(kept) + ", " + f64(kept),
                     {f64("3x5x2x")},
                     {f64("3x5x2x"), f64(kept), f64(kept)}});
}

// Every combination of transposed and shared operands, with and without a bias.
static void addMatmuls(std::vector<GradientCase> &cases) {
  for (int bits = 0; bits < 4; ++bits)
    for (auto &[lhsBatch, rhsBatch] : std::vector<std::pair<std::string, std::string>>{
             {"", ""}, {"2x3x", "2x3x"}, {"2x3x", ""}, {"", "2x"}, {"1x", "1x"}}) {
      bool tl = bits & 1, tr = bits & 2;
      std::string lhs = f64(lhsBatch + (tl ? "3x2x" : "2x3x")), rhs = f64(rhsBatch + (tr ? "4x3x" : "3x4x"));
      std::string batch = lhsBatch.empty() ? rhsBatch : lhsBatch, result = f64(batch + "2x4x");
      std::string flags = tl && tr ? " {transpose_lhs, transpose_rhs}"
                          : tl     ? " {transpose_lhs}"
                          : tr     ? " {transpose_rhs}"
                                   : "";
      cases.push_back(
          {"cleave.matmul", "%0, %1" + flags + " : " + lhs + ", " + rhs + " -> " + result, {lhs, rhs}, {result}});
      cases.push_back({"cleave.matmul",
                       "%0, %1 bias %2" + flags + " : " + lhs + ", " + rhs + ", " + f64("4x") + " -> " + result,
                       {lhs, rhs, f64("4x")},
                       {result}});
    }
}

static std::string window(const std::string &stride, const std::string &dilation, const std::string &low,
                          const std::string &high) {
  auto list = [](const std::string &values) { return " = array<i64: " + values + ">"; };
  return "strides" + list(stride) + ", dilations" + list(dilation) + ", pad_low" + list(low) + ", pad_high" +
         list(high);
}

static void addWindows(std::vector<GradientCase> &cases) {
  auto convolution = [&](const std::string &attributes, int groups, const std::string &x, const std::string &w,
                         const std::string &y) {
    cases.push_back({"cleave.convolution",
                     "%0, %1 {" + attributes + ", groups = " + std::to_string(groups) + " : i64} : " + f64(x) + ", " +
                         f64(w) + " -> " + f64(y),
                     {f64(x), f64(w)},
                     {f64(y)}});
  };
  convolution(window("1, 1", "1, 1", "1, 1", "1, 1"), 1, "2x2x4x3x", "3x2x3x3x", "2x3x4x3x");
  convolution(window("2, 1", "1, 2", "0, 1", "1, 2"), 1, "1x2x5x4x", "1x2x2x3x", "1x1x3x3x");
  convolution(window("2, 2", "1, 1", "1, 1", "1, 1"), 2, "1x4x4x4x", "2x2x3x3x", "1x2x2x2x");
  convolution(window("1", "1", "0", "0"), 3, "2x3x4x", "3x1x2x", "2x3x3x");
  auto pool = [&](const std::string &op, const std::string &count, const std::string &size,
                  const std::string &attributes, const std::string &x, const std::string &y) {
    cases.push_back(
        {op,
         "%0 {" + count + "window = array<i64: " + size + ">, " + attributes + "} : " + f64(x) + " -> " + f64(y),
         {f64(x)},
         {f64(y)}});
  };
  for (auto &[op, count] : std::vector<std::pair<std::string, std::string>>{
           {"cleave.max_pool", ""}, {"cleave.avg_pool", ""}, {"cleave.avg_pool", "count_pad, "}}) {
    pool(op, count, "3, 2", window("1, 2", "1, 1", "1, 0", "1, 1"), "2x2x4x4x", "2x2x4x2x");
    pool(op, count, "2", window("2", "2", "1", "1"), "1x3x6x", "1x3x3x");
  }
}

static void addIndexing(std::vector<GradientCase> &cases) {
  auto add = [&](const std::string &op, const std::string &attributes, const std::string &x, const std::string &i,
                 const std::string &slices, int rows) {
    std::string indices = "tensor<" + i + "i64>";
    bool reads = op == "cleave.take" || op == "cleave.pick";
    std::vector<std::string> inputs = {f64(x), indices};
    if (!reads)
      inputs.push_back(f64(slices));
    cases.push_back({op,
                     (reads ? "%0, %1, " : "%0, %1, %2, ") + attributes + " : " + f64(x) + ", " + indices +
                         (reads ? " -> " : ", ") + f64(slices),
                     inputs,
                     {f64(reads ? slices : x)},
                     -2,
                     2,
                     rows});
  };
  for (std::string op : {"cleave.take", "cleave.put_add"}) {
    add(op, "dim = 0", "4x3x", "2x5x", "2x5x3x", 4);
    add(op, "dim = 1", "2x3x2x", "4x", "2x4x2x", 3);
    add(op, "dim = 0", "5x", "", "", 5);
  }
  auto addBatched = [&](const std::string &op, const std::string &flags) {
    add(op, "dim = 0, batch = 0" + flags, "4x3x", "2x5x", "2x5x3x", 4);
    add(op, "dim = 1, batch = 0" + flags, "2x3x2x", "4x", "2x4x2x", 3);
    add(op, "dim = 0, batch = 0" + flags, "5x", "", "", 5);
    add(op, "dim = 1, batch = 1" + flags, "2x4x3x", "2x5x", "2x5x3x", 4);
    add(op, "dim = 3, batch = 1" + flags, "2x3x2x4x", "2x2x1x", "2x3x2x2x1x", 4);
  };
  addBatched("cleave.pick", "");
  for (std::string flags : {"", " combine sum", " combine max", " combine min", " combine product"})
    addBatched("cleave.put", flags);
}

// The transposed convolution.
static void addTransposedWindows(std::vector<GradientCase> &cases) {
  auto transposed = [&](const std::string &attributes, int groups, const std::string &y, const std::string &w,
                        const std::string &x) {
    cases.push_back({"cleave.convolution_input_grad",
                     "%0, %1 {" + attributes + ", groups = " + std::to_string(groups) + " : i64} : " + f64(y) + ", " +
                         f64(w) + " -> " + f64(x),
                     {f64(y), f64(w)},
                     {f64(x)}});
  };
  transposed(window("1, 1", "1, 1", "1, 1", "1, 1"), 1, "2x3x4x3x", "3x2x3x3x", "2x2x4x3x");
  transposed(window("2, 1", "1, 2", "0, 1", "1, 2"), 1, "1x1x3x3x", "1x2x2x3x", "1x2x5x4x");
  transposed(window("2, 2", "1, 1", "1, 1", "1, 1"), 2, "1x2x2x2x", "2x2x3x3x", "1x4x4x4x");
  transposed(window("3", "1", "0", "0"), 1, "2x1x3x", "1x2x2x", "2x2x8x");
}

// All results have gradients, including the statistics. So does a mask that is added.
static void addAttention(std::vector<GradientCase> &cases) {
  std::string q = f64("2x2x3x4x"), k = f64("2x2x5x4x"), v = f64("2x2x5x2x");
  Strings results = {f64("2x2x3x2x"), f64("2x2x3x"), f64("2x2x3x")};
  auto add = [&](const std::string &mask, const std::string &attributes, bool drops = false) {
    Strings inputs = {q, k, v};
    if (!mask.empty())
      inputs.push_back(mask);
    std::string operands = mask.empty() ? "%0, %1, %2" : "%0, %1, %2 mask %3", types;
    if (drops) {
      operands += mask.empty() ? " dropout(%3, %4, %5)" : " dropout(%4, %5, %6)";
      inputs.insert(inputs.end(), {"tensor<i64>", "tensor<i64>", "tensor<2x2xi64>"});
    }
    for (const std::string &type : inputs)
      types += (types.empty() ? "" : ", ") + type;
    cases.push_back({"cleave.attention",
                     operands + ", scale = 0.4" + attributes + " : (" + types + ") -> (" + results[0] + ", " +
                         results[1] + ", " + results[2] + ")",
                     inputs,
                     results});
  };
  add("", "");
  add("", " {causal}");
  add("tensor<2x1x3x5xi1>", " {fill = -1.5}");
  add("tensor<1x1x1x5xi1>", " {causal, fill = -100.0}");
  add(f64("2x2x3x5x"), "");
  add(f64("1x2x1x5x"), " {causal}");
  add(f64("1x1x3x1x"), "");
  add("", " {rate = 0.3}", true);
  add("tensor<2x1x3x5xi1>", " {causal, fill = -1.5, rate = 0.5}", true);
  add(f64("1x2x1x5x"), " {rate = 0.5}", true);
}

std::vector<GradientCase> cleave::test::gradientCases() {
  std::vector<GradientCase> cases;
  addElementwise(cases);
  addShape(cases);
  addReductions(cases);
  addMatmuls(cases);
  addWindows(cases);
  addTransposedWindows(cases);
  addIndexing(cases);
  addAttention(cases);
  return cases;
}

static std::string join(const std::vector<std::string> &parts) {
  std::string joined;
  for (const std::string &part : parts)
    joined += (joined.empty() ? "" : ", ") + part;
  return joined;
}

std::string cleave::test::forwardSource(const GradientCase &test) {
  std::vector<std::string> arguments, results;
  for (size_t i = 0; i < test.inputs.size(); ++i)
    arguments.push_back("%" + std::to_string(i) + ": " + test.inputs[i]);
  for (size_t i = 0; i < test.results.size(); ++i)
    results.push_back(test.results.size() == 1 ? "%r" : "%r#" + std::to_string(i));
  std::string types = join(test.results);
  return "func.func @f(" + join(arguments) + ") -> (" + types + ") {\n  %r" +
         (results.size() > 1 ? ":" + std::to_string(results.size()) : "") + " = " + test.op + " " + test.operands +
         "\n  return " + join(results) + " : " + types + "\n}\n";
}
