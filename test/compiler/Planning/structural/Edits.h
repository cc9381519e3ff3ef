// Edits of a tree that know its form and not its meaning. Any field of any table gets another legal value or that of a
// neighbour, or exchanges values with a similar field. Lists are shortened, lengthened, rotated and reordered. One
// number becomes another number everywhere. There are also pairs of edits: after the first edit, the second one makes
// the same change at another place, or changes a number in proportion, or a field next to it. Such pairs pass checks
// that compare one place with another.
//
//   Editor editor(schema, tree, seed);
//   while (...) { editor.edit(); ... editor.follow(); ... editor.tree(), editor.told(), editor.undo() }
//
// test/compiler/Planning/mutation is independent of this. It knows instructions, and makes mistakes that planning might
// make.
#ifndef CLEAVE_TEST_PLANNING_STRUCTURAL_EDITS_H
#define CLEAVE_TEST_PLANNING_STRUCTURAL_EDITS_H

#include "test/compiler/Planning/structural/Tree.h"

#include <map>
#include <random>

namespace cleave::structural {

// Something that can be edited. Its path says what it is: "Buffer.offset", "Instruction.fields of all_gather, 3". All
// places of one path are alike.
struct Place {
  Value *value = nullptr;
  Type type;
  int path = 0;
  int parent = -1; // the place that contains it
  int within = 0;  // its index there
  int scope = 0;   // the program, or the kind of ranks, that contains it
};

class Editor {
public:
  Editor(const Schema &schema, const Value &tree, uint64_t seed);

  bool edit();   // any edit of any place; false: nothing was changed
  bool follow(); // an edit that matches the previous ones
  // Undoes the last edit.
  void undo();

  const Value &tree() const { return tree_; }
  const std::vector<std::string> &told() const { return told_; }
  // The paths that were changed.
  const std::vector<std::string> &changed() const { return changed_; }

private:
  struct Change { // a number that has become another one
    int path = 0, scope = 0;
    uint64_t from = 0, to = 0;
    int parent = -1;
    int place = -1;
  };

  uint64_t below(uint64_t count) { return count ? random_() % count : 0; }
  template <typename List> auto &of(List &list) { return list[below(list.size())]; }

  void index();
  int pathNumber(const std::string &path);
  std::vector<int> &pick(std::vector<std::vector<int>> &byPath);
  bool done(const std::string &what, const std::string &path);
  std::string where(int place) const;
  bool setNumber(int place, uint64_t bits);
  uint64_t another(int place);

  bool changeNumber();
  bool swapAlike();
  bool takeAnothers();
  bool shorten();
  bool lengthen();
  bool turn();
  bool move();
  bool leaveOut();
  bool everywhere();

  bool sameElsewhere(const Change &last);
  bool inProportion(const Change &last);
  bool beside(const Change &last);

  const Schema &schema_;
  Value tree_;
  std::mt19937_64 random_;
  std::vector<std::string> told_, changed_;
  std::vector<Value> before_;
  std::vector<std::vector<Change>> changes_; // of each edit
  std::vector<Change> now_;

  std::vector<Place> places_;
  std::map<std::string, int> pathNumbers_;
  std::vector<std::string> paths_;
  std::vector<std::vector<int>> numbers_, lists_, others_; // by path: scalars; vectors; texts, tables and structs
};

} // namespace cleave::structural

#endif
