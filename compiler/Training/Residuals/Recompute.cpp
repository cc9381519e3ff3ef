#include "compiler/Training/Residuals/Recompute.h"

#include "compiler/Support/Error.h"
#include "runtime/base/NearestName.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace cleave {

namespace {
struct KindRow {
  StringRef key;
  RecomputeKind kind;
};
constexpr KindRow counted[] = {
    {"every", RecomputeKind::Every}, {"first", RecomputeKind::First}, {"segments", RecomputeKind::Segments}};
} // namespace

Expected<Recompute> parseRecompute(StringRef text) {
  if (text == "never")
    return Recompute{RecomputeKind::Never, 0};
  if (text == "none")
    return Recompute();
  if (text == "blocks")
    return Recompute{RecomputeKind::Every, 1};
  if (text == "auto")
    return Recompute{RecomputeKind::Auto, 0};
  auto [key, number] = text.split('=');
  for (const KindRow &row : counted)
    if (row.key == key) {
      int64_t count = 0;
      if (number.empty() || number.getAsInteger(10, count) || count < 1)
        return makeError(key + "=N needs a whole number of blocks from 1; got: '" + number + "'");
      return Recompute{row.kind, count};
    }
  return makeError("expected never, none, blocks, every=N, first=N, segments=N or auto; got: '" + text + "'" +
                   rt::didYouMean(key, {"never", "none", "blocks", "every", "first", "segments", "auto"}));
}

Expected<RecomputeWhen> parseRecomputeWhen(StringRef text) {
  if (text == "always")
    return RecomputeWhen::Always;
  if (text == "except-last")
    return RecomputeWhen::ExceptLast;
  if (text == "never")
    return RecomputeWhen::Never;
  return makeError(rt::expectedOneOf(text, {"always", "except-last", "never"}));
}

std::string printRecompute(const Recompute &recompute) {
  if (recompute.kind == RecomputeKind::Never)
    return "never";
  if (recompute.kind == RecomputeKind::None)
    return "none";
  if (recompute.kind == RecomputeKind::Auto)
    return "auto";
  if (recompute.kind == RecomputeKind::Every && recompute.count == 1)
    return "blocks";
  const KindRow *row = find_if(counted, [&](const KindRow &one) { return one.kind == recompute.kind; });
  return (row->key + "=" + Twine(recompute.count)).str();
}

// For 5 blocks, every=2 gives -1 1 -1 3 -1, first=2 gives 0 1 -1 -1 -1, and segments=2 gives 0 0 1 1 2. Only equality
// of the numbers has a meaning: a value that crosses from one segment to another is not computed again.
std::vector<int> recomputedSegments(const Recompute &recompute, int64_t blocks) {
  std::vector<int> segments(blocks, -1);
  for (int64_t block = 0; block < blocks; ++block) {
    bool chosen = recompute.kind == RecomputeKind::Segments ||
                  (recompute.kind == RecomputeKind::Every && (block + 1) % recompute.count == 0) ||
                  (recompute.kind == RecomputeKind::First && block < recompute.count);
    if (chosen)
      // Without segments=N each block is a segment of its own, so that its number is the block's.
      segments[block] = static_cast<int>(recompute.kind == RecomputeKind::Segments ? block / recompute.count : block);
  }
  return segments;
}

} // namespace cleave
