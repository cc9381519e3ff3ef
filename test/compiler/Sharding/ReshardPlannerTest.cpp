// Plans every reshard between every two shardings of small tensors on small meshes, and executes it on all ranks at
// once. The collectives are right if each rank ends with the part of the same global value that the used sharding gives
// it.
#include "compiler/Sharding/ReshardPlanner.h"

#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

using namespace cleave;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;

namespace {

// A dense row-major array of one or two dimensions. A vector has one column.
struct Array {
  int64_t rows = 0, columns = 0;
  std::vector<double> data;

  Array(int64_t rows, int64_t columns) : rows(rows), columns(columns), data(rows * columns, 0.0) {}
  double &at(int64_t r, int64_t c) { return data[r * columns + c]; }
  double at(int64_t r, int64_t c) const { return data[r * columns + c]; }

  // Block `index` of `count` equal blocks along `dim`.
  Array block(int64_t dim, int64_t index, int64_t count) const {
    Array part(dim == 0 ? rows / count : rows, dim == 1 ? columns / count : columns);
    for (int64_t r = 0; r < part.rows; ++r)
      for (int64_t c = 0; c < part.columns; ++c)
        part.at(r, c) = at(r + (dim == 0 ? index * part.rows : 0), c + (dim == 1 ? index * part.columns : 0));
    return part;
  }
  static Array concatenate(ArrayRef<Array> parts, int64_t dim) {
    int64_t count = parts.size();
    Array whole(parts[0].rows * (dim == 0 ? count : 1), parts[0].columns * (dim == 1 ? count : 1));
    for (int64_t i = 0; i < count; ++i)
      for (int64_t r = 0; r < parts[0].rows; ++r)
        for (int64_t c = 0; c < parts[0].columns; ++c)
          whole.at(r + (dim == 0 ? i * parts[0].rows : 0), c + (dim == 1 ? i * parts[0].columns : 0)) =
              parts[i].at(r, c);
    return whole;
  }
  static Array sum(ArrayRef<Array> terms) {
    Array total(terms[0].rows, terms[0].columns);
    for (const Array &term : terms)
      for (size_t i = 0; i < total.data.size(); ++i)
        total.data[i] += term.data[i];
    return total;
  }
};

// All ranks of a mesh, in one process.
class Machine {
public:
  Machine(MeshAttr mesh) : mesh(mesh) {}

  int64_t coordinate(int64_t rank, StringRef axis) const {
    int64_t index = mesh.getIndex(axis), below = 1;
    for (int64_t i = index + 1, e = mesh.getSizes().size(); i < e; ++i)
      below *= mesh.getSizes()[i];
    return rank / below % mesh.getSizes()[index];
  }

  // The position of the rank among the ranks that differ from it only in `axes`, and their number.
  std::pair<int64_t, int64_t> position(int64_t rank, ArrayRef<StringRef> axes) const {
    int64_t index = 0, count = 1;
    for (StringRef axis : axes) {
      index = index * mesh.getSize(axis) + coordinate(rank, axis);
      count *= mesh.getSize(axis);
    }
    return {index, count};
  }

  // The ranks of that group, in order.
  SmallVector<int64_t> group(int64_t rank, ArrayRef<StringRef> axes) const {
    SmallVector<int64_t> ranks(position(rank, axes).second);
    for (int64_t other = 0; other < mesh.getNumRanks(); ++other) {
      bool isMember = llvm::all_of(mesh.getNames(), [&](mlir::StringAttr axis) {
        return llvm::is_contained(axes, axis.getValue()) ||
               coordinate(other, axis.getValue()) == coordinate(rank, axis.getValue());
      });
      if (isMember)
        ranks[position(other, axes).first] = other;
    }
    return ranks;
  }

  // The part of `whole` on every rank. The terms of a partial value differ from rank to rank, and their sum is the
  // value.
  std::vector<Array> scatter(const Array &whole, ShardingAttr sharding) const {
    std::vector<Array> parts;
    for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank) {
      Array part = whole;
      for (int64_t dim = 0, e = sharding.getDims().size(); dim < e; ++dim) {
        auto [index, count] = position(rank, sharding.getDimAxes(dim));
        part = part.block(dim, index, count);
      }
      auto [index, count] = position(rank, sharding.getPartialAxes());
      for (double &x : part.data) // weights 1, 2, ...; the last one makes the sum right
        x *= index + 1 < count ? index + 1 : 1 - count * (count - 1) / 2;
      if (!owns(rank, sharding))
        part.data.assign(part.data.size(), std::nan(""));
      parts.push_back(part);
    }
    return parts;
  }

  // True if the rank's value has a meaning: an owner has it, and other ranks do not.
  bool owns(int64_t rank, ShardingAttr sharding) const { return position(rank, sharding.getOwnerAxes()).first == 0; }

  std::vector<Array> execute(const ReshardCollective &collective, const std::vector<Array> &before) const {
    std::vector<Array> after;
    for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank) {
      std::vector<Array> members;
      for (int64_t other : group(rank, collective.axes))
        members.push_back(before[other]);
      auto [index, count] = position(rank, collective.axes);
      switch (collective.kind) {
      case ReshardKind::AllReduce:
        after.push_back(Array::sum(members));
        break;
      case ReshardKind::ReduceScatter:
        after.push_back(Array::sum(members).block(collective.dim, index, count));
        break;
      case ReshardKind::AllGather:
        after.push_back(Array::concatenate(members, collective.dim));
        break;
      case ReshardKind::AllSlice:
        after.push_back(before[rank].block(collective.dim, index, count));
        break;
      case ReshardKind::Reduce:
        after.push_back(Array::sum(members));
        if (index != 0)
          after.back().data.assign(after.back().data.size(), std::nan(""));
        break;
      case ReshardKind::Broadcast:
        after.push_back(members.front());
        break;
      case ReshardKind::AllToAll:
        for (Array &member : members)
          member = member.block(collective.dim, index, count);
        after.push_back(Array::concatenate(members, collective.concatDim));
        break;
      }
    }
    return after;
  }

private:
  MeshAttr mesh;
};

class ReshardPlannerTest : public testing::Test {
protected:
  ReshardPlannerTest() { context.loadDialect<CleaveDialect>(); }

  MeshAttr mesh(ArrayRef<int64_t> sizes) {
    SmallVector<mlir::StringAttr> names;
    for (size_t i = 0; i < sizes.size(); ++i)
      names.push_back(mlir::StringAttr::get(&context, std::string(1, 'a' + i)));
    return MeshAttr::get(&context, names, sizes);
  }

  // All shardings: each axis, in every order, is on a dimension, on `partial`, has an owner, or is unused.
  std::vector<ShardingAttr> allShardings(MeshAttr mesh, int64_t rank) {
    mlir::Builder builder(&context);
    SmallVector<int64_t> order(mesh.getNames().size());
    std::iota(order.begin(), order.end(), 0);
    std::set<const void *> seen;
    std::vector<ShardingAttr> all;
    do {
      int64_t choices = std::pow(rank + 3, order.size());
      for (int64_t choice = 0; choice < choices; ++choice) {
        SmallVector<SmallVector<mlir::Attribute>> places(rank + 3); // dimensions, partial, owner, nowhere
        int64_t rest = choice;
        for (int64_t axis : order) {
          places[rest % (rank + 3)].push_back(mesh.getNames()[axis]);
          rest /= rank + 3;
        }
        SmallVector<mlir::Attribute> dims;
        for (int64_t dim = 0; dim < rank; ++dim)
          dims.push_back(builder.getArrayAttr(places[dim]));
        auto sharding = ShardingAttr::get(builder.getArrayAttr(dims), places[rank], ReduceKind::Sum, places[rank + 1]);
        if (seen.insert(sharding.getAsOpaquePointer()).second)
          all.push_back(sharding);
      }
    } while (std::next_permutation(order.begin(), order.end()));
    return all;
  }

  std::string text(ShardingAttr sharding) {
    std::string result;
    llvm::raw_string_ostream(result) << sharding;
    return result;
  }

  void checkAll(ArrayRef<int64_t> meshSizes, int64_t rank) {
    MeshAttr mesh = this->mesh(meshSizes);
    Machine machine(mesh);
    Array whole(12, rank == 2 ? 12 : 1);
    std::iota(whole.data.begin(), whole.data.end(), 1.0);
    int64_t planned = 0;
    auto shardings = allShardings(mesh, rank);
    for (ShardingAttr made : shardings)
      for (ShardingAttr used : shardings) {
        auto madeAxes = made.getPartialAxes();
        bool isPossible =
            llvm::all_of(used.getPartialAxes(), [&](StringRef axis) { return llvm::is_contained(madeAxes, axis); });
        auto collectives = planReshard(made, used);
        ASSERT_EQ(mlir::succeeded(collectives), isPossible) << text(made) << " -> " << text(used);
        if (!isPossible)
          continue;
        ++planned;
        std::vector<Array> parts = machine.scatter(whole, made);
        for (const ReshardCollective &collective : *collectives)
          parts = machine.execute(collective, parts);
        checkHolds(machine, mesh, whole, parts, made, used);
      }
    EXPECT_GT(planned, 0);
  }

  // Whole blocks must be equal. The sum of partial ones over the used sharding's partial axes must be equal.
  void checkHolds(const Machine &machine, MeshAttr mesh, const Array &whole, const std::vector<Array> &parts,
                  ShardingAttr made, ShardingAttr used) {
    std::vector<Array> expected = machine.scatter(whole, resolvedOf(used));
    for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank) {
      if (!machine.owns(rank, used))
        continue;
      std::vector<Array> terms;
      for (int64_t other : machine.group(rank, used.getPartialAxes()))
        terms.push_back(parts[other]);
      Array total = Array::sum(terms);
      ASSERT_EQ(total.rows, expected[rank].rows) << text(made) << " -> " << text(used);
      ASSERT_EQ(total.columns, expected[rank].columns) << text(made) << " -> " << text(used);
      ASSERT_EQ(total.data, expected[rank].data) << text(made) << " -> " << text(used) << " on rank " << rank;
    }
  }

  ShardingAttr resolvedOf(ShardingAttr sharding) { return ShardingAttr::get(sharding.getDims()); }

  mlir::MLIRContext context;
};

TEST_F(ReshardPlannerTest, vectorsOnOneAxis) { checkAll({3}, 1); }
TEST_F(ReshardPlannerTest, matricesOnOneAxis) { checkAll({4}, 2); }
TEST_F(ReshardPlannerTest, vectorsOnTwoByTwo) { checkAll({2, 2}, 1); }
TEST_F(ReshardPlannerTest, matricesOnTwoByTwo) { checkAll({2, 2}, 2); }
TEST_F(ReshardPlannerTest, matricesOnTwoByThree) { checkAll({2, 3}, 2); }
TEST_F(ReshardPlannerTest, matricesOnThreeAxes) { checkAll({2, 1, 2}, 2); }

TEST_F(ReshardPlannerTest, usesTheCheapestCollective) {
  mlir::Builder b(&context);
  auto axis = b.getStrArrayAttr({"a"}), none = b.getArrayAttr({});
  auto sharding = [&](mlir::ArrayAttr rows, mlir::ArrayAttr columns, mlir::ArrayAttr partial) {
    return ShardingAttr::get(b.getArrayAttr({rows, columns}), partial.getValue());
  };
  auto check = [&](ShardingAttr made, ShardingAttr used, ReshardKind kind) {
    auto collectives = planReshard(made, used);
    ASSERT_TRUE(mlir::succeeded(collectives));
    ASSERT_EQ(collectives->size(), 1u);
    EXPECT_EQ((*collectives)[0].kind, kind);
  };
  auto whole = sharding(none, none, none), rows = sharding(axis, none, none), columns = sharding(none, axis, none);
  auto partial = sharding(none, none, axis);
  check(partial, whole, ReshardKind::AllReduce);
  check(partial, rows, ReshardKind::ReduceScatter);
  check(rows, whole, ReshardKind::AllGather);
  check(rows, columns, ReshardKind::AllToAll);
  check(whole, columns, ReshardKind::AllSlice);
  auto owned = ShardingAttr::get(whole.getDims(), {}, ReduceKind::Sum, axis.getValue());
  check(partial, owned, ReshardKind::Reduce);
  check(owned, whole, ReshardKind::Broadcast);
  EXPECT_TRUE(planReshard(whole, owned)->empty()); // the owner already has it
  EXPECT_TRUE(mlir::failed(planReshard(whole, partial)));
}

} // namespace
