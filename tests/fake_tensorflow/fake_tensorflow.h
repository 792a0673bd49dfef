// Loads the pieces of the fake TensorFlow folder, for tests of src/tf. The paths come from CMake.
#pragma once

#include <dlfcn.h>

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tf/elf_slots.h"

namespace flowscope::fake {

inline constexpr const char* kTensorFlow = FLOWSCOPE_FAKE_TENSORFLOW;
inline constexpr const char* kOldTensorFlow = FLOWSCOPE_FAKE_OLD_TENSORFLOW;

// A shared library that is loaded while this lives.
class Library {
 public:
  explicit Library(std::string path)
      : path_(std::move(path)), handle_(dlopen(path_.c_str(), RTLD_LAZY | RTLD_LOCAL)) {
    if (handle_ == nullptr) ADD_FAILURE() << dlerror();
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    if (handle_ != nullptr) dlclose(handle_);
  }

  const std::string& path() const { return path_; }

  template <typename Function>
  Function* Find(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(handle_, name));
  }

 private:
  std::string path_;
  void* handle_;
};

// Both libraries of a TensorFlow folder.
class LoadedTensorFlow {
 public:
  explicit LoadedTensorFlow(const std::string& folder)
      : main_(folder + "/libtensorflow_cc.so.2"),
        framework_(folder + "/libtensorflow_framework.so.2") {}

  void* Address(const char* name) const {
    return reinterpret_cast<void*>(main_.Find<void()>(name));
  }

 private:
  Library main_;
  Library framework_;
};

// "lazy", "readonly" or "noplt": what calls TFE_Execute through an import slot.
class Client : public Library {
 public:
  explicit Client(const std::string& name)
      : Library(std::string(kTensorFlow) + "/python/" + name + ".so") {}

  int Execute() const { return Find<int()>("ClientExecute")(); }
  void Delete() const { Find<void()>("ClientDelete")(); }

  std::vector<tf::ElfSlot> Slots(const std::vector<std::string>& symbols) const {
    std::vector<tf::ElfSlot> slots;
    tf::ForEachLoadedObject([&](const dl_phdr_info& object) {
      if (object.dlpi_name == path()) slots = tf::FindSlots(object, symbols);
      return slots.empty();
    });
    return slots;
  }

  // What the slots of TFE_Execute and TFE_DeleteTensorHandle hold, in that order.
  std::vector<void*> SlotValues() const {
    std::vector<void*> values(2);
    for (const tf::ElfSlot& slot : Slots({"TFE_Execute", "TFE_DeleteTensorHandle"})) {
      values[slot.symbol] = tf::ReadSlot(slot.address);
    }
    return values;
  }
};

}  // namespace flowscope::fake
