// The text by which a node of the model is known: in messages, in locations, and so in the notes of a plan's
// instructions. The importer writes it, and what `cleave inspect` shows finds the nodes in it:
//
//   node 'fc1' (Gemm)             a node with a name
//   node producing 'y' (Relu)     a node without one
#ifndef CLEAVE_COMPILER_SUPPORT_NODENOTE_H
#define CLEAVE_COMPILER_SUPPORT_NODENOTE_H

#include <string>
#include <string_view>

namespace cleave {

// How the note of a node with a name, or of its gradient, begins. The name ends at the last quotation mark.
inline constexpr std::string_view kNodeNote = "node '";

// `node` is the quoted name ("'fc1'"), or "producing 'y'".
inline std::string nodeNote(const std::string &node, const std::string &type) {
  return "node " + node + " (" + type + ")";
}

inline bool isNodeNote(std::string_view note) { return note.substr(0, kNodeNote.size()) == kNodeNote; }

// Returns the name in the note of a node: "/h.0/c_attn/MatMul" for "node '/h.0/c_attn/MatMul' (MatMul)". Another text is
// returned as it is.
inline std::string nodeOfNote(std::string_view note) {
  size_t end = note.rfind('\'');
  if (!isNodeNote(note) || end < kNodeNote.size())
    return std::string(note);
  return std::string(note.substr(kNodeNote.size(), end - kNodeNote.size()));
}

} // namespace cleave

#endif
