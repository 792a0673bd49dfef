// What the fake ops compute, over float32, int32 and bool.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "fake_runtime/fake_objects.h"
#include "trace/attrs.h"

namespace flowscope::fake {
namespace {

using Values = std::vector<TensorValue>;
using Outcome = Result<Values>;

std::atomic<uint64_t> g_random = 0;

Values One(TensorValue value) {
  Values values;
  values.push_back(std::move(value));
  return values;
}

AttrScalar Attr(const AttrMap& attrs, const std::string& name) {
  const auto found = attrs.find(name);
  if (found == attrs.end()) return {};
  Result<AttrData> data = DecodeAttr(found->second);
  return data.ok() ? data->scalar : AttrScalar();
}

template <typename T>
T AttrOr(const AttrMap& attrs, const std::string& name, T fallback) {
  const AttrScalar scalar = Attr(attrs, name);
  const T* value = std::get_if<T>(&scalar);
  return value == nullptr ? fallback : *value;
}

// Numpy's rules, for shapes that agree; nullopt-like empty status otherwise.
Result<Dims> BroadcastDims(const Dims& a, const Dims& b) {
  Dims dims(std::max(a.size(), b.size()));
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) return InvalidArgument("Incompatible shapes");
    dims[dims.size() - 1 - i] = x == 1 ? y : x;
  }
  return dims;
}

// Flat index into a value of shape `from` for flat index `index` of shape `to`.
size_t BroadcastIndex(size_t index, const Dims& to, const Dims& from) {
  size_t result = 0;
  size_t stride = 1;
  for (size_t i = 0; i < from.size(); ++i) {
    const auto to_dim = static_cast<size_t>(to[to.size() - 1 - i]);
    const auto from_dim = static_cast<size_t>(from[from.size() - 1 - i]);
    if (from_dim != 1) result += index % to_dim * stride;
    index /= to_dim;
    stride *= from_dim;
  }
  return result;
}

template <typename In, typename Out, typename Function>
Outcome Elementwise(const Values& in, DType out_type, Function function) {
  Result<Dims> dims = BroadcastDims(in[0].dims, in[1].dims);
  if (!dims.ok()) return dims.status();
  TensorValue out = NewValue(out_type, *dims);
  for (size_t i = 0; i < out.count(); ++i) {
    const In a = in[0].as<In>()[BroadcastIndex(i, *dims, in[0].dims)];
    const In b = in[1].as<In>()[BroadcastIndex(i, *dims, in[1].dims)];
    out.as<Out>()[i] = function(a, b);
  }
  return One(std::move(out));
}

// A kernel from a generic function of two numbers.
template <typename Function>
Kernel Binary(Function function) {
  return [function](const Values& in, const AttrMap&) -> Outcome {
    if (in.size() != 2 || in[0].dtype != in[1].dtype) return InvalidArgument("dtypes differ");
    switch (in[0].dtype) {
      case DType::kFloat32:
        return Elementwise<float, float>(in, DType::kFloat32, function);
      case DType::kInt32:
        return Elementwise<int32_t, int32_t>(in, DType::kInt32, function);
      default:
        return InvalidArgument("no kernel for this dtype");
    }
  };
}

template <typename Function>
Kernel Unary(Function function) {
  return [function](const Values& in, const AttrMap&) -> Outcome {
    if (in.size() != 1) return InvalidArgument("takes one input");
    TensorValue out = NewValue(in[0].dtype, in[0].dims);
    for (size_t i = 0; i < out.count(); ++i) {
      switch (out.dtype) {
        case DType::kFloat32:
          out.as<float>()[i] = function(in[0].as<float>()[i]);
          break;
        case DType::kInt32:
          out.as<int32_t>()[i] = function(in[0].as<int32_t>()[i]);
          break;
        default:
          return InvalidArgument("no kernel for this dtype");
      }
    }
    return One(std::move(out));
  };
}

Outcome Less(const Values& in, const AttrMap&) {
  if (in.size() != 2 || in[0].dtype != in[1].dtype) return InvalidArgument("dtypes differ");
  const auto less = [](auto a, auto b) { return a < b; };
  if (in[0].dtype == DType::kInt32) return Elementwise<int32_t, bool>(in, DType::kBool, less);
  return Elementwise<float, bool>(in, DType::kBool, less);
}

Outcome Identity(const Values& in, const AttrMap&) {
  if (in.size() != 1) return InvalidArgument("takes one input");
  return One(in[0]);
}

Outcome MatMul(const Values& in, const AttrMap& attrs) {
  if (in.size() != 2 || in[0].dims.size() != 2 || in[1].dims.size() != 2) {
    return InvalidArgument("In[0] and In[1] ndims must be == 2");
  }
  const bool ta = AttrOr(attrs, "transpose_a", false);
  const bool tb = AttrOr(attrs, "transpose_b", false);
  const auto rows = static_cast<size_t>(in[0].dims[ta ? 1 : 0]);
  const auto inner = static_cast<size_t>(in[0].dims[ta ? 0 : 1]);
  const auto columns = static_cast<size_t>(in[1].dims[tb ? 0 : 1]);
  if (static_cast<size_t>(in[1].dims[tb ? 1 : 0]) != inner) {
    return InvalidArgument("Matrix size-incompatible");
  }
  TensorValue out = NewValue(DType::kFloat32, {int64_t(rows), int64_t(columns)});
  for (size_t i = 0; i < rows * columns * inner; ++i) {
    const size_t row = i / (columns * inner);
    const size_t column = i / inner % columns;
    const size_t k = i % inner;
    const float a = in[0].as<float>()[ta ? k * rows + row : row * inner + k];
    const float b = in[1].as<float>()[tb ? column * inner + k : k * columns + column];
    out.as<float>()[row * columns + column] += a * b;
  }
  return One(std::move(out));
}

Dims DimsOf(const TensorValue& shape) {
  return Dims(shape.as<int32_t>(), shape.as<int32_t>() + shape.count());
}

Outcome Fill(const Values& in, const AttrMap&) {
  if (in.size() != 2 || in[0].dtype != DType::kInt32) return InvalidArgument("dims must be int32");
  TensorValue out = NewValue(in[1].dtype, DimsOf(in[0]));
  const size_t element = DTypeSize(out.dtype);
  for (size_t i = 0; i < out.count(); ++i) {
    std::memcpy(out.as<char>() + i * element, in[1].data(), element);
  }
  return One(std::move(out));
}

Outcome Pack(const Values& in, const AttrMap&) {
  if (in.empty()) return InvalidArgument("nothing to pack");
  Dims dims = in[0].dims;
  dims.insert(dims.begin(), static_cast<int64_t>(in.size()));
  TensorValue out = NewValue(in[0].dtype, std::move(dims));
  char* to = out.as<char>();
  for (const TensorValue& value : in) {
    if (value.dims != in[0].dims) return InvalidArgument("Shapes of all inputs must match");
    to = std::copy_n(value.as<char>(), value.byte_size(), to);
  }
  return One(std::move(out));
}

Outcome Unpack(const Values& in, const AttrMap&) {
  if (in.size() != 1 || in[0].dims.empty()) return InvalidArgument("takes one input of rank >= 1");
  const Dims dims(in[0].dims.begin() + 1, in[0].dims.end());
  Values out;
  const char* from = in[0].as<char>();
  for (int64_t i = 0; i < in[0].dims[0]; ++i) {
    out.push_back(NewValue(in[0].dtype, dims));
    std::copy_n(from, out.back().byte_size(), out.back().as<char>());
    from += out.back().byte_size();
  }
  return out;
}

// The next number of a splitmix64 sequence, in [0, 1).
float NextRandom() {
  uint64_t z = g_random += 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return static_cast<float>((z ^ (z >> 31)) >> 40) * 0x1p-24f;
}

Outcome RandomUniform(const Values& in, const AttrMap&) {
  if (in.size() != 1 || in[0].dtype != DType::kInt32) return InvalidArgument("shape must be int32");
  TensorValue out = NewValue(DType::kFloat32, DimsOf(in[0]));
  std::generate_n(out.as<float>(), out.count(), NextRandom);
  return One(std::move(out));
}

Outcome VarHandle(const Values&, const AttrMap& attrs) {
  TensorValue out = NewValue(DType::kResource, {});
  out.storage->variable = std::make_shared<Variable>();
  out.storage->variable->container = AttrOr<std::string>(attrs, "container", "");
  out.storage->variable->name = AttrOr<std::string>(attrs, "shared_name", "");
  return One(std::move(out));
}

Result<Variable*> VariableOf(const Values& in) {
  if (in.empty() || !in[0].storage->variable) return InvalidArgument("not a variable's handle");
  return in[0].storage->variable.get();
}

Outcome ReadVariable(const Values& in, const AttrMap&) {
  Result<Variable*> variable = VariableOf(in);
  if (!variable.ok()) return variable.status();
  std::lock_guard lock((*variable)->mutex);
  if ((*variable)->value.storage == nullptr) {
    return InvalidArgument("Trying to read an uninitialized variable");
  }
  return One((*variable)->value);
}

Outcome IsInitialized(const Values& in, const AttrMap&) {
  Result<Variable*> variable = VariableOf(in);
  if (!variable.ok()) return variable.status();
  std::lock_guard lock((*variable)->mutex);
  TensorValue answer = NewValue(DType::kBool, {});
  *answer.as<bool>() = (*variable)->value.storage != nullptr;
  return One(std::move(answer));
}

Outcome AssignVariable(const Values& in, const AttrMap&) {
  Result<Variable*> variable = VariableOf(in);
  if (!variable.ok()) return variable.status();
  if (in.size() != 2) return InvalidArgument("takes two inputs");
  std::lock_guard lock((*variable)->mutex);
  (*variable)->value = in[1];
  return Values{};
}

Outcome AssignAddVariable(const Values& in, const AttrMap& attrs) {
  Outcome old = ReadVariable(in, attrs);
  if (!old.ok() || in.size() != 2) return old;
  Outcome sum = (*FindKernel("AddV2"))({(*old)[0], in[1]}, {});
  if (!sum.ok()) return sum;
  return AssignVariable({in[0], (*sum)[0]}, {});
}

Outcome Fail(const Values&, const AttrMap& attrs) {
  return InvalidArgument(AttrOr<std::string>(attrs, "message", "this op always fails"));
}

}  // namespace

const Kernel* FindKernel(const std::string& type) {
  const auto plus = [](auto a, auto b) { return a + b; };
  const auto log = [](auto x) { return static_cast<decltype(x)>(std::log(x)); };
  const auto relu = [](auto x) { return x < decltype(x){0} ? decltype(x){0} : x; };
  static const std::unordered_map<std::string, Kernel> kernels = {
      {"Add", Binary(plus)},
      {"AddV2", Binary(plus)},
      {"Sub", Binary([](auto a, auto b) { return a - b; })},
      {"Mul", Binary([](auto a, auto b) { return a * b; })},
      {"MatMul", MatMul},
      {"Relu", Unary(relu)},
      {"Log", Unary(log)},
      {"Neg", Unary([](auto x) { return -x; })},
      {"Less", Less},
      {"Identity", Identity},
      {"_EagerConst", Identity},
      {"Fill", Fill},
      {"Pack", Pack},
      {"Unpack", Unpack},
      {"RandomUniform", RandomUniform},
      {"VarHandleOp", VarHandle},
      {"ReadVariableOp", ReadVariable},
      {"VarIsInitializedOp", IsInitialized},
      {"AssignVariableOp", AssignVariable},
      {"AssignAddVariableOp", AssignAddVariable},
      {"Fail", Fail},
  };
  const auto found = kernels.find(type);
  return found == kernels.end() ? nullptr : &found->second;
}

void ResetRandom(uint64_t seed) { g_random = seed; }

}  // namespace flowscope::fake
