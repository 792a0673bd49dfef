// What is here, and what will not work and why.
#pragma once

#include <string>
#include <vector>

#include "flowscope/tensorflow.h"

namespace flowscope::api {

struct DoctorReport {
  std::string flowscope_version;
  std::string machine;                // "Linux x86_64"
  TensorFlowInfo tensorflow;          // empty where none was found
  std::string self_test;              // "ok", or what went wrong; empty where it was not run
  std::vector<std::string> missing;   // optional entries of TensorFlow that it lacks
  std::vector<std::string> limits;    // what a process without Python cannot run
  std::vector<std::string> problems;  // what must be mended; empty where all is well
};

// Finds TensorFlow as LoadTensorFlow does, loads it, and records one op. Never fails: what goes
// wrong is a problem in the report.
DoctorReport Doctor(const std::string& tensorflow_dir = {});

std::string ToText(const DoctorReport& report);
std::string ToJson(const DoctorReport& report);

}  // namespace flowscope::api
