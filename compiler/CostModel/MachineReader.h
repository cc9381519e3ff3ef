// Reads an object of a machine's file key by key. Errors name the key. Only MachineFile.cpp and MeasuredFile.cpp use
// it.
#ifndef CLEAVE_COMPILER_COSTMODEL_MACHINEREADER_H
#define CLEAVE_COMPILER_COSTMODEL_MACHINEREADER_H

#include "compiler/CostModel/MachineModel.h"

#include <nlohmann/json.hpp>

namespace cleave::machine {

struct Range {
  double least, most;
  const char *unit;
};

inline constexpr Range kRate{1e6, 1e18, "FLOP/s"}, kBandwidth{1e3, 1e15, "bytes/s"}, kLatency{0, 1, "seconds"};
inline constexpr Range kShare{0.01, 1, ""}, kRanks{1, 1e6, ""};

// The value as a text that is short enough for a message.
std::string shown(const nlohmann::json &value);

// `path` is empty for the whole file, and otherwise "node." for example.
class Reader {
public:
  Reader(const nlohmann::json &object, std::string path) : object_(object), path_(std::move(path)) {}

  // To be called before anything is read. Fails if a key is not known, or if a required key is missing.
  rt::Status checkKeys(const std::vector<std::string> &required, const std::vector<std::string> &optional) const;

  bool has(const std::string &key) const { return object_.contains(key); }
  const nlohmann::json &at(const std::string &key) const { return object_.at(key); }

  rt::Status number(const std::string &key, const Range &range, double *result) const;
  rt::Status whole(const std::string &key, const Range &range, uint64_t *result) const;
  rt::Status text(const std::string &key, std::string *result) const;
  rt::Status texts(const std::string &key, std::vector<std::string> *result) const;
  // Reads a list of at least one number, each in the range.
  rt::Status numbers(const std::string &key, const Range &range, std::vector<double> *result) const;
  rt::Status object(const std::string &key, std::optional<Reader> *result) const;
  // Reads a list of at least one object. Their paths are "measured.traffic[2]." for example.
  rt::Status objects(const std::string &key, std::vector<Reader> *result) const;

private:
  rt::Status unexpected(const std::string &key, const std::string &what, const nlohmann::json &found) const;

  const nlohmann::json &object_;
  std::string path_;
};

// Reads and writes the value of the key `measured`.
rt::Status readMeasurements(const Reader &object, Measurements *result);
nlohmann::json measurementsJson(const Measurements &measured);

} // namespace cleave::machine

#endif
