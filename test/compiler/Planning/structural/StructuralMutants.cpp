// Changes plans with edits that know only the schema (Edits.h), and shows which mutants the reader and the verifier
// accept.
//
//   StructuralMutants [--mutants N] [--seed S] [--kept FOLDER] SCHEMA PLAN...
//
// After an edit that is refused, others follow that match it. An edit that leaves fewer findings is kept, and the
// search continues. So an accepted mutant has passed checks that a single edit does not pass. The oracle
// (mutation/Oracle.h) judges every accepted mutant. Some of each kind are written to FOLDER for a judge that runs them
// (Inputs/run_mutants.py). Fields that only inform readers of plans (notes, expected traffic) may change. The exit code
// is 1 if a harmful mutant is accepted, or if there was no mutant.
#include "test/compiler/Planning/mutation/AsArtefact.h"
#include "test/compiler/Planning/mutation/Oracle.h"
#include "test/compiler/Planning/structural/Edits.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>

using namespace cleave;
using namespace cleave::structural;

namespace {

struct Options {
  uint64_t mutants = 1000, seed = 1, keep = 3;
  std::string kept, schema;
  std::vector<std::string> plans;
};

[[noreturn]] void fail(const std::string &what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::exit(1);
}

Options parse(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    if (name == "--mutants" && i + 1 < argc)
      options.mutants = std::strtoull(argv[++i], nullptr, 10);
    else if (name == "--seed" && i + 1 < argc)
      options.seed = std::strtoull(argv[++i], nullptr, 10);
    else if (name == "--kept" && i + 1 < argc)
      options.kept = argv[++i];
    else if (name == "--keep" && i + 1 < argc)
      options.keep = std::strtoull(argv[++i], nullptr, 10);
    else if (name.rfind("--", 0) == 0)
      fail("there is no option " + name + ", or it has no value");
    else if (options.schema.empty())
      options.schema = name;
    else
      options.plans.push_back(name);
  }
  if (options.plans.empty())
    fail("StructuralMutants [--mutants N] [--seed S] [--kept FOLDER] [--keep N] SCHEMA PLAN...");
  return options;
}

std::string contentOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file)
    fail(path + " cannot be read");
  return text.str();
}

struct Bytes {
  std::vector<uint64_t> words;
  size_t size = 0;
};

struct Original {
  std::string name;
  Bytes bytes; // the tree in the format of a plan
  const rt::fb::Plan *plan = nullptr;
  Value tree;
  std::unique_ptr<mutation::AsArtefact> artefact;
  std::unique_ptr<mutation::Oracle> oracle;
};

class Trial {
public:
  explicit Trial(const Options &options) : options_(options), schema_(contentOf(options.schema)) {}

  bool run() {
    for (const std::string &path : options_.plans)
      open(path);
    for (uint64_t i = 0; i < options_.mutants; ++i)
      search(originals_[i % originals_.size()], options_.seed + i);
    report();
    if (looked_ == 0)
      std::printf("there was no mutant: no edit fits a plan; nothing was tried\n");
    return passed_ && looked_ != 0;
  }

private:
  void open(const std::string &path) {
    std::string content = contentOf(path);
    std::vector<uint64_t> words((content.size() + 7) / 8);
    std::memcpy(words.data(), content.data(), content.size());
    Original original;
    original.name = path.substr(path.find_last_of('/') + 1);
    original.tree = schema_.read(words.data());
    original.bytes.words = schema_.write(original.tree, &original.bytes.size);
    if (rt::Status status = rt::openPlan(original.bytes.words.data(), original.bytes.size, &original.plan); !status.isOk())
      fail(path + ": " + status.message());
    original.artefact = std::make_unique<mutation::AsArtefact>(*original.plan);
    if (!original.artefact->brokenRules(*original.plan).empty())
      fail(path + " is refused as it is");
    if (std::string problem = mutation::Oracle::open(*original.plan, &original.oracle); !problem.empty())
      fail(path + ": " + problem);
    originals_.push_back(std::move(original));
  }

  // The distance of a mutant from being accepted. 0: it is accepted.
  size_t distance(const Original &original, const Bytes &bytes, std::string *rule) {
    const rt::fb::Plan *plan = nullptr;
    ++looked_;
    *rule = "reader";
    if (!rt::openPlan(bytes.words.data(), bytes.size, &plan).isOk())
      return 1000000;
    std::vector<std::string> rules = original.artefact->brokenRules(*plan);
    *rule = rules.empty() ? "" : rules.front();
    return *rule == "facts" ? 100000 : rules.size();
  }

  void search(const Original &original, uint64_t seed) {
    constexpr int kMostEdits = 4, kTries = 6;
    Editor editor(schema_, original.tree, seed);
    if (!editor.edit())
      return;
    std::string rule;
    Bytes bytes = written(editor);
    size_t left = distance(original, bytes, &rule);
    ++first_[left == 0 ? "accepted" : rule];
    for (int edits = 1, tries = 0; left != 0 && edits < kMostEdits && tries < kTries; ++tries) {
      if (!editor.follow())
        break;
      Bytes next = written(editor);
      std::string nextRule;
      size_t nextLeft = distance(original, next, &nextRule);
      if (nextLeft < left || (nextLeft == left && nextRule != rule)) {
        left = nextLeft;
        rule = nextRule;
        bytes = std::move(next);
        ++edits;
        tries = 0;
      } else {
        editor.undo();
      }
    }
    if (left == 0 && !(bytes.size == original.bytes.size && bytes.words == original.bytes.words))
      judge(original, editor, bytes, seed);
  }

  Bytes written(const Editor &editor) {
    Bytes bytes;
    bytes.words = schema_.write(editor.tree(), &bytes.size);
    return bytes;
  }

  void judge(const Original &original, const Editor &editor, const Bytes &bytes, uint64_t seed) {
    std::vector<std::string> paths = editor.changed();
    std::sort(paths.begin(), paths.end());
    paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
    std::string key, told;
    for (const std::string &path : paths)
      key += (key.empty() ? "" : " + ") + path;
    for (const std::string &edit : editor.told())
      told += (told.empty() ? "" : "; ") + edit;
    const rt::fb::Plan *plan = nullptr;
    if (!rt::openPlan(bytes.words.data(), bytes.size, &plan).isOk())
      fail("a plan that was opened is not any more");
    mutation::Verdict verdict = original.oracle->judge(*plan);
    uint64_t before = accepted_[key]++;
    if (verdict.isHarmful) {
      passed_ = false;
      std::printf("accepted, but harmful: %s | seed %lu | %s | %s\n", original.name.c_str(), seed, told.c_str(), verdict.why.c_str());
      std::fflush(stdout);
    }
    if (options_.kept.empty() || (before >= options_.keep && !verdict.isHarmful))
      return;
    std::string name = options_.kept + "/" + original.name.substr(0, original.name.rfind('.')) + "." + std::to_string(seed);
    std::ofstream(name + ".plan", std::ios::binary).write(reinterpret_cast<const char *>(bytes.words.data()), static_cast<std::streamsize>(bytes.size));
    std::ofstream(name + ".txt") << key << " | " << told << "\n";
  }

  void report() {
    std::printf("after one edit:");
    for (const auto &[rule, count] : first_)
      std::printf(" %s %lu", rule.c_str(), count);
    std::printf("\naccepted, by what was changed:\n");
    uint64_t accepted = 0;
    for (const auto &[key, count] : accepted_) {
      std::printf("  %6lu %s\n", count, key.c_str());
      accepted += count;
    }
    std::printf("%lu searches over %zu plans, %lu plans looked at, %lu accepted\n", options_.mutants, originals_.size(), looked_, accepted);
  }

  const Options &options_;
  Schema schema_;
  std::vector<Original> originals_;
  std::map<std::string, uint64_t> first_, accepted_;
  uint64_t looked_ = 0;
  bool passed_ = true;
};

} // namespace

int main(int argc, char **argv) {
  Options options = parse(argc, argv);
  Trial trial(options);
  return trial.run() ? 0 : 1;
}
