// The user's line behind an op, by walking Python's frames with the public API.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "capture/call_site.h"

namespace flowscope::python {

// Keys are (code object, instruction) pairs; lines are worked out when the recording ends. Code
// objects are kept alive by a reference each, so that a cached address stays true.
class FrameSites : public capture::CallSiteProvider {
 public:
  // Frames of files under these folders are not the user's.
  explicit FrameSites(std::vector<std::string> library_prefixes);
  ~FrameSites() override;

  LocationId Current() override;
  // TensorFlow gives Python's lock up around every op that Python asks for, and keeps it while it
  // converts a value.
  bool ConvertsValue() const override { return PyGILState_Check() == 1; }
  LocationId Add(const capture::CallSite& site) override;
  capture::CallSite Resolve(LocationId key) override;

 private:
  struct Site {
    PyCodeObject* code = nullptr;  // null: `known` has file, line and function
    int instruction = 0;
    uint32_t known = 0;
  };
  struct Recent {
    PyCodeObject* code = nullptr;
    bool library = false;
  };
  bool IsLibrary(PyCodeObject* code);
  bool LookUp(PyCodeObject* code);

  std::array<Recent, 256> recent_;  // by the code object's address
  std::vector<std::string> library_prefixes_;
  std::unordered_map<PyCodeObject*, bool> is_library_;
  std::unordered_map<uint64_t, LocationId> keys_;
  std::unordered_map<PyCodeObject*, uint32_t> code_numbers_;
  std::vector<Site> sites_;
  std::vector<capture::CallSite> known_;
  std::map<std::tuple<std::string, uint32_t, std::string>, LocationId> known_keys_;
};

}  // namespace flowscope::python
