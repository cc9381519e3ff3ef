#include "compiler/Training/Residuals/Blocks.h"

#include "gtest/gtest.h"

using cleave::BlockGraph;
using cleave::Blocks;
using cleave::findBlocks;

namespace {

// Builds a model op by op, so that a test reads like the model. Labels stand for ops and types.
struct ModelBuilder {
  BlockGraph graph;
  int values = 0;

  int op(uint64_t label, std::vector<int> operands, bool isLayer = false) {
    graph.ops.push_back({label, std::move(operands), {values}, isLayer});
    return values++;
  }
  int layer(uint64_t label, std::vector<int> operands) { return op(1000 + label, std::move(operands), true); }

  int norm(int x) { return op(3, {op(2, {op(1, {x})})}); } // normalize, times gamma, plus beta
  int attention(int x, uint64_t width = 0) {
    int q = layer(width + 10, {x}), k = layer(width + 11, {x}), v = layer(width + 12, {x});
    return layer(width + 13, {op(21, {op(20, {q, k}), v})});
  }
  int crossAttention(int x, int memory) {
    int q = layer(14, {x}), k = layer(15, {memory}), v = layer(16, {memory});
    return layer(17, {op(21, {op(20, {q, k}), v})});
  }
  int mlp(int x, uint64_t width = 0) { return layer(width + 31, {op(32, {layer(width + 30, {x})})}); }
  int add(int x, int y) { return op(4, {x, y}); }
  int preNormLayer(int x, uint64_t width = 0) {
    x = add(x, attention(norm(x), width));
    return add(x, mlp(norm(x), width));
  }
  int postNormLayer(int x) {
    x = norm(add(x, attention(x)));
    return norm(add(x, mlp(x)));
  }
  int residualBlock(int x, uint64_t channels, bool down = false) {
    int y = op(42, {layer(channels + 41, {op(41, {layer(channels + 40, {x})})})});
    return op(43, {add(y, down ? layer(channels + 42, {x}) : x)});
  }

  // "0 0 1 1 - -" as "0 1 -": the indices of equal blocks, with each run written once.
  std::string runs() const {
    std::string text;
    Blocks blocks = findBlocks(graph);
    EXPECT_EQ(blocks.blockOf.size(), graph.ops.size());
    for (size_t i = 0; i < blocks.blockOf.size(); ++i)
      if (i == 0 || blocks.blockOf[i] != blocks.blockOf[i - 1])
        text += (text.empty() ? "" : " ") + (blocks.blockOf[i] < 0 ? "-" : std::to_string(blocks.blockOf[i]));
    return text;
  }
  // The first op of each block.
  std::vector<int> begins() const {
    Blocks blocks = findBlocks(graph);
    std::vector<int> result(blocks.count, -1);
    for (size_t i = 0; i < blocks.blockOf.size(); ++i)
      if (int block = blocks.blockOf[i]; block >= 0 && result[block] < 0)
        result[block] = static_cast<int>(i);
    return result;
  }
  int size() const { return static_cast<int>(graph.ops.size()); }
};

} // namespace

TEST(Blocks, LayersOfAPreNormTransformer) {
  ModelBuilder m;
  int x = m.op(5, {m.layer(1, {})}); // embedding, plus positions
  std::vector<int> begins;
  for (int i = 0; i < 4; ++i) {
    begins.push_back(m.size());
    x = m.preNormLayer(x);
  }
  m.op(90, {m.layer(2, {m.norm(x)})}); // final norm, head, loss
  EXPECT_EQ(m.runs(), "- 0 1 2 3 -");
  EXPECT_EQ(m.begins(), begins);
}

// The norm after the embedding equals the norm that ends each layer. Layers still begin with attention.
TEST(Blocks, LayersOfAPostNormTransformer) {
  ModelBuilder m;
  int x = m.norm(m.op(5, {m.layer(1, {})}));
  std::vector<int> begins;
  for (int i = 0; i < 3; ++i) {
    begins.push_back(m.size());
    x = m.postNormLayer(x);
  }
  m.op(90, {m.layer(2, {x})});
  EXPECT_EQ(m.runs(), "- 0 1 2 -");
  EXPECT_EQ(m.begins(), begins);
}

// Every layer of the decoder reads the encoder's result, so the width is nowhere one inside the decoder.
TEST(Blocks, LayersOfEncoderAndDecoder) {
  ModelBuilder m;
  int memory = m.op(5, {m.layer(1, {})});
  std::vector<int> begins;
  for (int i = 0; i < 3; ++i) {
    begins.push_back(m.size());
    memory = m.preNormLayer(memory);
  }
  memory = m.norm(memory);
  int x = m.op(5, {m.layer(1, {})});
  for (int i = 0; i < 3; ++i) {
    begins.push_back(m.size());
    x = m.add(x, m.attention(m.norm(x)));
    x = m.add(x, m.crossAttention(m.norm(x), memory));
    x = m.add(x, m.mlp(m.norm(x)));
  }
  m.op(90, {m.layer(2, {m.norm(x)})});
  EXPECT_EQ(m.runs(), "- 0 1 2 - 3 4 5 -");
  EXPECT_EQ(m.begins(), begins);
}

// T5: a bias by position, computed from the inputs' mask too, goes past the encoder up to its last attention. The
// encoder's result goes past the decoder up to its last attention. After that the graph is narrow, and still belongs to
// the last layer.
TEST(Blocks, LayersOfT5) {
  for (int encoderLayers : {2, 3, 8}) {
    ModelBuilder m;
    std::vector<int> begins;
    auto biased = [&](int x, int bias) {
      int q = m.layer(10, {x}), k = m.layer(11, {x}), v = m.layer(12, {x});
      return m.layer(13, {m.op(21, {m.op(22, {m.op(20, {q, k}), bias}), v})});
    };
    int memory = m.layer(1, {}), bias = m.op(6, {m.layer(3, {})});
    for (int i = 0; i < encoderLayers; ++i) {
      begins.push_back(m.size());
      memory = m.add(memory, biased(m.norm(memory), bias));
      memory = m.add(memory, m.mlp(m.norm(memory)));
    }
    memory = m.norm(memory);
    int x = m.layer(2, {});
    for (int i = 0; i < 2; ++i) {
      begins.push_back(m.size());
      x = m.add(x, m.attention(m.norm(x), 50));
      x = m.add(x, m.crossAttention(m.norm(x), memory));
      x = m.add(x, m.mlp(m.norm(x), 50));
    }
    m.op(90, {m.layer(4, {m.norm(x)})});
    EXPECT_EQ(m.begins(), begins) << encoderLayers;
  }
}

// Only the residual form is repeated. Each block is found separately, including those that change sizes.
TEST(Blocks, BlocksOfAResidualNetwork) {
  ModelBuilder m;
  int x = m.op(41, {m.layer(1, {})}); // stem
  x = m.op(44, {x});                  // pool
  x = m.residualBlock(x, 100);
  x = m.residualBlock(x, 100);
  x = m.residualBlock(x, 200, /*down=*/true);
  x = m.residualBlock(x, 300);
  m.op(90, {m.layer(2, {m.op(45, {x})})});
  EXPECT_EQ(m.runs(), "- 0 1 2 3 -");
}

TEST(Blocks, EqualLayersOfAChain) {
  ModelBuilder m;
  int x = m.op(41, {m.layer(1, {})});
  std::vector<int> begins;
  for (int i = 0; i < 5; ++i) {
    begins.push_back(m.size());
    x = m.op(41, {m.op(40, {m.layer(7, {x})})});
  }
  m.op(90, {m.layer(2, {x})});
  EXPECT_EQ(m.runs(), "- 0 1 2 3 4 -");
  EXPECT_EQ(m.begins(), begins);
}

TEST(Blocks, AChainWithoutRepetitionIsCutAtEveryLayer) {
  ModelBuilder m;
  int x = m.op(41, {m.op(40, {m.layer(1, {})})});
  int second = m.size();
  x = m.op(41, {m.op(40, {m.layer(2, {x})})});
  int third = m.size();
  m.op(90, {m.op(40, {m.layer(3, {x})})});
  EXPECT_EQ(m.runs(), "0 1 2");
  EXPECT_EQ(m.begins(), (std::vector<int>{0, second, third}));
}

// Between the two layers are two gates without weights. Inside a gate two values cross. Between and after the gates,
// one value crosses. The last of the narrow positions is chosen.
TEST(Blocks, SegmentsAreCutWhereTheWidthIsLeast) {
  ModelBuilder m;
  int x = m.layer(1, {});
  x = m.op(50, {m.op(51, {x}), x});
  int narrow = m.size();
  int y = m.op(51, {x});
  m.op(50, {m.layer(2, {y}), x});
  EXPECT_EQ(m.runs(), "0 1");
  EXPECT_EQ(m.begins(), (std::vector<int>{0, narrow}));
}

// There are skips from every level of the way down to the same level of the way up. So the graph cannot be cut, and
// nothing is repeated.
TEST(Blocks, NestedSkipsFallBackToSegments) {
  ModelBuilder m;
  int x = m.layer(1, {});
  std::vector<int> skips;
  for (int i = 0; i < 3; ++i) {
    skips.push_back(x);
    x = m.layer(10 + i, {x});
  }
  for (int i = 0; i < 3; ++i) {
    x = m.layer(20 + i, {m.op(60 + i, {x, skips.back()})});
    skips.pop_back();
  }
  EXPECT_EQ(m.runs(), "0 1 2 3 4 5 6");
}

TEST(Blocks, UnequalLayersAreTheirOwn) {
  ModelBuilder m;
  int x = m.layer(1, {});
  for (int i = 0; i < 2; ++i)
    x = m.preNormLayer(x);
  for (int i = 0; i < 2; ++i)
    x = m.preNormLayer(x, 500);
  m.op(90, {x});
  EXPECT_EQ(m.runs(), "- 0 1 2 3 -");
}

TEST(Blocks, NothingToFind) {
  ModelBuilder empty;
  EXPECT_EQ(findBlocks(empty.graph).count, 0);
  ModelBuilder one;
  one.op(90, {one.layer(1, {})});
  EXPECT_EQ(one.runs(), "-");
  ModelBuilder none;
  none.op(90, {none.op(1, {})});
  EXPECT_EQ(none.runs(), "-");
}

// The crossing values must be right for an op with several results of which only one is used.
TEST(Blocks, ResultsThatNobodyUsesDoNotCount) {
  ModelBuilder m;
  int x = m.layer(1, {});
  for (int i = 0; i < 3; ++i) {
    x = m.preNormLayer(x);
    m.graph.ops.back().results.push_back(m.values++);
  }
  m.op(90, {x});
  EXPECT_EQ(m.runs(), "- 0 1 2 -");
}
