// What the tests of streaming share: a recording that is told to a sink op by op.
#pragma once

#include <memory>
#include <string>

#include "store/stream_writer.h"
#include "store/testing.h"

namespace flowscope::store {

class StreamTest : public StoreTest {
 protected:
  std::shared_ptr<StreamWriter> Start(const std::string& name, StreamOptions options = {}) {
    Result<std::shared_ptr<StreamWriter>> writer = StreamWriter::Create(Path(name), options);
    EXPECT_TRUE(writer.ok()) << writer.status().ToString();
    return writer.ok() ? *writer : nullptr;
  }

  // A recording of `count` ops, told to `sink` op by op.
  static void Record(TraceMaker& m, EventSink& sink, int count) {
    TensorId x = m.Input("x", {4}, {1, 2, 3, 4});
    TensorId told = 0;
    m.Call("self", [&] {
      for (int i = 0; i < count; ++i) {
        x = m.Op("Relu", {x}, {.dims = {4}, .values = {float(i), 1, 2, 3}});
        for (; told <= x; ++told) Tell(m, sink, told);
        sink.OnProgress(m.tables());
      }
    });
  }
  static void Tell(TraceMaker& m, EventSink& sink, TensorId tensor) {
    const Result<Payload> value = m.payloads().Read(tensor);
    if (value.ok()) sink.OnValue(tensor, 16, [value] { return *value; });
  }
};

}  // namespace flowscope::store
