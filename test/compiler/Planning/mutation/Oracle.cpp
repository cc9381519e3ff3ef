#include "test/compiler/Planning/mutation/Oracle.h"

#include <algorithm>
#include <random>

namespace cleave::mutation {

// Costs that give the issue order: an instruction ends before another begins. Each policy changes one thing.
static constexpr double kLast = 1e12, kFirst = -1e12;

static double inOrder(const Move &move) { return move.isEnd ? -1 : static_cast<double>(move.step->number); }

std::vector<Policy> policies(unsigned ranks, unsigned streams) {
  std::vector<Policy> result;
  result.push_back({"in order", inOrder});
  for (unsigned stream = 0; stream < streams; ++stream) {
    // The stream's instructions begin at once, and end when nothing else can move.
    result.push_back({"stream " + std::to_string(stream) + " slow", [stream](const Move &move) {
                        return move.thread != stream ? inOrder(move) : move.isEnd ? kLast : kFirst;
                      }});
    // The stream continues only when nothing else can.
    result.push_back({"stream " + std::to_string(stream) + " late", [stream](const Move &move) {
                        return move.thread != stream || move.isEnd ? inOrder(move) : kLast;
                      }});
  }
  result.push_back({"all in flight", [](const Move &move) {
                      return move.isEnd ? kLast - 1.0 * move.step->number : 1.0 * move.step->number;
                    }});
  if (ranks > 1)
    for (unsigned late : {0u, ranks - 1})
      result.push_back({"rank " + std::to_string(late) + " late", [late](const Move &move) {
                          return move.rank != late ? inOrder(move) : kLast + inOrder(move);
                        }});
  if (streams > 2)
    result.push_back({"two threads", inOrder, /*onTwoThreads=*/true});
  for (unsigned seed = 1; seed <= 2; ++seed) {
    auto random = std::make_shared<std::minstd_rand>(seed);
    result.push_back({"random " + std::to_string(seed), [random](const Move &) { return 1.0 * (*random)(); }});
  }
  return result;
}

static unsigned streamsOf(const World &world) {
  unsigned streams = 0;
  for (const fb::Plan *kind : world.kinds())
    streams = std::max(streams, kind->streams()->size());
  return streams;
}

// Describes a difference. Empty if there is none.
static std::string compare(const Observed &expected, const Observed &found) {
  for (const auto &[name, id] : expected) {
    auto same = found.find(name);
    if (same == found.end() || same->second != id)
      return name + (same == found.end() ? " is missing" : " differs");
  }
  for (const auto &[name, id] : found)
    if (!expected.count(name))
      return name + " is new";
  return "";
}

std::string Oracle::open(const fb::Plan &original, std::unique_ptr<Oracle> *result) {
  result->reset(new Oracle(original));
  return (*result)->learn();
}

std::string Oracle::run(Machine &machine, const World &world, const std::string &entry, const Policy &policy,
                        const Renamed &renamed, Observed *observed) const {
  machine.clear();
  initialize(machine, world, entry, renamed);
  Observed before = hostBytes(machine, world, entry);
  if (std::string failure = machine.run(policy); !failure.empty())
    return failure;
  if (std::string failure = compare(before, hostBytes(machine, world, entry)); !failure.empty())
    return failure;
  *observed = observe(machine, world, entry, unseen_);
  return objection(machine, world, entry, unseen_);
}

std::string Oracle::runAll(const Renamed &renamed, std::map<std::string, Observed> *outcome) const {
  for (const std::string &entry : world_.entries()) {
    Machine machine(world_, code_, entry);
    std::string failure = run(machine, world_, entry, policies(1, 1).front(), renamed, &(*outcome)[entry]);
    if (!failure.empty())
      return entry + ": " + failure;
  }
  return "";
}

// Makes those unseen states visible whose bytes at the beginning affect something visible: they reach the next step.
std::string Oracle::findCarried() {
  for (std::set<std::string> carried = {""}; !carried.empty();) {
    std::map<std::string, Observed> renamed;
    if (std::string failure = runAll({}, &expected_); !failure.empty())
      return failure;
    if (std::string failure = runAll({unseen_, false}, &renamed); !failure.empty() || renamed == expected_)
      return failure;
    carried.clear();
    for (const std::string &state : unseen_) {
      if (std::string failure = runAll({{state}, false}, &renamed); !failure.empty())
        return failure;
      if (renamed != expected_)
        carried.insert(state);
    }
    for (const std::string &state : carried)
      unseen_.erase(state);
  }
  unseen_.clear(); // only several together affect something
  return runAll({}, &expected_);
}

std::string Oracle::learn() {
  declared_ = declared(world_);
  unseen_ = scratchStates(world_);
  if (std::string failure = findCarried(); !failure.empty())
    return failure;
  std::map<std::string, Observed> renamed;
  if (std::string failure = runAll({{}, true}, &renamed); !failure.empty())
    return failure;
  for (const auto &[entry, expected] : expected_)
    if (std::string what = compare(expected, renamed[entry]); !what.empty())
      return entry + ": " + what + " if the host has something else in the bytes of other programs";
  Verdict verdict = judge(*world_.kinds().front());
  return verdict.why;
}

Verdict Oracle::judge(const fb::Plan &mutant) const {
  World world(mutant);
  if (std::string what = compare(declared_, declared(world)); !what.empty())
    return {true, what};
  if (world.ranks().size() != world_.ranks().size())
    return {true, "the mesh differs"};
  std::vector<Policy> tried = policies(static_cast<unsigned>(world.ranks().size()), streamsOf(world));
  for (const auto &[entry, expected] : expected_) {
    Machine machine(world, code_, entry);
    for (const Policy &policy : tried) {
      Observed found;
      std::string what = run(machine, world, entry, policy, {}, &found);
      if (what.empty())
        what = compare(expected, found);
      if (!what.empty())
        return {true, entry + ", " + policy.name + ": " + what};
    }
  }
  return {};
}

} // namespace cleave::mutation
