#include "compiler/Pipeline/ScheduleFile.h"

#include "compiler/Pipeline/Check.h"
#include "runtime/base/Counted.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <tuple>

namespace cleave::pipeline {

// Numbers in a file must be below this limit. Then no product of two overflows 64 bits, and no list that needs a larger
// number fits in memory.
static constexpr int kLargest = 1 << 20;

namespace {

class Parser {
public:
  Parser(const std::string &name, const std::string &text) : name_(name), text_(text) {}

  // Reads the lists as they are written. Returns false after an error.
  bool parse() {
    for (size_t begin = 0; begin < text_.size() && problem_.message.empty();) {
      size_t end = std::min(text_.find('\n', begin), text_.size());
      ++line_;
      parseLine(text_.substr(begin, end - begin));
      begin = end + 1;
    }
    if (problem_.message.empty() && schedule_.ranks.empty())
      fail(0, "the file has no task; a task is written <chunk><F|B|I|W><micro-batch>, as in 0F0");
    return problem_.message.empty();
  }

  // Finds the numbers of chunks and micro-batches in the tasks. Returns false after an error.
  bool conclude(ScheduleLimits limits) {
    int chunks = 0;
    for (int rank = 0; rank < schedule_.numRanks(); ++rank)
      for (const Task &task : schedule_.ranks[rank]) {
        chunks = std::max(chunks, task.chunk + 1);
        schedule_.microBatches = std::max(schedule_.microBatches, task.microBatch + 1);
      }
    if (limits.ranks != 0 && schedule_.numRanks() != limits.ranks)
      return fail(0, "the file has lists of " + rt::counted(schedule_.numRanks(), "rank") + ", the mesh has " +
                         rt::counted(limits.ranks, "pipeline rank"));
    if (limits.microBatches != 0 && schedule_.microBatches != limits.microBatches)
      return fail(0, "the file has " + std::to_string(schedule_.microBatches) +
                         (schedule_.microBatches == 1 ? " micro-batch" : " micro-batches") + ", asked for are " +
                         std::to_string(limits.microBatches));
    return place(chunks);
  }

  Schedule &schedule() { return schedule_; }
  const Problem &problem() const { return problem_; }

  // Returns the line of a task, or of a rank's first task; 0 for the file.
  int lineOf(SchedulePosition place) const {
    if (place.rank < 0 || lines_[place.rank].empty())
      return 0;
    const std::vector<int> &lines = lines_[place.rank];
    return place.position < 0 ? lines.front() : lines[std::min<size_t>(place.position, lines.size() - 1)];
  }

  bool fail(int line, std::string message) {
    problem_.message = name_ + (line > 0 ? ":" + std::to_string(line) : "") + ": " + std::move(message);
    return false;
  }

private:
  void parseLine(std::string text) {
    text = text.substr(0, text.find('#'));
    std::vector<std::string> words = split(text);
    if (words.empty())
      return;
    size_t first = 0;
    int rank = schedule_.numRanks();
    bool named = words[0] == "rank";
    if (named) {
      if (words.size() < 3 || words[2] != ":" || !number(words[1], rank)) {
        fail(line_, "expected 'rank <number>:' before the tasks of a rank");
        return;
      }
      first = 3;
    }
    if (form_ != Form::None && named != (form_ == Form::Named)) {
      fail(line_, "some lines begin with 'rank N:' and others do not: use one form in all of the file");
      return;
    }
    form_ = named ? Form::Named : Form::InOrder;
    if (rank > schedule_.numRanks()) {
      fail(line_, "rank " + std::to_string(rank) + " comes before rank " + std::to_string(schedule_.numRanks()) +
                      " has a list: begin the lists in the order of the ranks");
      return;
    }
    schedule_.ranks.resize(std::max<size_t>(schedule_.ranks.size(), rank + 1));
    lines_.resize(schedule_.ranks.size());
    for (size_t i = first; i < words.size() && problem_.message.empty(); ++i)
      addTask(rank, words[i]);
  }

  // Blanks and commas separate words. A colon is a word of its own.
  static std::vector<std::string> split(const std::string &text) {
    std::vector<std::string> words;
    bool inside = false;
    for (char c : text) {
      bool separates = std::isspace(static_cast<unsigned char>(c)) || c == ',';
      if (c == ':' || (!separates && !inside))
        words.emplace_back();
      if (!separates)
        words.back() += c;
      inside = !separates && c != ':';
    }
    return words;
  }

  static bool number(const std::string &digits, int &value) {
    value = 0;
    for (char c : digits) {
      if (!std::isdigit(static_cast<unsigned char>(c)) || value >= kLargest)
        return false;
      value = value * 10 + (c - '0');
    }
    return !digits.empty() && value < kLargest;
  }

  void addTask(int rank, const std::string &word) {
    size_t letter = word.find_first_not_of("0123456789");
    size_t kind = letter == std::string::npos ? std::string::npos : std::string("FBIW").find(word[letter]);
    Task task;
    if (kind == std::string::npos || !number(word.substr(0, letter), task.chunk) ||
        !number(word.substr(letter + 1), task.microBatch)) {
      fail(line_, "'" + word + "' is no task: expected <chunk><F|B|I|W><micro-batch>, as in 0F0, with numbers below " +
                      std::to_string(kLargest) +
                      "; sends, receives and updates follow from the tasks and are not written");
      return;
    }
    static const Action actions[] = {Action::Forward, Action::Backward, Action::BackwardInput, Action::BackwardWeight};
    task.action = actions[kind];
    schedule_.ranks[rank].push_back(task);
    lines_[rank].push_back(line_);
  }

  // Gives each chunk the rank of its first task. checkSchedule() finds out whether all other tasks are there.
  bool place(int chunks) {
    size_t tasks = 0;
    for (const std::vector<Task> &list : schedule_.ranks)
      tasks += list.size();
    // Each pair of chunk and micro-batch has at least two tasks. So a few tasks with large numbers cannot make large
    // tables.
    if (static_cast<size_t>(chunks) * schedule_.microBatches * 2 > tasks)
      return fail(0, "the tasks go up to chunk " + std::to_string(chunks - 1) + " and micro-batch " +
                         std::to_string(schedule_.microBatches - 1) + ", which needs at least " +
                         std::to_string(static_cast<size_t>(chunks) * schedule_.microBatches * 2) +
                         " tasks (an F and a B for each chunk and micro-batch); the file has " + std::to_string(tasks) +
                         "; the first one that is missing is " + toString(firstMissing()));
    schedule_.rankOfChunk.assign(chunks, -1);
    for (int rank = 0; rank < schedule_.numRanks(); ++rank)
      for (const Task &task : schedule_.ranks[rank])
        if (int &of = schedule_.rankOfChunk[task.chunk]; of < 0)
          of = rank;
    for (int chunk = 0; chunk < chunks; ++chunk)
      if (schedule_.rankOfChunk[chunk] < 0)
        return fail(0, "no rank has a task of chunk " + std::to_string(chunk) + ", but one of chunk " +
                           std::to_string(chunks - 1) + " is there: chunks are numbered without gaps");
    return true;
  }

  // The first task, by chunk and micro-batch, that is in no list. I and W together stand for a B.
  Task firstMissing() const {
    std::set<std::tuple<int, int, Action>> there;
    for (const std::vector<Task> &list : schedule_.ranks)
      for (const Task &task : list)
        there.emplace(task.chunk, task.microBatch, task.action);
    for (int chunk = 0;; ++chunk) // ends, because fewer tasks are there than are needed
      for (int micro = 0; micro < schedule_.microBatches; ++micro) {
        auto has = [&](Action action) { return there.count({chunk, micro, action}) != 0; };
        if (!has(Action::Forward))
          return {Action::Forward, chunk, micro};
        if (has(Action::Backward))
          continue;
        bool hasInput = has(Action::BackwardInput), hasWeight = has(Action::BackwardWeight);
        if (!hasInput || !hasWeight)
          return {hasInput    ? Action::BackwardWeight
                  : hasWeight ? Action::BackwardInput
                              : Action::Backward,
                  chunk, micro};
      }
  }

  enum class Form { None, Named, InOrder };

  const std::string &name_;
  const std::string &text_;
  Schedule schedule_;
  std::vector<std::vector<int>> lines_; // of each task
  Problem problem_;
  Form form_ = Form::None;
  int line_ = 0;
};

} // namespace

Result<Schedule> parseSchedule(const std::string &name, const std::string &text, ScheduleLimits limits,
                               const ChunkGraph *graph) {
  Parser parser(name, text);
  if (!parser.parse() || !parser.conclude(limits))
    return parser.problem();
  Schedule &schedule = parser.schedule();
  schedule.name = name;
  for (std::vector<Task> &tasks : schedule.ranks)
    tasks.push_back(Task::update());
  if (auto found = checkSchedule(schedule, graph ? *graph : ChunkGraph::chain(schedule.numChunks()))) {
    parser.fail(parser.lineOf(found->place), found->problem.message);
    return parser.problem();
  }
  return std::move(schedule);
}

} // namespace cleave::pipeline
