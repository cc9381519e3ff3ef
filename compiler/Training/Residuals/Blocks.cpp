#include "compiler/Training/Residuals/Blocks.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace cleave {

namespace {

// A range [first, last) of ops, or of atoms.
struct Stretch {
  int first = 0, last = 0;

  int size() const { return last - first; }
};

// Answers questions about stretches of the list.
class Narrowness {
public:
  explicit Narrowness(const BlockGraph &graph) : graph(graph), maker(valueCount()), layers(graph.ops.size() + 1) {
    int count = static_cast<int>(graph.ops.size());
    lastUse.assign(maker.size(), -1);
    for (int at = 0; at < count; ++at) {
      for (int value : graph.ops[at].results)
        maker[value] = at;
      for (int value : graph.ops[at].operands)
        lastUse[value] = at;
      layers[at + 1] = layers[at] + graph.ops[at].isLayer;
    }
    std::vector<int> change(count + 2, 0);
    for (size_t value = 0; value < maker.size(); ++value)
      if (lastUse[value] > maker[value]) {
        ++change[maker[value] + 1];
        --change[lastUse[value] + 1];
      }
    width.assign(count + 1, 0);
    for (int at = 1; at <= count; ++at)
      width[at] = width[at - 1] + change[at];
  }

  int widthBefore(int op) const { return width[op]; }
  int layersIn(Stretch ops) const { return layers[ops.last] - layers[ops.first]; }

  // Returns the widths before each op of the stretch, without its `ignored` longest-lived values.
  std::vector<int> widthsIn(Stretch ops, int ignored) const {
    std::vector<int> result(width.begin() + ops.first, width.begin() + ops.last);
    std::vector<Stretch> lives;
    for (size_t value = 0; value < maker.size(); ++value) {
      Stretch life = {std::max(maker[value] + 1, ops.first), std::min(lastUse[value] + 1, ops.last)};
      if (life.size() > 0)
        lives.push_back(life);
    }
    std::stable_sort(lives.begin(), lives.end(), [](Stretch a, Stretch b) { return a.size() > b.size(); });
    lives.resize(std::min(lives.size(), static_cast<size_t>(ignored)));
    for (Stretch life : lives)
      for (int at = life.first; at < life.last; ++at)
        --result[at - ops.first];
    return result;
  }

  // Cuts the stretch wherever the width, without the `ignored` longest-lived values, is one or zero.
  std::vector<Stretch> cut(Stretch ops, int ignored) const {
    std::vector<int> widths = widthsIn(ops, ignored);
    std::vector<Stretch> parts;
    for (int at = ops.first; at < ops.last; ++at)
      if (parts.empty() || widths[at - ops.first] <= 1)
        parts.push_back({at, at + 1});
      else
        ++parts.back().last;
    return parts;
  }

  // Returns a description that is equal for stretches of the same ops, connected in the same way.
  std::vector<uint64_t> shapeOf(Stretch ops) const {
    std::vector<uint64_t> shape;
    for (int at = ops.first; at < ops.last; ++at) {
      const BlockGraph::Op &op = graph.ops[at];
      shape.insert(shape.end(), {op.label, op.operands.size()});
      for (int value : op.operands) {
        int from = maker[value];
        const std::vector<int> &results = graph.ops[from].results;
        shape.push_back(from < ops.first ? 0 : at - from);
        shape.push_back(std::find(results.begin(), results.end(), value) - results.begin());
      }
    }
    return shape;
  }

private:
  size_t valueCount() const {
    int count = 0;
    for (const BlockGraph::Op &op : graph.ops)
      for (int value : op.results)
        count = std::max(count, value + 1);
    return count;
  }

  const BlockGraph &graph;
  std::vector<int> maker, lastUse; // of each value
  std::vector<int> layers;         // before each op
  std::vector<int> width;          // before each op
};

// A pattern of `period` atoms, `copies` times.
struct Repetition {
  int first = 0, period = 0, copies = 0;
  int layers = 0; // in all copies

  int last() const { return first + period * copies; }
};

// Finds runs of repeated patterns in a list of atoms.
class RepetitionFinder {
public:
  RepetitionFinder(const Narrowness &graph, std::vector<Stretch> atoms) : graph(graph), atoms(std::move(atoms)) {
    std::map<std::vector<uint64_t>, int> kinds;
    for (Stretch atom : this->atoms)
      kind.push_back(kinds.try_emplace(graph.shapeOf(atom), static_cast<int>(kinds.size())).first->second);
  }

  // Returns the repetitions, in order. The best is found first, then the best before and after it, and so on.
  std::vector<Repetition> find() const {
    std::vector<Repetition> found;
    std::vector<Stretch> open = {{0, static_cast<int>(atoms.size())}};
    while (!open.empty()) {
      Stretch range = open.back();
      open.pop_back();
      Repetition best = bestIn(range);
      if (best.copies == 0)
        continue;
      found.push_back(best);
      open.push_back({range.first, best.first});
      open.push_back({best.last(), range.last});
    }
    std::sort(found.begin(), found.end(), [](const Repetition &a, const Repetition &b) { return a.first < b.first; });
    return found;
  }

private:
  Repetition bestIn(Stretch range) const {
    Repetition best;
    for (int period = 1; 2 * period <= range.size(); ++period) {
      int matches = 0; // atoms just before `at` that equal the one a period earlier
      for (int at = range.first + period; at <= range.last; ++at) {
        if (at < range.last && kind[at] == kind[at - period]) {
          ++matches;
          continue;
        }
        if (matches >= period)
          consider(best, {at - period - matches, at}, period);
        matches = 0;
      }
    }
    return best;
  }

  // `run` repeats with that period. Cuts it into whole copies, at the best possible beginning.
  void consider(Repetition &best, Stretch run, int period) const {
    for (int shift = 0; shift <= run.size() % period; ++shift) {
      Repetition one;
      one.first = run.first + shift;
      one.period = period;
      one.copies = run.size() / period;
      one.layers = graph.layersIn({atoms[one.first].first, atoms[one.last() - 1].last});
      if (one.layers >= one.copies && rank(one) > rank(best))
        best = one;
    }
  }

  // Repetitions with more layers are better; then shorter patterns; then patterns that begin with a layer; then
  // patterns that begin with a fork rather than in a chain.
  std::tuple<int, int, bool, bool> rank(const Repetition &one) const {
    if (one.copies == 0)
      return {0, 0, false, false};
    Stretch begin = atoms[one.first];
    return {one.layers, -one.period, graph.layersIn(begin) > 0, begin.size() > 1};
  }

  const Narrowness &graph;
  std::vector<Stretch> atoms;
  std::vector<int> kind; // of each atom; equal atoms have equal numbers
};

class BlockFinder {
public:
  explicit BlockFinder(const BlockGraph &graph) : graph(graph), narrow(graph), all{0, int(graph.ops.size())} {}

  Blocks find() const {
    std::vector<Stretch> blocks = repeated();
    int inBlocks = 0, largest = 0, total = narrow.layersIn(all);
    for (Stretch block : blocks) {
      inBlocks += narrow.layersIn(block);
      largest = std::max(largest, narrow.layersIn(block));
    }
    bool good = blocks.size() > 1 && 2 * inBlocks >= total && (2 * largest <= total || largest < kLargeAtom);
    return number(good ? blocks : segments());
  }

private:
  static constexpr int kLargeAtom = 4;  // layers; smaller atoms are not cut again
  static constexpr int kMaxIgnored = 3; // values that may cross a whole stack of layers

  // Returns the repetitions, and single atoms that could be blocks. Ops between two blocks that have no layer (a ReLU
  // after the sum) belong to the first of these blocks.
  std::vector<Stretch> repeated() const {
    std::vector<Stretch> atoms = cutAtoms(), blocks;
    auto add = [&](Stretch block) {
      if (!blocks.empty() && narrow.layersIn({blocks.back().last, block.first}) == 0)
        blocks.back().last = block.first;
      blocks.push_back(block);
    };
    int next = 0;
    auto addSingles = [&](int end) {
      for (; next < end; ++next)
        if (narrow.layersIn(atoms[next]) > 1 && narrow.widthBefore(atoms[next].first) > 0)
          add(atoms[next]);
    };
    for (const Repetition &one : RepetitionFinder(narrow, atoms).find()) {
      addSingles(one.first);
      for (; next < one.last(); next += one.period)
        add({atoms[next].first, atoms[next + one.period - 1].last});
    }
    addSingles(static_cast<int>(atoms.size()));
    return blocks;
  }

  std::vector<Stretch> cutAtoms() const {
    std::vector<Stretch> atoms = narrow.cut(all, 0);
    for (Stretch atom : std::vector<Stretch>(atoms))
      if (narrow.layersIn(atom) >= kLargeAtom)
        cutAgain(atoms, atom);
    return atoms;
  }

  // Replaces a large atom by its parts if at least half of its layers are then part of a repetition. The repetition may
  // go on outside of the atom: after the last use of the encoder's result, a decoder is narrow.
  void cutAgain(std::vector<Stretch> &atoms, Stretch atom) const {
    int before = repeatedLayers(atoms);
    for (int ignored = 1; ignored <= kMaxIgnored; ++ignored) {
      std::vector<Stretch> parts;
      for (Stretch other : atoms)
        if (other.first != atom.first)
          parts.push_back(other);
        else
          for (Stretch part : narrow.cut(atom, ignored))
            parts.push_back(part);
      if (2 * (repeatedLayers(parts) - before) >= narrow.layersIn(atom)) {
        atoms = std::move(parts);
        return;
      }
    }
  }

  int repeatedLayers(const std::vector<Stretch> &atoms) const {
    int layers = 0;
    for (const Repetition &one : RepetitionFinder(narrow, atoms).find())
      layers += one.layers;
    return layers;
  }

  // Returns one segment for each layer. The cut is where the width is least between a layer and the next, and as late
  // as possible.
  std::vector<Stretch> segments() const {
    std::vector<Stretch> result;
    int previous = -1; // layer
    for (int at = 0; at < all.last; ++at) {
      if (!graph.ops[at].isLayer)
        continue;
      if (previous < 0) {
        result.push_back({0, all.last});
      } else {
        int best = at;
        for (int candidate = at; candidate > previous; --candidate)
          if (narrow.widthBefore(candidate) < narrow.widthBefore(best))
            best = candidate;
        result.back().last = best;
        result.push_back({best, all.last});
      }
      previous = at;
    }
    return result.size() > 1 ? result : std::vector<Stretch>();
  }

  Blocks number(const std::vector<Stretch> &stretches) const {
    Blocks blocks;
    blocks.blockOf.assign(graph.ops.size(), -1);
    for (Stretch block : stretches) {
      std::fill(blocks.blockOf.begin() + block.first, blocks.blockOf.begin() + block.last, blocks.count);
      ++blocks.count;
    }
    return blocks;
  }

  const BlockGraph &graph;
  Narrowness narrow;
  Stretch all;
};

} // namespace

Blocks findBlocks(const BlockGraph &graph) { return BlockFinder(graph).find(); }

} // namespace cleave
