#include "frames.h"

#include "errors.h"

namespace nb = nanobind;

namespace flowscope::python {
namespace {

// PyGILState works in any state of the calling thread: with the lock held, released, or never had.
class GilGuard {
 public:
  GilGuard() : state_(PyGILState_Ensure()) {}
  ~GilGuard() { PyGILState_Release(state_); }
  GilGuard(const GilGuard&) = delete;
  GilGuard& operator=(const GilGuard&) = delete;

 private:
  PyGILState_STATE state_;
};

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

}  // namespace

FrameSites::FrameSites(std::vector<std::string> library_prefixes)
    : library_prefixes_(std::move(library_prefixes)) {}

FrameSites::~FrameSites() {
  if (!Py_IsInitialized()) return;
  const GilGuard gil;
  for (auto& [code, library] : is_library_) Py_DECREF(reinterpret_cast<PyObject*>(code));
}

bool FrameSites::IsLibrary(PyCodeObject* code) {
  // Code objects of a model's stack come again at every op.
  Recent& recent = recent_[(reinterpret_cast<uintptr_t>(code) >> 5) % recent_.size()];
  if (recent.code != code) recent = {code, LookUp(code)};
  return recent.library;
}

bool FrameSites::LookUp(PyCodeObject* code) {
  const auto it = is_library_.find(code);
  if (it != is_library_.end()) return it->second;
  bool library = false;
  if (const char* file = PyUnicode_AsUTF8(code->co_filename)) {
    for (const std::string& prefix : library_prefixes_) {
      library = library || StartsWith(file, prefix);
    }
  } else {
    PyErr_Clear();
  }
  Py_INCREF(reinterpret_cast<PyObject*>(code));
  code_numbers_.emplace(code, static_cast<uint32_t>(code_numbers_.size()));
  is_library_.emplace(code, library);
  return library;
}

LocationId FrameSites::Current() {
  const GilGuard gil;
  PyThreadState* thread = PyThreadState_Get();
  PyFrameObject* frame = PyThreadState_GetFrame(thread);
  LocationId key = kNoId;
  while (frame != nullptr) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    const bool library = IsLibrary(code);
    if (!library) {
      const int instruction = PyFrame_GetLasti(frame);
      const uint64_t packed =
          (static_cast<uint64_t>(code_numbers_[code]) << 32) | static_cast<uint32_t>(instruction);
      const auto [it, inserted] = keys_.try_emplace(packed, static_cast<LocationId>(sites_.size()));
      if (inserted) sites_.push_back({code, instruction, 0});
      key = it->second;
    }
    Py_DECREF(reinterpret_cast<PyObject*>(code));
    PyFrameObject* back = library ? PyFrame_GetBack(frame) : nullptr;
    Py_DECREF(reinterpret_cast<PyObject*>(frame));
    frame = back;
  }
  return key;
}

LocationId FrameSites::Add(const capture::CallSite& site) {
  const auto [it, inserted] = known_keys_.try_emplace({site.file, site.line, site.function},
                                                      static_cast<LocationId>(sites_.size()));
  if (inserted) {
    sites_.push_back({nullptr, 0, static_cast<uint32_t>(known_.size())});
    known_.push_back(site);
  }
  return it->second;
}

capture::CallSite FrameSites::Resolve(LocationId key) {
  const GilGuard gil;
  const Site& at = sites_[key];
  capture::CallSite site;
  if (at.code == nullptr) {
    site = known_[at.known];
  } else {
    site.line = static_cast<uint32_t>(PyCode_Addr2Line(at.code, at.instruction));
    if (const char* file = PyUnicode_AsUTF8(at.code->co_filename)) site.file = file;
    if (const char* name = PyUnicode_AsUTF8(at.code->co_name)) site.function = name;
  }
  try {
    const nb::object line = nb::module_::import_("linecache").attr("getline")(site.file, site.line);
    site.text = nb::cast<std::string>(line.attr("strip")());
  } catch (nb::python_error& error) {
    site.text.clear();  // the source is not there to read; the line number still is
    PassOnInterrupt(error);
  }
  return site;
}

}  // namespace flowscope::python
