// The fixture of the recorder's tests: one recording on this thread, over the fake runtime.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capture/recorder.h"
#include "fake_runtime/fake_runtime.h"
#include "trace/lint.h"

namespace flowscope::capture {

class RecorderTest : public ::testing::Test {
 protected:
  // Every test sees addresses come back as they do in TensorFlow.
  void SetUp() override { fake::ReuseHandleAddresses(true); }
  void TearDown() override {
    recorder_.reset();
    trace_.reset();
    EXPECT_EQ(Recorder::NumLiving(), 0);
    EXPECT_EQ(tf::HookLeaseCount(), 0);
    EXPECT_EQ(HandleMap::NumWatching(), 0);
  }

  void Start(RecordOptions options = {}) {
    auto recorder = Recorder::Start(std::move(options), nullptr);
    ASSERT_TRUE(recorder.ok()) << recorder.status().ToString();
    recorder_ = std::move(recorder).value();
  }
  static RecordOptions Nothing() {
    RecordOptions options;
    options.save = Not(SelectAll());
    return options;
  }

  const Trace& Stop() {
    auto trace = recorder_->Stop("");
    EXPECT_TRUE(trace.ok()) << trace.status().ToString();
    trace_ = std::move(trace).value();
    EXPECT_THAT(Lint(*trace_), ::testing::IsEmpty());
    return *trace_;
  }

  // "Add: op Neg_1_2, literal" of the last op of a type.
  std::string InputsOf(const std::string& type) const {
    std::string text;
    for (OpId id = 0; id < trace_->num_ops(); ++id) {
      if (trace_->str(trace_->op(id).type) != type) continue;
      text.clear();
      for (const EdgeRecord& edge : trace_->inputs(id)) {
        if (!text.empty()) text += ", ";
        text += EdgeClassName(edge.edge_class);
        const OpId from = edge.tensor == kNoId ? kNoId : trace_->tensor(edge.tensor).producer;
        if (from != kNoId) text += " " + std::string(trace_->str(trace_->op(from).type));
      }
    }
    return text;
  }
  int64_t Edges(EdgeClass edge_class) const {
    return trace_->CountEdges()[static_cast<size_t>(edge_class)];
  }

  fake::Handle Variable(const std::string& name, float value) {
    fake::Handle handle = fake::Run(
        "VarHandleOp", {},
        {{"shared_name", fake::StringAttr(name)}, {"dtype", fake::TypeAttr(DType::kFloat32)}});
    fake::RunAll("AssignVariableOp", {handle, fake::Scalar(value)});
    return handle;
  }
  fake::Handle Read(TFE_TensorHandle* variable) {
    return fake::Run("ReadVariableOp", {variable}, {{"dtype", fake::TypeAttr(DType::kFloat32)}});
  }

  fake::Runtime runtime_;
  std::shared_ptr<Recorder> recorder_;
  std::shared_ptr<const Trace> trace_;
};

}  // namespace flowscope::capture
